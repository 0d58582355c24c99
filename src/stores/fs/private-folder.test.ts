import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { temporaryFolder, temporaryWorkspace } from "../temporary-workspace.fixture.ts";
import { securePrivateFolder } from "./private-folder.ts";

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

test("the user's folders are readable for the user alone, whatever the umask", async () => {
  counters("T-USER-1");
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
  const { data, userFolder, session, conversations } = temporaryWorkspace();
  await using writer = await conversations.create({ isLocal: true });
  await session.activate(writer.id);
  const clone = temporaryWorkspace({ data });
  await clone.session.activate(writer.id);
  const [part = ""] = readdirSync(path.join(userFolder, "clones"));
  const folders = [
    data,
    path.dirname(userFolder),
    userFolder,
    path.join(userFolder, "clones", part),
  ];
  expect(folders.map(modeOf)).toEqual(["700", "700", "700", "700"]);
});

test("folders of an earlier version are tightened when they are opened", async () => {
  counters("T-USER-1");
  const { userFolder, reopen, conversations } = temporaryWorkspace();
  await using writer = await conversations.create({ isLocal: true });
  for (const folder of [path.dirname(userFolder), userFolder]) chmodSync(folder, 0o775);
  const listed = await reopen().conversations.list();
  expect([
    listed.map(({ id }) => id),
    modeOf(path.dirname(userFolder)),
    modeOf(userFolder),
  ]).toEqual([[writer.id], "700", "700"]);
});

/** Only root may give files away. */
test.skipIf(process.getuid?.() !== 0)("a folder of another user is refused", () => {
  counters("T-USER-1");
  const folder = path.join(temporaryFolder(), "planted");
  mkdirSync(folder);
  chownSync(folder, 65_534, 65_534);
  expect(() => securePrivateFolder(folder)).toThrow("it belongs to another user");
});

test("a folder that is reached by a link is judged, not the link", () => {
  const parent = temporaryFolder();
  const [folder, link] = [path.join(parent, "own"), path.join(parent, "link")];
  mkdirSync(folder, { mode: 0o755 });
  symlinkSync(folder, link);
  securePrivateFolder(link);
  expect(modeOf(folder)).toBe("700");
});

test("a folder that does not exist is not created", () => {
  expect(() => securePrivateFolder(path.join(temporaryFolder(), "none"))).not.toThrow();
});
