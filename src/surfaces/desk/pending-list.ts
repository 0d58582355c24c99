/**
 * The pending decisions of a desk, oldest first, across workspaces: those of stores without a list of their own. There may be a hundred thousand, so each entry
 * holds only its sort keys and identity. JSON texts are cached up to a size limit.
 */
import {
  type ConversationId,
  findConversationId,
  findTimestamp,
  type PendingItem,
  type PendingPlace,
} from "../../record/conversation/index.ts";
import { JpError } from "../../util/index.ts";
import type { PendingQuery } from "./wire.ts";

/** A position in the list. What is there may be gone. */
export interface ListPlace extends Omit<PendingPlace, "kind"> {
  /** The root of the workspace. */
  readonly workspace: string;
  readonly conversation: ConversationId;
}

/** Something in the list, whose JSON is read when it is shown. */
export interface ListItem extends ListPlace, Pick<PendingPlace, "kind"> {}

/** A pending decision. */
export interface PendingEntry extends ListItem, Pick<PendingItem, "id" | "tool" | "toolCallId"> {
  /** As last reported, which may be slightly out of date. */
  readonly isLive: boolean;
  /** The digest of its JSON. */
  readonly digest: string;
  /** Its JSON. Evicted when the cache is full, and then read again. */
  text: string | undefined;
}

/** A page of pending decisions. Lists in memory and in a database have it. */
export interface PendingPages {
  /** The first matching ones after a place, in order, up to a limit. */
  after(
    place: ListPlace | undefined,
    count: number,
    query: PendingQuery,
  ): Promise<readonly ListItem[]>;
}

/** The total length of all texts, in characters. */
const MAX_TEXT = 16 << 20;
/** Up to this many are inserted one by one. With more, the whole list is sorted. */
const MAX_INSERTED = 64;

export class PendingList implements PendingPages {
  readonly #sorted: PendingEntry[] = [];
  /** Not sorted yet. */
  readonly #added = new Set<PendingEntry>();
  /** Items with a cached text, least recently used first. */
  readonly #kept = new Set<PendingEntry>();
  readonly #maxText: number;
  #textLength = 0;

  constructor(maxText = MAX_TEXT) {
    this.#maxText = maxText;
  }

  /** Caches its text only if there is room: earlier items are probably read sooner. */
  add(item: PendingEntry): void {
    const { text = "" } = item;
    if (this.#textLength + text.length > this.#maxText) item.text = undefined;
    else this.#keep(item, text);
    this.#added.add(item);
  }

  /** Caches a requested item's text, evicting others. */
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

  async after(
    place: ListPlace | undefined,
    count: number,
    query: PendingQuery,
  ): Promise<readonly PendingEntry[]> {
    this.sort();
    const found: PendingEntry[] = [];
    const first = place === undefined ? 0 : this.#indexAfter(place);
    for (let index = first; index < this.#sorted.length && found.length < count; index += 1) {
      const item = this.#sorted[index];
      if (item !== undefined && isListed(item, query)) found.push(item);
    }
    return found;
  }

  /** Sorts everything, so that the next reader does not have to wait for it. */
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

  /** The index of the first item after the place. */
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

/** Whether the query asks for it. Its text is searched once it is read. */
export function isListed(
  item: ListItem,
  { workspace = item.workspace, conversation = item.conversation, kind = item.kind }: PendingQuery,
): boolean {
  const { workspace: root, conversation: id } = item;
  return root === workspace && id === conversation && item.kind === kind;
}

/** The first items of several sorted pages. */
export function mergePages(
  pages: readonly (readonly ListItem[])[],
  count: number,
): readonly ListItem[] {
  return pages.flat().toSorted(compare).slice(0, count);
}

/** The cursor for the items after this one. */
export function cursorBehind({ askedAt, conversation, order, workspace }: ListPlace): string {
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

/** The order of the list. */
export function compare(left: ListPlace, right: ListPlace): number {
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
