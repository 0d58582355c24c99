/** Opens a folder of conversations without a workspace, for programs that keep their own. */
import { accessSync, constants, existsSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import type { Clock } from "../../util/index.ts";
import type { ConversationStore } from "../port.ts";
import { StorageError, writeError } from "../storage-error.ts";
import { WORKSPACE_FOLDER } from "./conversation-folders.ts";
import { makeFolder } from "./durable.ts";
import { FsConversationStore } from "./fs-store.ts";

/** See `openStore`. */
export async function openFsStore(folder: string, clock: Clock): Promise<ConversationStore> {
  const storage = await ensureStoreFolder(folder);
  return new FsConversationStore({ storage, clock, pid: process.pid });
}

/** Returns its absolute path with links resolved: the program may change its working folder. */
async function ensureStoreFolder(given: string): Promise<string> {
  if (given === "") throw invalidStoreError('""', "the path is empty");
  const folder = path.resolve(given);
  assertNotWorkspace(folder);
  try {
    await makeFolder(folder, PRIVATE);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (isBelowFile(folder)) throw invalidStoreError(folder, "it is not a folder", error);
    throw writeError(folder, error);
  }
  return realpathSync(folder);
}

const PRIVATE = 0o700;

/** A workspace's locks and markers are elsewhere, so two writers would not notice each other. */
function assertNotWorkspace(folder: string): void {
  const real = existsSync(folder) ? realpathSync(folder) : folder;
  const isInside = real.split(path.sep).includes(WORKSPACE_FOLDER);
  if (!isInside && !existsSync(path.join(real, WORKSPACE_FOLDER))) return;
  throw new StorageError(
    "invalid_store",
    `Cannot open a store in ${folder}: it belongs to a jp workspace.`,
    { hint: "Use another folder, or open the workspace with openWorkspace from jp-ts/storage." },
  );
}

/** The folder, or its nearest existing parent, is a file. */
function isBelowFile(folder: string): boolean {
  for (let name = folder; ; name = path.dirname(name)) {
    const stats = statSync(name, { throwIfNoEntry: false });
    if (stats !== undefined) return !stats.isDirectory();
  }
}

function invalidStoreError(folder: string, reason: string, cause?: unknown): StorageError {
  return new StorageError("invalid_store", `Cannot open a store in ${folder}: ${reason}.`, {
    cause,
    hint: "Pass the path of a folder. It is created if it does not exist.",
  });
}
