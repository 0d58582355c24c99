/**
 * Conversation ids and folder names. An id is the time of creation in tenths of a second since the
 * epoch. In a folder name a slug follows it, for readability only.
 */
import { JpError } from "../util/index.ts";
import { type Timestamp, timestampFromDate } from "./timestamp.ts";

declare const brand: unique symbol;

/** `jp-c17457886043`. */
export type ConversationId = string & { readonly [brand]: "ConversationId" };

const MAX_SLUG_LENGTH = 60;

/** The id of a conversation created at this time. */
export function conversationIdFromDate(date: Date): ConversationId {
  return conversationIdFromNumber(Math.floor(date.getTime() / 100));
}

/** From the bare number, as session files store it. */
export function conversationIdFromNumber(deciseconds: number): ConversationId {
  return `jp-c${deciseconds}` as ConversationId;
}

/** The bare number, in tenths of a second since the epoch. */
export function conversationIdToNumber(id: ConversationId): number {
  return Number(id.slice("jp-c".length));
}

/** When the conversation was created. */
export function conversationCreatedAt(id: ConversationId): Timestamp {
  return timestampFromDate(new Date(conversationIdToNumber(id) * 100));
}

/** Those that are older than `before`, if given; with a limit only the newest of them, the newest first. */
export function newestOf<Item>(
  items: readonly Item[],
  idOf: (item: Item) => ConversationId,
  { before, limit }: { readonly before?: ConversationId; readonly limit?: number },
): readonly Item[] {
  const numberOf = (item: Item) => conversationIdToNumber(idOf(item));
  const end = before === undefined ? Number.POSITIVE_INFINITY : conversationIdToNumber(before);
  const older = before === undefined ? items : items.filter((item) => numberOf(item) < end);
  if (limit === undefined) return older;
  return older.toSorted((left, right) => numberOf(right) - numberOf(left)).slice(0, limit);
}

/** Accepts `jp-c17457886043`, the same followed by `-<workspace>`, or the bare digits. */
export function findConversationId(text: string): ConversationId | undefined {
  const digits = /^(?:jp-c)?(\d{1,15})(?:-[0-9a-z]+)?$/.exec(text)?.[1];
  return digits === undefined ? undefined : conversationIdFromNumber(Number(digits));
}

/** Accepts the same forms as `findConversationId`. Throws `invalid_conversation_id`. */
export function parseConversationId(text: string): ConversationId {
  const id = findConversationId(text);
  if (id !== undefined) return id;
  throw new JpError("invalid_conversation_id", `Invalid conversation id: ${text}`, {
    commandHint: "Ids look like jp-c17457886043. Run `jp conversation ls` to list them.",
  });
}

/** The id in a folder's name; undefined if the folder is not a conversation. */
export function findIdInFolderName(name: string): ConversationId | undefined {
  const digits = /^(\d{1,15})(?:-|$)/.exec(name)?.[1];
  return digits === undefined ? undefined : conversationIdFromNumber(Number(digits));
}

/**
 * The folder name the Rust original uses for a conversation with this title. We follow its rules
 * exactly: the first sixty characters, with a dash for everything except letters and digits. If the
 * title has more than sixty bytes, the part after the last dash is dropped, which may be all of it.
 */
export function folderName(id: ConversationId, title?: string): string {
  const digits = String(conversationIdToNumber(id));
  if (title === undefined) return digits;
  const slug = Array.from(title.trim())
    .slice(0, MAX_SLUG_LENGTH)
    .map((character) => (/[\p{Alphabetic}\p{N}]/u.test(character) ? character : "-"))
    .join("")
    .replace(/-+$/, "")
    .toLowerCase();
  if (slug === "") return digits;
  const name = `${digits}-${slug}`;
  return byteLength(title) > MAX_SLUG_LENGTH ? name.slice(0, name.lastIndexOf("-")) : name;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
