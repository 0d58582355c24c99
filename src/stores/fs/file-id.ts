/**
 * Ids and folder names of conversations in files, as in the Rust original. An id is the time of creation in tenths of a
 * second since the epoch, or the next free one. A folder name adds a slug, for readability only.
 */
import {
  compareCreation,
  type ConversationCreation,
  type ConversationId,
  invalidIdError,
  type Timestamp,
  timestampFromDate,
  timestampToMilliseconds,
} from "../../record/conversation/index.ts";

const MAX_SLUG_LENGTH = 60;
/** The last moment that a timestamp can express. A made-up id may be later. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 900);

/** The id of a conversation created at this time. */
export function fileIdFromDate(date: Date): ConversationId {
  return fileIdFromNumber(Math.floor(date.getTime() / 100));
}

/** From the bare number, as session files store it. */
export function fileIdFromNumber(deciseconds: number): ConversationId {
  return `jp-c${deciseconds}` as ConversationId;
}

/** Whether a file store can have created it. */
export function isFileId(id: ConversationId): boolean {
  return /^jp-c(?:0|[1-9]\d{0,14})$/.test(id);
}

/** Ids become file names, so all others must be refused. Throws `invalid_conversation_id`. */
export function assertFileId(id: ConversationId): void {
  if (!isFileId(id)) throw invalidIdError(id);
}

/** The bare number, in tenths of a second since the epoch. Throws `invalid_conversation_id`. */
export function fileIdToNumber(id: ConversationId): number {
  assertFileId(id);
  return Number(id.slice("jp-c".length));
}

/** When the conversation was created, or a little later in a burst. Throws `invalid_conversation_id`. */
export function fileIdCreatedAt(id: ConversationId): Timestamp {
  return timestampFromDate(new Date(millisecondsOf(id)));
}

/** The id with its time of creation. */
export function fileIdCreation(id: ConversationId): ConversationCreation {
  return { id, createdAt: fileIdCreatedAt(id) };
}

function millisecondsOf(id: ConversationId): number {
  return Math.min(fileIdToNumber(id) * 100, LAST_MS);
}

/** Whether an id is older than this. Converts few ids to text, because lists may check thousands. */
export function isOlderThan(before: ConversationCreation): (id: ConversationId) => boolean {
  const end = timestampToMilliseconds(before.createdAt);
  return (id) => {
    const time = millisecondsOf(id);
    return time < end || (time === end && compareCreation(fileIdCreation(id), before) < 0);
  };
}

/** Accepts `jp-c17457886043`, the same followed by `-<workspace>`, or the bare digits. */
export function findFileId(text: string): ConversationId | undefined {
  const digits = /^(?:jp-c)?(\d{1,15})(?:-[0-9a-z]+)?$/.exec(text)?.[1];
  return digits === undefined ? undefined : fileIdFromNumber(Number(digits));
}

/** The id in a folder's name; undefined if the folder is not a conversation. */
export function findIdInFolderName(name: string): ConversationId | undefined {
  const dash = name.indexOf("-");
  const digits = dash === -1 ? name : name.slice(0, dash);
  return /^\d{1,15}$/.test(digits) ? fileIdFromNumber(Number(digits)) : undefined;
}

/**
 * The folder name the Rust original uses for a conversation with this title. We follow its rules
 * exactly: the first sixty characters, with a dash for everything except letters and digits. If the
 * title has more than sixty bytes, the part after the last dash is dropped, which may be all of it.
 */
export function folderName(id: ConversationId, title?: string): string {
  const digits = String(fileIdToNumber(id));
  if (title === undefined) return digits;
  const slug = Array.from(title.trim())
    .slice(0, MAX_SLUG_LENGTH)
    .map((character) => (isLetterOrDigit(character) ? character : "-"))
    .join("")
    .replace(/-+$/, "")
    .toLowerCase();
  if (slug === "") return digits;
  const name = `${digits}-${slug}`;
  return byteLength(title) > MAX_SLUG_LENGTH ? name.slice(0, name.lastIndexOf("-")) : name;
}

function isLetterOrDigit(character: string): boolean {
  if (character < "\x80") return /[0-9a-z]/i.test(character); // Properties of characters are slow to look up.
  return /[\p{Alphabetic}\p{N}]/u.test(character);
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
