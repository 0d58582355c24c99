/** Copies conversations from one store to another, byte for byte, and back. */
import type { ConversationId } from "../record/conversation/index.ts";
import { toError } from "../util/index.ts";
import type { ConversationStore } from "./port.ts";
import { conversationExistsError } from "./storage-error.ts";

/** A conversation in the form of a file store. */
export interface PortableRecord {
  readonly id: ConversationId;
  readonly isArchived: boolean;
  /** See `ConversationWriter.isOwnTurn`. */
  readonly isOwnTurn: boolean;
  /** The name of its folder. */
  readonly folder: string;
  /** Its files by name, including files that jp does not know. In a subfolder, the name is a path with slashes. */
  readonly files: ReadonlyMap<string, Buffer>;
}

/** A store whose conversations can be copied. */
export interface PortableStore extends Pick<ConversationStore, "close"> {
  /** All that can be copied, including archived ones, oldest first. */
  listRecords(): Promise<readonly ConversationId[]>;
  /** Nothing may write to it meanwhile. Throws `conversation_not_found`, `conversation_locked`, `read_failed`. */
  exportRecord(id: ConversationId): Promise<PortableRecord>;
  /**
   * Creates the conversation, complete or not at all. Returns false if the same conversation already exists. Throws
   * `conversation_exists` if a different one does.
   */
  importRecord(record: PortableRecord): Promise<boolean>;
}

/** The result of copying. */
export interface CopiedStore {
  readonly copied: number;
  /** Conversations that already existed. */
  readonly same: number;
  readonly problems: readonly CopyProblem[];
}

/** A conversation that could not be copied. */
export interface CopyProblem {
  readonly id: ConversationId;
  readonly error: Error;
}

/**
 * Copies all conversations, oldest first. Continues after one that cannot be copied. Throws if the source cannot be
 * listed.
 */
export async function copyStore(
  from: PortableStore,
  to: PortableStore,
  onProgress: (done: number, all: number) => void = () => {},
): Promise<CopiedStore> {
  const all = await from.listRecords();
  let [copied, same] = [0, 0];
  const problems: CopyProblem[] = [];
  for (const [index, id] of all.entries()) {
    onProgress(index, all.length);
    try {
      if (await to.importRecord(await from.exportRecord(id))) copied += 1;
      else same += 1;
    } catch (error) {
      problems.push({ id, error: toError(error) });
    }
  }
  return { copied, same, problems };
}

/** Throws `conversation_exists` if the conversation that a store has is not the one to import. */
export function assertSameRecord(
  found: Pick<PortableRecord, "isArchived" | "files">,
  { id, isArchived, files }: PortableRecord,
): void {
  const isSame =
    found.isArchived === isArchived &&
    found.files.size === files.size &&
    [...found.files].every(([name, bytes]) => files.get(name)?.equals(bytes) === true);
  if (!isSame) throw conversationExistsError(id);
}
