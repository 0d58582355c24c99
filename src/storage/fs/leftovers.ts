/**
 * What a process leaves of a conversation when it is killed: a folder that was being made, a file
 * that was being written. Both have names that nobody takes for a conversation or its files.
 */
import { readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { type ConversationId, findIdInFolderName } from "../../conversation/index.ts";
import {
  BASE_CONFIG,
  type ConversationRoots,
  copiesOf,
  EVENTS,
  METADATA,
  parentFolder,
} from "./conversation-folders.ts";
import { isLink } from "./record-path.ts";

const PARTIAL_FOLDER = /^\.(.*)\.tmp$/;
const FILES: ReadonlySet<string> = new Set([EVENTS, METADATA, BASE_CONFIG]);
const PARTIAL_FILE = /^(.*)\.[0-9a-f]{8}\.tmp$/;

/** Where a folder is until it is complete. */
export function partialFolder(folder: string): string {
  return path.join(path.dirname(folder), `.${path.basename(folder)}.tmp`);
}

/** Only for the holder of the conversation's lock. What cannot be removed stays for another time. */
export async function removeLeftovers(roots: ConversationRoots, id: ConversationId): Promise<void> {
  const files = copiesOf(roots, id).flatMap(({ folder }) => partialFiles(folder));
  for (const name of [...partialFolders(roots, id), ...files]) {
    await rm(name, { recursive: true, force: true }).catch(() => undefined);
  }
}

function partialFolders(roots: ConversationRoots, id: ConversationId): string[] {
  return (["workspace", "local"] as const).flatMap((root) => {
    if (roots[root] === undefined) return [];
    const parent = parentFolder(roots, root, false);
    return roots.names
      .in(parent)
      .filter((name) => findIdInFolderName(PARTIAL_FOLDER.exec(name)?.[1] ?? "") === id)
      .map((name) => path.join(parent, name));
  });
}

function partialFiles(folder: string): string[] {
  if (isLink(folder)) return [];
  return readdirSync(folder)
    .filter((name) => FILES.has(PARTIAL_FILE.exec(name)?.[1] ?? ""))
    .map((name) => path.join(folder, name));
}
