/**
 * The file `.jp/.store-id`: 128 random bits by which a shared database knows the workspace in all its clones. Files do
 * not need it. It may have come with a clone, so it is read like a record: no links, and nothing but an id.
 */
import { closeSync, linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { randomName, systemErrorCode } from "../../util/index.ts";
import type { StoreIdFile } from "../postgres/store-options.ts";
import { readIfThere, StorageError, writeError } from "../storage-error.ts";
import { WORKSPACE_FOLDER } from "./conversation-folders.ts";
import { syncFolder } from "./durable.ts";
import { DirectHandle } from "./record-handle.ts";
import { assertNotLink, openRecord } from "./safe-open.ts";

const NOTE =
  "# Names this workspace in a shared database. Written by jp: commit it, and do not edit it.";

/** The longest file that is read. */
const MAX_BYTES = 1000;

function fileIn(root: string): string {
  return path.join(root, WORKSPACE_FOLDER, ".store-id");
}

/** Undefined if there is no file. Throws `workspace_id_damaged`, and `read_failed` for a link. */
export function findStoreId(root: string): string | undefined {
  const file = fileIn(root);
  const text = readIfThere(file, () => readShort(file));
  if (text === undefined) return undefined;
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "" && !line.startsWith("#"));
  const [storeId = ""] = lines;
  if (lines.length === 1 && /^[0-9a-f]{32}$/.test(storeId)) return storeId;
  throw new StorageError(
    "workspace_id_damaged",
    `${file} is damaged: it has to have one id of a workspace.`,
    {
      hint: "Restore the file, for example with Git. After a merge, keep the id of the workspace whose conversations you want.",
      commandHint:
        "Restore the file, for example with Git. After a merge, keep the id of one workspace; `jp inquiry ls --pending --all` and storage.workspace still reach the other by its name.",
    },
  );
}

function readShort(file: string): string {
  const { fd, size } = openRecord(file);
  try {
    return size > MAX_BYTES ? "too long" : readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

/** Processes that make one at the same time get the same. Throws `workspace_id_damaged`, `read_failed`, `write_failed`. */
export async function ensureStoreId(root: string): Promise<StoreIdFile> {
  const found = findStoreId(root);
  if (found !== undefined) return { storeId: found, isNew: false };
  const storeId = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("hex");
  const file = fileIn(root);
  const isNew = await createWhole(file, `${NOTE}\n${storeId}\n`);
  return { storeId: findStoreId(root) ?? storeId, isNew };
}

/** False if the file exists. It appears with all of its text, and never replaces another. Throws `write_failed`. */
async function createWhole(file: string, text: string): Promise<boolean> {
  assertNotLink(path.dirname(file));
  const temporary = `${file}.${randomName()}.tmp`;
  try {
    using handle = new DirectHandle(temporary, "wx", 0o644);
    handle.writeFile(Buffer.from(text));
    await handle.sync();
    link(temporary, file, text);
    await syncFolder(path.dirname(file));
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return false;
    throw writeError(file, error);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** exFAT and some network file systems have no hard links. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

function link(temporary: string, file: string, text: string): void {
  try {
    linkSync(temporary, file);
  } catch (error) {
    if (!NO_LINKS.has(systemErrorCode(error) ?? "")) throw error;
    writeFileSync(file, text, { flag: "wx" });
  }
}

/** For the process that has just made it. Throws `write_failed`. */
export function removeStoreId(root: string): void {
  const file = fileIn(root);
  try {
    rmSync(file, { force: true });
  } catch (error) {
    throw writeError(file, error);
  }
}
