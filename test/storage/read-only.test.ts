/** Folders that may be read but not written: a clear error, and nothing changed. */
import { lchownSync, chmodSync, lstatSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fileIdFromNumber } from "../../src/stores/fs/file-id.ts";
import {
  laidOut,
  METADATA_TEXT,
  numberedElements,
} from "../../src/stores/record-elements.fixture.ts";
import {
  placeConversation,
  snapshotOf,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import { ChildProgram } from "../support/child-program.ts";

const ID = fileIdFromNumber(17_000_000_000);
const hasUsers = process.platform !== "win32";

test.runIf(hasUsers)("a read-only workspace can be read and is not changed", async () => {
  const { root, data, live, locks } = placeReadOnly();
  const before = snapshotOf(root);
  const [load, open, create, fork, remove, archive, store] = await attempt({ root, data }, [
    "load",
    "open",
    "create",
    "fork",
    "remove",
    "archive",
    "openStore",
  ]);
  const folder = path.join(live, "17000000000");
  expect({
    outcomes: { load, open, create, fork, remove, archive, store },
    after: snapshotOf(root),
    locks: readdirSync(locks),
  }).toEqual({
    outcomes: {
      load: { code: "none" },
      open: denied(path.join(folder, "events.json")),
      create: denied(live),
      fork: denied(live),
      remove: denied(folder),
      archive: denied(path.join(folder, "metadata.json")),
      store: denied(path.join(root, "data")),
    },
    after: before,
    locks: [],
  });
});

test.runIf(hasUsers)("a torn record in a read-only folder is unchanged", async () => {
  const { root, data } = placeReadOnly(
    `${laidOut(numberedElements(1)).slice(0, -3)},\n  {\n    "half`,
  );
  const before = snapshotOf(root);
  const [open] = await attempt({ root, data }, ["open"]);
  expect({ code: open?.code, after: snapshotOf(root) }).toEqual({
    code: "write_failed",
    after: before,
  });
});

test.runIf(hasUsers)("a read-only user folder is reported as such", async () => {
  const { root, data, userFolder } = placeReadOnly();
  setModes(data, { folder: 0o500, file: 0o400 });
  const before = snapshotOf(root, data);
  const outcomes = await attempt({ root, data }, ["open"]);
  expect({ outcomes, after: snapshotOf(root, data) }).toEqual({
    outcomes: [denied(path.join(userFolder, "locks", `${ID}.lock`))],
    after: before,
  });
});

/** A workspace that is read-only for everyone, and a user folder that is writable for its user. */
function placeReadOnly(events = laidOut(numberedElements(2))) {
  const workspace = temporaryWorkspace();
  const { root, data, live, locks, userFolder } = workspace;
  const parent = path.dirname(root);
  placeConversation(path.join(live, "17000000000"), { events, metadata: METADATA_TEXT });
  mkdirSync(locks, { recursive: true });
  symlinkSync(path.join(root, ".jp"), path.join(userFolder, "storage"));
  onTestFinished(() => setModes(parent, { folder: 0o755, file: 0o644 }));
  chmodSync(parent, 0o755);
  setModes(root, { folder: 0o555, file: 0o444 });
  setModes(data, { folder: 0o700, file: 0o600 });
  if (process.getuid?.() === 0) giveAway(data);
  return workspace;
}

/** To the user as whom the program runs. */
function giveAway(name: string): void {
  const NOBODY = 65_534;
  lchownSync(name, NOBODY, NOBODY);
  if (!lstatSync(name).isDirectory()) return;
  for (const entry of readdirSync(name)) giveAway(path.join(name, entry));
}

function setModes(name: string, modes: { readonly folder: number; readonly file: number }): void {
  const stat = lstatSync(name);
  if (stat.isSymbolicLink()) return;
  chmodSync(name, stat.isDirectory() ? modes.folder : modes.file);
  if (!stat.isDirectory()) return;
  for (const entry of readdirSync(name)) setModes(path.join(name, entry), modes);
}

async function attempt(
  { root, data }: { readonly root: string; readonly data: string },
  names: readonly string[],
) {
  const program = ChildProgram.ofTests("write-as-nobody-program.ts", root, data, ID, ...names);
  const lines = await program.restOfLines();
  return lines.map((line) => JSON.parse(line) as { readonly code: string; message?: string });
}

/** Some errors name the file, some a temporary file in its folder. */
function denied(file: string) {
  const message: unknown = expect.stringMatching(
    new RegExp(`^Cannot write ${file}\\S*: permission denied\\.$`),
  );
  return { code: "write_failed", message };
}
