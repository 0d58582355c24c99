/**
 * What one call may still do without a person, and add to the record. A tool that asks for ever, or says
 * too much, ends here whichever way it was started.
 */
import { type CallLimits, DEFAULT_LIMITS } from "../../config/index.ts";
import type { Question } from "../../tool/index.ts";
import { truncateBytes } from "../../util/index.ts";
import type { GivenAnswer } from "./given-answers.ts";
import type { TurnParts } from "./turn-parts.ts";
import type { TurnState } from "./turn-state.ts";

/** The limit that was reached, as a key of the config. */
export type LimitKey = `conversation.limits.${string}`;

/** However little is left, the model is told something. */
const LEAST_RESULT_BYTES = 1024;

export class CallBudget {
  readonly #limits: CallLimits;
  readonly #state: TurnState;
  #answers = 0;
  #bytes = 0;

  constructor({ limits = DEFAULT_LIMITS, state }: Pick<TurnParts, "limits" | "state">) {
    this.#limits = limits;
    this.#state = state;
  }

  /** Counts an answer that no person gives, before it is given. Returns the limit if there must be none. */
  takeAnswer(): LimitKey | undefined {
    const { automaticAnswersPerCall, automaticAnswersPerTurn } = this.#limits;
    if (this.#answers >= automaticAnswersPerCall) {
      return "conversation.limits.automatic_answers_per_call";
    }
    if (!this.#state.takeAutomaticAnswer(automaticAnswersPerTurn)) {
      return "conversation.limits.automatic_answers_per_turn";
    }
    this.#answers += 1;
    return undefined;
  }

  /** Counts what is about to be recorded. Returns the limit if it must not be. */
  takeQuestions(questions: readonly Question[]): LimitKey | undefined {
    const bytes = this.#bytes + Buffer.byteLength(JSON.stringify(questions));
    if (bytes > this.#limits.recordBytesPerCall) {
      return "conversation.limits.record_bytes_per_call";
    }
    this.#bytes = bytes;
    return undefined;
  }

  /** An answer is kept in any case: whoever gave it was asked for it. */
  addAnswer({ answer, note = "" }: GivenAnswer): void {
    this.#bytes += Buffer.byteLength(JSON.stringify(answer) + note);
  }

  /** As much of a result as the record has room for. */
  fitResult(content: string): string {
    const left = this.#limits.recordBytesPerCall - this.#bytes;
    return truncateBytes(content, Math.max(left, LEAST_RESULT_BYTES));
  }
}
