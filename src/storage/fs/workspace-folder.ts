/** The `.jp` folder: finding it from anywhere below, its id, making a new one. */
import { statSync } from "node:fs";
import path from "node:path";
import type { Clock } from "../../util/index.ts";
import { readFailed, StorageError, systemCode } from "../storage-error.ts";
import { makeFolder, writeDurably } from "./durable.ts";
import { assertNoLink, readRecord } from "./record-path.ts";

const FOLDER = ".jp";
const ID_NOTE = "# The id of this workspace. Written by jp; do not edit.";

/** The nearest folder, upwards, that has a `.jp` folder. Throws `no_workspace`; `read_failed` for a link. */
export function findWorkspaceRoot(from: string): string {
  for (let folder = path.resolve(from); ; folder = path.dirname(folder)) {
    if (isFolder(path.join(folder, FOLDER))) return folder;
    if (folder === path.dirname(folder)) break;
  }
  throw new StorageError("no_workspace", `There is no jp workspace at or above ${from}.`, {
    hint: "Create one with `jp init`, or point at one with --workspace.",
  });
}

export function storageFolder(root: string): string {
  return path.join(root, FOLDER);
}

/** The last line of `.jp/.id`; undefined if there is none, which only a writer puts right. */
export function findWorkspaceId(root: string): string | undefined {
  const file = path.join(root, FOLDER, ".id");
  try {
    const lines = readRecord(file).toString("utf8").trim().split("\n");
    const id = lines.at(-1)?.trim() ?? "";
    return /^[0-9a-z]{5}$/.test(id) ? id : undefined;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw readFailed(file, error);
  }
}

/** Five base-36 digits of the time, as the Rust original makes them. Throws `write_failed`. */
export async function ensureWorkspaceId(root: string, clock: Clock): Promise<string> {
  const found = findWorkspaceId(root);
  if (found !== undefined) return found;
  const id = clock.now().getTime().toString(36).slice(-5).padStart(5, "0");
  await writeDurably(path.join(root, FOLDER, ".id"), Buffer.from(`${ID_NOTE}\n${id}`));
  return id;
}

/** Throws `workspace_exists`, `write_failed`. */
export async function createWorkspaceFolder(root: string, clock: Clock): Promise<string> {
  const folder = path.join(root, FOLDER);
  if (isFolder(folder)) {
    throw new StorageError("workspace_exists", `${root} is a jp workspace already.`, {
      hint: "Nothing was changed.",
    });
  }
  await makeFolder(folder);
  return ensureWorkspaceId(root, clock);
}

/** Throws `read_failed` for a link to one: what is kept there would be wherever it leads. */
function isFolder(file: string): boolean {
  const isThere = statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (isThere) assertNoLink(file);
  return isThere;
}
