import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary-workspace.ts";
import { FsTrustStore } from "./trust-file.ts";

test("what is trusted is known to the next who looks, by whatever name the place goes", async () => {
  const [data, root] = [temporaryFolder(), temporaryFolder()];
  const link = path.join(temporaryFolder(), "link");
  symlinkSync(root, link);
  await new FsTrustStore(data, root).trust(["one", "two"]);
  expect(await new FsTrustStore(data, link).trusted(["two", "three"])).toEqual(new Set(["two"]));
});

test("another place knows nothing of it", async () => {
  const data = temporaryFolder();
  await new FsTrustStore(data, temporaryFolder()).trust(["one"]);
  expect(await new FsTrustStore(data, temporaryFolder()).trusted(["one"])).toEqual(new Set());
});

test("nothing is trusted by a file that cannot be read", async () => {
  const [data, root] = [temporaryFolder(), temporaryFolder()];
  const store = new FsTrustStore(data, root);
  await store.trust(["one"]);
  const [name = ""] = readdirSync(path.join(data, "trust"));
  writeFileSync(path.join(data, "trust", name), '{"trusted": "one"');
  expect(await store.trusted(["one"])).toEqual(new Set());
});
