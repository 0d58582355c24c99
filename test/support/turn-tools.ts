/** Tools for tests of turns. */
import type { Executor } from "../../src/executor/index.ts";
import { booleanQuestion, defineTool } from "../../src/tool/index.ts";
import type { NamedExecutor } from "./tool-turn.ts";

const ANY_OBJECT = { type: "object" };

/** Gives back what it was called with. */
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

/** Runs until it is let go, and counts how often it was started and how often it was cancelled. */
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
