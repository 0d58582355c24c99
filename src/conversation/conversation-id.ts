/**
 * Conversation ids, and the folder names made from them. An id is a moment, in tenths of a second
 * since the epoch; the slug after it in a folder name is for people and means nothing.
 */
import { CodedError } from "../util/index.ts";
import { type Timestamp, timestampFromDate } from "./timestamp.ts";

declare const brand: unique symbol;

/** `jp-c17457886043`. */
export type ConversationId = string & { readonly [brand]: "ConversationId" };

const SLUG_LIMIT = 60;

/** The id of a conversation that begins at this moment. */
export function conversationIdFromDate(date: Date): ConversationId {
  return conversationIdFromNumber(Math.floor(date.getTime() / 100));
}

/** From the bare number, as session files hold it. */
export function conversationIdFromNumber(deciseconds: number): ConversationId {
  return `jp-c${deciseconds}` as ConversationId;
}

/** The bare number, in tenths of a second since the epoch. */
export function conversationIdToNumber(id: ConversationId): number {
  return Number(id.slice("jp-c".length));
}

/** The moment the conversation began. */
export function conversationCreatedAt(id: ConversationId): Timestamp {
  return timestampFromDate(new Date(conversationIdToNumber(id) * 100));
}

/** Reads `jp-c17457886043`, the same with `-<workspace>` behind it, or the bare digits. */
export function findConversationId(text: string): ConversationId | undefined {
  const digits = /^(?:jp-c)?(\d{1,15})(?:-[0-9a-z]+)?$/.exec(text)?.[1];
  return digits === undefined ? undefined : conversationIdFromNumber(Number(digits));
}

/** Reads an id in any of the forms of `findConversationId`. Throws `invalid_conversation_id`. */
export function parseConversationId(text: string): ConversationId {
  const id = findConversationId(text);
  if (id !== undefined) return id;
  throw new CodedError("invalid_conversation_id", `Not a conversation id: ${text}`, {
    hint: "Ids look like jp-c17457886043; `jp conversation ls` lists them.",
  });
}

/** The id that a folder belongs to; undefined for folders that are no conversation. */
export function findIdInFolderName(name: string): ConversationId | undefined {
  const digits = /^(\d{1,15})(?:-|$)/.exec(name)?.[1];
  return digits === undefined ? undefined : conversationIdFromNumber(Number(digits));
}

/**
 * The folder name the Rust original gives a conversation of this title. Its rules, kept exactly:
 * sixty characters, everything but letters and digits a dash, runs of dashes kept; a title of more
 * than sixty bytes loses what follows the last dash, which may be all of it.
 */
export function folderName(id: ConversationId, title?: string): string {
  const digits = String(conversationIdToNumber(id));
  if (title === undefined) return digits;
  const slug = Array.from(title.trim())
    .slice(0, SLUG_LIMIT)
    .map((character) => (/[\p{Alphabetic}\p{N}]/u.test(character) ? character : "-"))
    .join("")
    .replace(/-+$/, "")
    .toLowerCase();
  if (slug === "") return digits;
  const name = `${digits}-${slug}`;
  return byteLength(title) > SLUG_LIMIT ? name.slice(0, name.lastIndexOf("-")) : name;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
