import {
  chownSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { codeOf } from "../record-elements.fixture.ts";
import { START, temporaryFolder, temporaryWorkspace } from "../temporary-workspace.fixture.ts";
import { FakeClock } from "../../testing/index.ts";
import {
  createWorkspaceFolder,
  ensureWorkspaceId,
  findWorkspaceId,
  findWorkspaceRoot,
  isListedFolder,
  openWorkspace,
} from "./workspace.ts";

const clock = new FakeClock(START);
/** A user who has no data yet. */
const data = "/nowhere/data";

test("a workspace is found from anywhere inside it, the nearest first", () => {
  const outer = temporaryFolder();
  const inner = path.join(outer, "inner");
  mkdirSync(path.join(outer, ".jp"));
  mkdirSync(path.join(inner, ".jp"), { recursive: true });
  mkdirSync(path.join(inner, "deep", "down"), { recursive: true });
  expect({
    root: findWorkspaceRoot(outer),
    below: findWorkspaceRoot(path.join(inner, "deep", "down")),
    missing: findWorkspaceRoot(path.join(outer, "not", "there")),
  }).toEqual({ root: outer, below: inner, missing: outer });
});

test("without a workspace, the error says so and suggests a fix", () => {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, ".jp"), "a file is no workspace");
  expect(() => findWorkspaceRoot(folder)).toThrow(
    expect.objectContaining({
      code: "no_workspace",
      message: `No jp workspace found in ${folder} or its parent folders.`,
      commandHint: "Create one with `jp init`, or select one with --workspace.",
    }),
  );
});

const STRANGER = 65_534;
/** Only root may give files away. */
const isRoot = process.getuid?.() === 0;

test.runIf(isRoot).each(["", ".jp"])(
  "a workspace of another user is refused, unless a variable names it: owner of /%s",
  (part) => {
    counters("T-WORK-22");
    const parent = temporaryFolder();
    const root = path.join(parent, "planted");
    mkdirSync(path.join(root, ".jp"), { recursive: true });
    mkdirSync(path.join(root, "mine"));
    chownSync(path.join(root, part), STRANGER, STRANGER);
    const open = (variables: Readonly<Record<string, string>>) =>
      openWorkspace({
        from: path.join(root, "mine"),
        environment: { variables, home: parent, platform: process.platform },
        clock,
        pid: process.pid,
      }).root;
    expect(() => open({ JP_SAFE_WORKSPACES: path.relative("", root) })).toThrow(
      expect.objectContaining({ code: "foreign_workspace" }),
    );
    expect([
      open({ JP_SAFE_WORKSPACES: root }),
      open({ JP_TRUSTED_WORKSPACES: parent }),
      open({ SUDO_UID: String(STRANGER) }),
    ]).toEqual([root, root, root]);
  },
);

test("a list of folders has those that it names by an absolute path, and what is in them", () => {
  const root = temporaryFolder();
  const [inner, other] = [path.join(root, "inner"), path.join(root, "inner-not")];
  mkdirSync(inner);
  mkdirSync(other);
  const isListed = (...listed: readonly string[]) =>
    isListedFolder(inner, listed.join(path.delimiter));
  expect([isListed(inner), isListed(root), isListed(other, "", inner)]).toEqual([true, true, true]);
  expect([isListed(other), isListed(""), isListed(path.join(inner, "gone"))]).toEqual([
    false,
    false,
    false,
  ]);
  // Both lead there from the folder that the tests are run in.
  expect([isListed(path.relative("", inner)), isListed(path.relative("", root))]).toEqual([
    false,
    false,
  ]);
});

test.each([
  { text: "# Do not edit.\notvo8", id: "otvo8" },
  { text: "# Do not edit.\notvo8\n", id: "otvo8" },
  { text: "# Do not edit.\r\notvo8\r\n", id: "otvo8" },
  { text: "otvo8", id: "otvo8" },
  { text: undefined, id: undefined },
])("the id in a file of $text is $id", ({ text, id }) => {
  const root = rootWith(text);
  expect(findWorkspaceId(root, data)).toBe(id);
});

test("an existing id is kept, and its file not rewritten", async () => {
  const root = rootWith("# Somebody's own words.\notvo8");
  expect({
    id: await ensureWorkspaceId(root, { data, clock }),
    text: readFileSync(path.join(root, ".jp", ".id"), "utf8"),
  }).toEqual({ id: "otvo8", text: "# Somebody's own words.\notvo8" });
});

const CONFLICT = "# Do not edit.\n<<<<<<< HEAD\notvo8\n=======\nabc12\n>>>>>>> other\n";

test.each([
  "otvo8\n# a note behind it",
  "OTVO8",
  "otvo",
  "otvo89",
  "",
  "\0\0\0\0\0",
  CONFLICT,
  "<<<<<<< HEAD\notvo8\n=======\nabc12",
])("a damaged id is an error, and never replaced: %j", async (text) => {
  const root = rootWith(text);
  const file = path.join(root, ".jp", ".id");
  const message = `${file} is damaged: its last line has to be the id of the workspace.`;
  const environment = {
    variables: { JP_USER_DATA_DIR: data },
    home: data,
    platform: "linux",
  } as const;
  expect(() => openWorkspace({ from: root, environment, clock, pid: 1 })).toThrow(message);
  await expect(ensureWorkspaceId(root, { data, clock })).rejects.toThrow(message);
  expect(readFileSync(file, "utf8")).toBe(text);
});

test("the error about a damaged id lists those that this machine has for the path, the latest first", async () => {
  counters("T-WORK-27");
  const { root, data: own, reopen } = temporaryWorkspace();
  const place = path.join(own, "workspace");
  const folders = ["shop-abc12", "shop-xyz98", "other-zzzzz"].map((name) => path.join(place, name));
  for (const [index, folder] of folders.entries()) {
    mkdirSync(folder, { recursive: true });
    symlinkSync(
      path.join(index === 2 ? temporaryFolder() : root, ".jp"),
      path.join(folder, "storage"),
    );
    utimesSync(folder, index, index);
  }
  const file = path.join(root, ".jp", ".id");
  writeFileSync(file, CONFLICT);
  expect(() => reopen()).toThrow(
    expect.objectContaining({
      code: "workspace_id_damaged",
      hint: "Your data folder has these ids for this path: xyz98, abc12.",
      commandHint: `Your data folder has these ids for this path: xyz98, abc12. To put one back: echo xyz98 > ${file} or echo abc12 > ${file}`,
    }),
  );
});

test("a workspace without an id gets one", async () => {
  const root = rootWith();
  const id = await ensureWorkspaceId(root, { data, clock });
  const lines = readFileSync(path.join(root, ".jp", ".id"), "utf8").split("\n");
  // The low five digits of the clock's milliseconds, in base 36.
  const expected = (1_767_323_045_000).toString(36).slice(-5);
  expect({
    id,
    last: lines.at(-1),
    count: lines.length,
    found: findWorkspaceId(root, data),
  }).toEqual({
    id: expected,
    last: expected,
    count: 2,
    found: expected,
  });
});

test("a workspace can be created only once", async () => {
  const root = temporaryFolder();
  const id = await createWorkspaceFolder(root, clock);
  expect({
    id: findWorkspaceId(root, data),
    root: findWorkspaceRoot(root),
    again: await codeOf(createWorkspaceFolder(root, clock)),
  }).toEqual({ id, root, again: "workspace_exists" });
});

function rootWith(text?: string): string {
  const root = temporaryFolder();
  mkdirSync(path.join(root, ".jp"));
  if (text !== undefined) writeFileSync(path.join(root, ".jp", ".id"), text);
  return root;
}
