/** Tests of a conversation store, for any test runner. */
import type { ConversationStore } from "../stores/index.ts";
import { FakeClock } from "./fake-clock.ts";
import { ANSWERS } from "./store/answers.ts";
import { CONVERSATIONS } from "./store/conversations.ts";
import { ENDS } from "./store/ends.ts";
import { FILES } from "./store/files.ts";
import { FORKS } from "./store/forks.ts";
import { START } from "./store/records.ts";
import { TURNS } from "./store/turns.ts";
import { CHANGES } from "./store/changes.ts";
import { WRITERS } from "./store/writers.ts";

/** A new, empty store. */
export interface StoreToTest {
  readonly store: ConversationStore;
  /** The same store, opened by another process. If absent, the tests do without one. */
  readonly other?: ConversationStore;
}

/** One test. It uses its own store, and may run concurrently with others. */
export interface StoreTest {
  /** A sentence. */
  readonly name: string;
  /** Rejects with an `AssertionError` if the store misbehaves. */
  readonly run: () => Promise<void>;
}

/**
 * Tests that your implementation of `ConversationStore` does what a turn relies on. Each calls `create`, whose store
 * has to take the time from the clock. Run them with any runner:
 *
 *     for (const { name, run } of storeTests((clock) => ({ store: new MyStore(clock) }))) test(name, run);
 */
export function storeTests(
  create: (clock: FakeClock) => StoreToTest | Promise<StoreToTest>,
): readonly StoreTest[] {
  const cases = {
    ...CONVERSATIONS,
    ...ENDS,
    ...FORKS,
    ...WRITERS,
    ...TURNS,
    ...ANSWERS,
    ...CHANGES,
    ...FILES,
  };
  return Object.entries(cases).map(([name, check]) => ({
    name,
    run: async () => {
      const clock = new FakeClock(START);
      const { store, other = store } = await create(clock);
      await check({ store, other, clock });
    },
  }));
}
