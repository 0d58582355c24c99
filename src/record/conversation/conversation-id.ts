/**
 * The ids of conversations, and the order of their creation. An id is text that its store has minted, and means nothing
 * to anyone else: the ids of a store in files, which are times, are in `stores/fs/file-id.ts`.
 */
import { JpError } from "../../util/index.ts";
import { compareTimestamps, type Timestamp } from "./timestamp.ts";

declare const brand: unique symbol;

/** `jp-c17457886043`. Only the store that has minted it knows what it means. */
export type ConversationId = string & { readonly [brand]: "ConversationId" };

/** A store may use all of it. No id can lead to another folder, or needs quotes. */
const SYNTAX = /^jp-c(?=[0-9a-z-]{1,64}$)[0-9a-z]+(?:-[0-9a-z]+)*$/;

/** Accepts `jp-c`, and up to 64 lower-case letters, digits, and single dashes between them. */
export function findConversationId(text: string): ConversationId | undefined {
  return SYNTAX.test(text) ? (text as ConversationId) : undefined; // Checked here.
}

/** Accepts the same as `findConversationId`. Throws `invalid_conversation_id`. */
export function parseConversationId(text: string): ConversationId {
  const id = findConversationId(text);
  if (id === undefined) throw invalidIdError(text);
  return id;
}

/** Also thrown by a store for an id that it cannot have minted. */
export function invalidIdError(text: string): JpError {
  return new JpError("invalid_conversation_id", `Invalid conversation id: ${text}`, {
    commandHint: "Ids look like jp-c17457886043. Run `jp conversation ls` to list them.",
  });
}

/** Where a conversation is in the order of creation: by time, and then by id. */
export interface ConversationCreation {
  readonly id: ConversationId;
  readonly createdAt: Timestamp;
}

/** Negative if `left` was created before `right`. */
export function compareCreation(left: ConversationCreation, right: ConversationCreation): number {
  const order = compareTimestamps(left.createdAt, right.createdAt);
  if (order !== 0 || left.id === right.id) return order;
  return left.id < right.id ? -1 : 1;
}

/** Those that are older than `before`, if given; with a limit only the newest of them, the newest first. */
export function newestOf<Item>(
  items: readonly Item[],
  creationOf: (item: Item) => ConversationCreation,
  { before, limit }: { readonly before?: ConversationCreation; readonly limit?: number },
): readonly Item[] {
  if (before === undefined && limit === undefined) return items;
  const placed = items.map((item) => ({ item, creation: creationOf(item) }));
  const older =
    before === undefined
      ? placed
      : placed.filter(({ creation }) => compareCreation(creation, before) < 0);
  const newest =
    limit === undefined
      ? older
      : older
          .toSorted((left, right) => compareCreation(right.creation, left.creation))
          .slice(0, limit);
  return newest.map(({ item }) => item);
}
