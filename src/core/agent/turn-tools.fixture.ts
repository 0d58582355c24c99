/** Tools for tests of turns. */
import { setImmediate } from "node:timers/promises";
import type { ConversationEvent } from "../../record/conversation/index.ts";
import type { Executor } from "../../reach/executor/index.ts";
import { StorageError } from "../../stores/index.ts";
import { booleanQuestion, defineTool } from "../../record/tool/index.ts";
import type { Journal } from "./index.ts";
import type { NamedExecutor } from "./tool-turn.fixture.ts";

const ANY_OBJECT = { type: "object" };

/** Returns its argument. */
export const echo = defineTool<{ readonly text?: string }>({
  name: "echo",
  description: "",
  parameters: ANY_OBJECT,
  run: ({ text = "nothing" }) => text,
});

/** Asks before it does anything. */
export const asker = defineTool({
  name: "asker",
  description: "",
  parameters: ANY_OBJECT,
  run: async (_args, { ask }) => `got ${await ask(booleanQuestion("sure", "Are you sure?"))}`,
});

/** Runs until released, and counts its starts and cancellations. */
export class SlowTool implements NamedExecutor {
  readonly name: string;
  starts = 0;
  cancellations = 0;
  #release = Promise.withResolvers<void>();

  constructor(name = "slow") {
    this.name = name;
  }

  release(): void {
    this.#release.resolve();
  }

  readonly executor: Executor = {
    attempt: async ({ signal }) => {
      this.starts += 1;
      const aborted = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => aborted.resolve(), { once: true });
      if (signal.aborted) aborted.resolve();
      await Promise.race([this.#release.promise, aborted.promise]);
      if (!signal.aborted) return { type: "success", content: `${this.name} is done` };
      this.cancellations += 1;
      return { type: "cancelled" };
    },
  };
}

/** The error it throws, as an object to compare. */
export const WRITE_FAILED = { code: "write_failed", message: "The disk is full." };

/** `isLost` is called for each event, in order; a lost event is not recorded. */
export function losing(journal: Journal, isLost: (event: ConversationEvent) => boolean): Journal {
  return {
    conversation: journal.conversation,
    get stream() {
      return journal.stream;
    },
    record: async (...events) => {
      await setImmediate(); // As a disk would.
      if (events.some((event) => isLost(event))) {
        throw new StorageError("write_failed", WRITE_FAILED.message);
      }
      await journal.record(...events);
    },
  };
}
