import { mkdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { setAge, temporaryFolder } from "../temporary-workspace.fixture.ts";
import {
  ensureWorkspaceData,
  findWorkspaceData,
  belongsToWorkspace,
  userDataFolder,
} from "./user-data.ts";

test("the data folder comes from the first of three settings", () => {
  const both = { JP_USER_DATA_DIR: "/own", XDG_DATA_HOME: "/xdg" };
  expect({
    own: placeOn("linux", both),
    relative: placeOn("linux", { JP_USER_DATA_DIR: "own/data" }),
    xdg: placeOn("linux", { ...both, JP_USER_DATA_DIR: "" }),
    neither: placeOn("linux"),
  }).toEqual({
    own: "/own",
    relative: "own/data",
    xdg: "/xdg/jp",
    neither: "/home/me/.local/share/jp",
  });
});

test("XDG_DATA_HOME applies on every platform, but only if it is absolute", () => {
  expect({
    relative: placeOn("linux", { XDG_DATA_HOME: "share" }),
    empty: placeOn("linux", { XDG_DATA_HOME: "" }),
    mac: placeOn("darwin", { XDG_DATA_HOME: "/xdg" }),
    windows: placeOn("win32", { XDG_DATA_HOME: "/xdg" }),
  }).toEqual({
    relative: "/home/me/.local/share/jp",
    empty: "/home/me/.local/share/jp",
    mac: "/xdg/jp",
    windows: "/xdg/jp",
  });
});

test("every platform has its own default", () => {
  expect({
    linux: placeOn("linux"),
    freebsd: placeOn("freebsd"),
    mac: placeOn("darwin"),
    windows: placeOn("win32", { LOCALAPPDATA: "/local" }),
    bareWindows: placeOn("win32"),
    emptyWindows: placeOn("win32", { LOCALAPPDATA: "" }),
  }).toEqual({
    linux: "/home/me/.local/share/jp",
    freebsd: "/home/me/.local/share/jp",
    mac: "/home/me/Library/Application Support/jp",
    windows: "/local/jp/data",
    bareWindows: "/home/me/AppData/Local/jp/data",
    emptyWindows: "/home/me/AppData/Local/jp/data",
  });
});

test("a workspace's folder is found by the id at the end of its name", () => {
  const data = dataWith("abc12", "other-abc12x", "other-xabc12");
  expect({
    bare: find(data),
    slug: find(dataWith("renamed-project-abc12", "other-zzz99")),
    none: find(dataWith("other-zzz99")),
    empty: find(temporaryFolder()),
  }).toEqual({
    bare: "abc12",
    slug: "renamed-project-abc12",
    none: undefined,
    empty: undefined,
  });
});

test("of several folders, the one with the workspace's name wins, then the most recent", () => {
  const data = dataWith("first-abc12", "second-abc12", "third-abc12");
  const age = (name: string, seconds: number) =>
    setAge(path.join(data, "workspace", name), seconds);
  age("first-abc12", 10);
  age("second-abc12", 30);
  age("third-abc12", 20);
  const youngest = find(data);
  mkdirSync(path.join(data, "workspace", "project-abc12"));
  age("project-abc12", 0);
  expect({ youngest, own: find(data) }).toEqual({
    youngest: "second-abc12",
    own: "project-abc12",
  });
});

test("of several folders, the one that was created for this path comes first", () => {
  const data = dataWith("other-abc12", "project-abc12");
  const root = path.join(temporaryFolder(), "project");
  mkdirSync(path.join(root, ".jp"), { recursive: true });
  symlinkSync(path.join(root, ".jp"), path.join(data, "workspace", "other-abc12", "storage"));
  expect(findWorkspaceData(data, { id: "abc12", root })).toBe(
    path.join(data, "workspace", "other-abc12"),
  );
});

test("a file with a workspace's name is ignored", () => {
  const data = dataWith();
  mkdirSync(path.join(data, "workspace"), { recursive: true });
  writeFileSync(path.join(data, "workspace", "notes-abc12"), "");
  expect(find(data)).toBeUndefined();
});

test("a missing folder is created with a link to its workspace", async () => {
  const data = path.join(temporaryFolder(), "not", "there", "yet");
  const made = await ensureWorkspaceData(data, { id: "abc12", root: "/somewhere/project" });
  const again = await ensureWorkspaceData(data, { id: "abc12", root: "/elsewhere/clone" });
  expect({
    made,
    again,
    link: readlinkSync(path.join(made, "storage")),
  }).toEqual({
    made: path.join(data, "workspace", "project-abc12"),
    again: made,
    link: path.join("/somewhere/project", ".jp"),
  });
});

test("a folder belongs to the workspace it was created for, not to another with the same id", async () => {
  const parent = temporaryFolder();
  const [own, other] = [path.join(parent, "own"), path.join(parent, "other")];
  for (const root of [own, other]) mkdirSync(path.join(root, ".jp"), { recursive: true });
  const link = path.join(parent, "link");
  symlinkSync(own, link);
  const folder = await ensureWorkspaceData(path.join(parent, "data"), { id: "abc12", root: own });
  expect({
    own: belongsToWorkspace(folder, own),
    byLink: belongsToWorkspace(folder, link),
    other: belongsToWorkspace(folder, other),
    ofNone: belongsToWorkspace(other, own),
  }).toEqual({ own: true, byLink: true, other: false, ofNone: false });
});

function placeOn(platform: NodeJS.Platform, variables: Readonly<Record<string, string>> = {}) {
  return userDataFolder({ variables, home: "/home/me", platform });
}

function dataWith(...names: readonly string[]): string {
  const data = temporaryFolder();
  for (const name of names) mkdirSync(path.join(data, "workspace", name), { recursive: true });
  return data;
}

function find(data: string): string | undefined {
  const found = findWorkspaceData(data, { id: "abc12", root: "/somewhere/project" });
  return found && path.relative(path.join(data, "workspace"), found);
}

test("a data folder that cannot be created is an error that names the setting for another one", async () => {
  const root = temporaryFolder();
  const parent = path.join(root, "file");
  writeFileSync(parent, "");
  const created = ensureWorkspaceData(path.join(parent, "jp"), { id: "abcde", root });
  await expect(created).rejects.toMatchObject({
    code: "write_failed",
    message: expect.stringContaining("Cannot write ") as unknown,
    hint: "Check its owner and permissions, or set JP_USER_DATA_DIR to another folder.",
  });
});
