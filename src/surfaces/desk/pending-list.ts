/**
 * Everything that waits at the desk, oldest first, over all workspaces. There may be a hundred thousand, so only what finds
 * and compares them is held for each, and their JSON as far as there is room for it.
 */
import {
  type ConversationId,
  findConversationId,
  findTimestamp,
  type PendingItem,
  type Timestamp,
} from "../../record/conversation/index.ts";
import { JpError } from "../../util/index.ts";

/** Something that waits. */
export interface PendingEntry extends Pick<PendingItem, "id" | "kind" | "tool" | "toolCallId"> {
  /** The root of the workspace. */
  readonly workspace: string;
  readonly conversation: ConversationId;
  readonly askedAt: Timestamp;
  /** Of those that one turn asks in the same moment, the first has the lowest. */
  readonly order: number;
  /** As it was told, which may be a moment behind. */
  readonly isLive: boolean;
  /** Of its JSON. */
  readonly digest: string;
  /** Its JSON. Removed if there is no room for it: then it has to be read again. */
  text: string | undefined;
}

/** A place in the list, of an item that may be gone. */
type ListPlace = Pick<PendingEntry, "askedAt" | "workspace" | "conversation" | "order">;

/** Of all texts together, in characters. */
const MAX_TEXT = 16 << 20;
/** So many are put in their places one by one. If there are more, all of them are sorted. */
const MAX_INSERTED = 64;

export class PendingList {
  readonly #sorted: PendingEntry[] = [];
  /** Not sorted yet. */
  readonly #added = new Set<PendingEntry>();
  /** Those whose text is kept, the least recently used first. */
  readonly #kept = new Set<PendingEntry>();
  readonly #maxText: number;
  #textLength = 0;

  constructor(maxText = MAX_TEXT) {
    this.#maxText = maxText;
  }

  /** Its text is kept only if there is room: what was there before is probably wanted earlier. */
  add(item: PendingEntry): void {
    const { text = "" } = item;
    if (this.#textLength + text.length > this.#maxText) item.text = undefined;
    else this.#keep(item, text);
    this.#added.add(item);
  }

  /** Someone wants it: its text takes the place of others. */
  use(item: PendingEntry, text: string): void {
    this.#forget(item);
    this.#keep(item, text);
    for (const other of this.#kept) {
      if (this.#textLength <= this.#maxText) return;
      this.#forget(other);
    }
  }

  remove(item: PendingEntry): void {
    this.#forget(item);
    if (this.#added.delete(item)) return;
    const index = this.#indexAfter(item) - 1;
    if (this.#sorted[index] === item) this.#sorted.splice(index, 1);
  }

  #keep(item: PendingEntry, text: string): void {
    item.text = text;
    this.#kept.add(item);
    this.#textLength += text.length;
  }

  #forget(item: PendingEntry): void {
    if (!this.#kept.delete(item)) return;
    this.#textLength -= item.text?.length ?? 0;
    item.text = undefined;
  }

  /** The first ones after a place that are wanted, at most so many. */
  after(
    place: ListPlace | undefined,
    count: number,
    isWanted: (item: PendingEntry) => boolean,
  ): readonly PendingEntry[] {
    this.sort();
    const found: PendingEntry[] = [];
    const first = place === undefined ? 0 : this.#indexAfter(place);
    for (let index = first; index < this.#sorted.length && found.length < count; index += 1) {
      const item = this.#sorted[index];
      if (item !== undefined && isWanted(item)) found.push(item);
    }
    return found;
  }

  /** Puts everything in its place, so that whoever reads next need not wait for it. */
  sort(): void {
    const added = [...this.#added];
    this.#added.clear();
    if (added.length <= MAX_INSERTED) {
      for (const item of added) this.#sorted.splice(this.#indexAfter(item), 0, item);
      return;
    }
    for (const item of added) this.#sorted.push(item);
    // oxlint-disable-next-line unicorn/no-array-sort -- Its own array, which needs no copy.
    this.#sorted.sort(compare);
  }

  /** Of the first item behind the place. */
  #indexAfter(place: ListPlace): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const item = this.#sorted[middle];
      if (item !== undefined && compare(item, place) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Says how to go on behind an item. */
export function cursorBehind({ askedAt, conversation, order, workspace }: PendingEntry): string {
  return `${askedAt}/${conversation}/${order}/${workspace}`;
}

/** Throws `invalid_cursor`. */
export function parsePendingCursor(cursor: string): ListPlace {
  const [, time, name = "", order, workspace = ""] =
    /^([^/]*)\/([^/]*)\/(\d{1,15})\/(.*)$/s.exec(cursor) ?? [];
  const askedAt = findTimestamp(time);
  const conversation = findConversationId(name);
  if (askedAt === undefined || conversation === undefined) {
    throw new JpError("invalid_cursor", "The cursor is invalid.");
  }
  return { askedAt, conversation, order: Number(order), workspace };
}

function compare(left: ListPlace, right: ListPlace): number {
  return (
    compareText(left.askedAt, right.askedAt) ||
    compareText(left.workspace, right.workspace) ||
    compareText(left.conversation, right.conversation) ||
    left.order - right.order
  );
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
