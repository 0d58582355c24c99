import {
  chmodSync,
  copyFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { TrustStore } from "./trust-store.ts";

test("trust is found again through a link to the workspace", async () => {
  const [data, root] = [temporaryFolder(), temporaryFolder()];
  const link = path.join(temporaryFolder(), "link");
  symlinkSync(root, link);
  await new TrustStore(data, root).add(["one", "two"]);
  expect(await new TrustStore(data, link).filterTrusted(["two", "three"])).toEqual(
    new Set(["two"]),
  );
});

test("another workspace is not trusted", async () => {
  const data = temporaryFolder();
  await new TrustStore(data, temporaryFolder()).add(["one"]);
  expect(await new TrustStore(data, temporaryFolder()).filterTrusted(["one"])).toEqual(new Set());
});

test("another workspace has instructions and trust of its own, which end by themselves", async () => {
  const data = temporaryFolder();
  const [one, other] = [
    new TrustStore(data, temporaryFolder()),
    new TrustStore(data, temporaryFolder()),
  ];
  await one.add(["one"], new Map([["AGENTS.md", "Be brief."]]));
  const shown = [one, other].map((store) => store.trustedTexts().get("AGENTS.md"));
  await other.clear();
  expect([shown, await one.filterTrusted(["one"])]).toEqual([
    ["Be brief.", undefined],
    new Set(["one"]),
  ]);
});

test("the file of another workspace trusts nothing in the place of a workspace's own", async () => {
  counters("T-WORK-7");
  const data = temporaryFolder();
  const [one, other] = [
    new TrustStore(data, temporaryFolder()),
    new TrustStore(data, temporaryFolder()),
  ];
  await one.add(["one"]);
  const folder = path.join(data, "trust");
  const [source = ""] = readdirSync(folder);
  await other.add(["two"]);
  const target = readdirSync(folder).find((name) => name !== source) ?? "";
  copyFileSync(path.join(folder, source), path.join(folder, target));
  expect(await other.filterTrusted(["one", "two"])).toEqual(new Set());
});

test("nothing is trusted if the file cannot be read", async () => {
  const [data, root] = [temporaryFolder(), temporaryFolder()];
  const store = new TrustStore(data, root);
  await store.add(["one"]);
  const [name = ""] = readdirSync(path.join(data, "trust"));
  writeFileSync(path.join(data, "trust", name), '{"trusted": "one"');
  expect(await store.filterTrusted(["one"])).toEqual(new Set());
});

test("trust that others could have written is none", async () => {
  counters("T-USER-1");
  const [data, root] = [temporaryFolder(), temporaryFolder()];
  const store = new TrustStore(data, root);
  await store.add(["one"]);
  const [name = ""] = readdirSync(path.join(data, "trust"));
  const file = path.join(data, "trust", name);
  const modes = [statSync(file).mode & 0o777, statSync(path.dirname(file)).mode & 0o777];
  chmodSync(file, 0o666);
  expect([modes, await store.filterTrusted(["one"])]).toEqual([[0o600, 0o700], new Set()]);
});

test("the folder with trust is tightened when it is opened", async () => {
  counters("T-USER-1");
  const [data, root] = [temporaryFolder(), temporaryFolder()];
  const store = new TrustStore(data, root);
  await store.add(["one"]);
  chmodSync(path.join(data, "trust"), 0o777);
  const trusted = await store.filterTrusted(["one"]);
  const mode = statSync(path.join(data, "trust")).mode & 0o777;
  expect([trusted, mode]).toEqual([new Set(["one"]), 0o700]);
});
