/** Watching a store: which changes are reported. */
import assert from "node:assert/strict";
import type { ConversationId } from "../../record/conversation/index.ts";
import type { ConversationChange, ConversationStore } from "../../stores/index.ts";
import { place, REST, type StoreCases, WAITING } from "./records.ts";

/** Longer than any change takes to be reported. Only a broken store makes the tests wait this long. */
const PATIENCE_MS = 5000;

/** The changes a store reports, one after the other. */
class Changes implements Disposable {
  readonly #watching: Disposable;
  #reported: ConversationChange[] = [];
  #wake: () => void = () => undefined;

  constructor(store: ConversationStore) {
    this.#watching = store.watch((change) => {
      this.#reported.push(change);
      this.#wake();
    });
  }

  /** Waits until this conversation, or any, has been reported and the condition holds. */
  async until(id: ConversationId, isReached: () => Promise<boolean>): Promise<void> {
    const deadline = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const isReported = this.#reported.some((change) => (change.id ?? id) === id);
      this.#reported = [];
      if (isReported && (await isReached())) return;
      const stop = () => resolve();
      deadline.addEventListener("abort", stop, { once: true });
      if (this.#reported.length === 0) await promise;
      deadline.removeEventListener("abort", stop);
      assert.equal(deadline.aborted, false, "the change was not reported");
    }
  }

  [Symbol.dispose](): void {
    this.#watching[Symbol.dispose]();
  }
}

export const CHANGES: StoreCases = {
  "whoever watches is told of a new conversation, of each append and of the release": async (
    opened,
  ) => {
    const { store, other } = opened;
    using changes = new Changes(other);
    const writer = await store.create({});
    const { id } = writer;
    await changes.until(id, async () => (await other.find(id)) !== undefined);
    for (const event of WAITING) {
      const count = writer.stream.entries.length + 1;
      await writer.append(event);
      await changes.until(id, async () => (await lengthOf(other, id)) === count);
    }
    await writer.release();
    await changes.until(id, async () => (await other.listPending())[0]?.isLive === false);
  },

  "whoever watches is told of the end of a turn that was open before": async (opened) => {
    const { store, other } = opened;
    const id = await place(store, ...WAITING);
    using changes = new Changes(other);
    await using writer = await store.open(id);
    await writer.append(...REST);
    await changes.until(id, async () => (await other.listPending()).length === 0);
  },

  "whoever watches is told of conversations that are archived, restored and removed": async (
    opened,
  ) => {
    const { store, other } = opened;
    const id = await place(store, ...WAITING);
    using changes = new Changes(other);
    const isArchived = async () => (await other.find(id))?.isArchived;
    await store.archive(id);
    await changes.until(id, async () => (await isArchived()) === true);
    await store.unarchive(id);
    await changes.until(id, async () => (await isArchived()) === false);
    await store.remove(id);
    await changes.until(id, async () => (await other.find(id)) === undefined);
  },

  "a listener is not called after it was disposed of": async ({ store, other }) => {
    const calls: ConversationChange[] = [];
    other.watch((change) => calls.push(change))[Symbol.dispose]();
    using changes = new Changes(other);
    const id = await place(store, ...WAITING);
    await changes.until(id, async () => (await other.listPending()).length === 1);
    assert.deepEqual(calls, []);
  },
};

async function lengthOf(store: ConversationStore, id: ConversationId): Promise<number> {
  return (await store.load(id)).stream.entries.length;
}
