/** Opens a folder of conversations. What reads and writes it is loaded with the first one. */
import { type Clock, loadModule, systemClock } from "../util/index.ts";
import type { ConversationStore } from "./port.ts";

/** How to open a store. Nothing is required. */
export interface OpenStoreOptions {
  /** Replaces the system clock, for tests. */
  readonly clock?: Clock;
}

/**
 * Opens a folder of conversations that belongs to your program. Creates it if it is missing, for this user alone; an
 * existing one keeps its permissions. Any number of processes can have it open. They share its locks, and can answer
 * each other's questions. The records are as in a workspace, but nothing outside the folder is read or written.
 *
 * Whoever can write to the folder can change what was decided, so keep it to the program. Throws `invalid_store` if the
 * path is a file or belongs to a workspace, and `write_failed` if the folder cannot be written.
 */
export async function openStore(
  folder: string,
  { clock = systemClock }: OpenStoreOptions = {},
): Promise<ConversationStore> {
  const { openFsStore } = await loadModule(() => import("./fs/open-store.ts"));
  return openFsStore(folder, clock);
}
