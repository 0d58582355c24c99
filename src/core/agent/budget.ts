/** The budget of one call: answers without a person, decisions that no longer count, and bytes on record. */
import { type CallLimits, DEFAULT_LIMITS } from "../../settings/config/index.ts";
import type { ResultContent } from "../../reach/executor/index.ts";
import { truncateBytes } from "../../util/index.ts";
import type { TurnContext } from "./context.ts";
import type { TurnState } from "./memory.ts";

/** The config key of a limit that was reached. */
export type LimitKey = `conversation.limits.${string}`;

/** The model gets at least this much of a result, even if the budget is spent. */
const MIN_RESULT_BYTES = 1024;

/** The call fails after this many void decisions. */
const MAX_VOIDS = 3;

/** How many automatic answers, void decisions and recorded bytes one call has left. */
export class CallBudget {
  readonly #limits: CallLimits;
  readonly #state: TurnState;
  #answers = 0;
  #bytes = 0;
  #voids: number;

  /** `voids`: how many decisions about the call are already void. */
  constructor(
    { limits = DEFAULT_LIMITS, state }: Pick<TurnContext, "limits" | "state">,
    voids: number,
  ) {
    this.#limits = limits;
    this.#state = state;
    this.#voids = voids;
  }

  /** Counts the usage of an earlier process. The state of the turn has its answers already. */
  restore(bytes: number, isAutomatic: boolean): void {
    this.#bytes += bytes;
    if (isAutomatic) this.#answers += 1;
  }

  /** Counts an answer without a person, before it is given. Returns the limit that forbids it. */
  countAnswer(): LimitKey | undefined {
    const { automaticAnswersPerCall, automaticAnswersPerTurn } = this.#limits;
    if (this.#answers >= automaticAnswersPerCall) {
      return "conversation.limits.automatic_answers_per_call";
    }
    if (!this.#state.countAutomaticAnswer(automaticAnswersPerTurn)) {
      return "conversation.limits.automatic_answers_per_turn";
    }
    this.#answers += 1;
    return undefined;
  }

  /** Counts decisions that were voided together. Returns whether they may be asked again. */
  countVoid(): boolean {
    this.#voids += 1;
    return this.#voids < MAX_VOIDS;
  }

  /** Counts bytes that the call is about to record. Returns the limit that forbids it. */
  countBytes(bytes: number): LimitKey | undefined {
    if (this.#bytes + bytes > this.#limits.recordBytesPerCall) {
      return "conversation.limits.record_bytes_per_call";
    }
    this.#bytes += bytes;
    return undefined;
  }

  /** Answers are counted but never refused: they were asked for. */
  addAnswer(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Truncates a result to the remaining bytes. */
  fitResult({ content, blocks, isJson }: ResultContent): ResultContent {
    const left = Math.max(this.#limits.recordBytesPerCall - this.#bytes, MIN_RESULT_BYTES);
    const text = truncateBytes(content, left);
    const bytes = Buffer.byteLength(text) + Buffer.byteLength(JSON.stringify(blocks ?? []));
    // A result without its blocks still has its text.
    return {
      content: text,
      ...(blocks !== undefined && bytes <= left && { blocks }),
      ...(isJson === true && text === content && { isJson }),
    };
  }
}
