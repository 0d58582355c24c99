/**
 * Collects the calls of a reply while it streams in. The code that runs them is loaded with the first one: many replies
 * have none.
 */
import type { CallProgress } from "../../record/conversation/index.ts";
import { loaderOf } from "../../util/index.ts";
import type { ToolCycle } from "./calls.ts";
import type { TurnContext } from "./context.ts";
import type { StopCause } from "./stop-cause.ts";

export class CollectedCalls {
  readonly #context: TurnContext;
  readonly #calls: CallProgress[] = [];
  #stopped: Parameters<ToolCycle["stop"]> | undefined;
  #cycle: ToolCycle | undefined;

  constructor(context: TurnContext) {
    this.#context = context;
  }

  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  /** Whether the message that came with a stop is the result of at least one call. */
  get isMessageDelivered(): boolean {
    return this.#cycle?.isMessageDelivered ?? false;
  }

  /** Adds a recorded call. */
  add(call: CallProgress): void {
    this.#calls.push(call);
  }

  /** Runs all of them: see `ToolCycle`. Throws `module_not_loaded`, and what running them throws. */
  async run(): Promise<void> {
    if (this.isEmpty) return;
    const { ToolCycle } = await loadCalls();
    const cycle = new ToolCycle(this.#context);
    this.#cycle = cycle;
    for (const call of this.#calls) cycle.add(call);
    if (this.#stopped !== undefined) cycle.stop(...this.#stopped);
    await cycle.run();
  }

  stop(by: StopCause, message: string | Promise<string> = ""): void {
    this.#stopped = [by, message];
    this.#cycle?.stop(by, message);
  }

  /** Before they run, there is nothing to restart. */
  restart(): void {
    this.#cycle?.restart();
  }
}

/** Throws `module_not_loaded`. */
export const loadCalls = loaderOf(() => import("./calls.ts"));
