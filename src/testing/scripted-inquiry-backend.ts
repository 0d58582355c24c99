/** An inquiry backend that replays scripted answers and keeps the calls it got. */
import type { InquiryAnswer, InquiryBackend, InquiryCall } from "../core/answer-model/index.ts";
import { abortable, type Json } from "../util/index.ts";

/** Answers by inquiry id, or a function of the call. They are not checked against the question. */
export type ScriptedAnswers =
  | Readonly<Record<string, Json>>
  | ((call: InquiryCall) => InquiryAnswer | Promise<InquiryAnswer>);

/** Answers inquiries from a script. An inquiry without a scripted answer fails. */
export class ScriptedInquiryBackend implements InquiryBackend {
  /** All calls so far, in order. */
  readonly calls: InquiryCall[] = [];
  readonly #answers: ScriptedAnswers;
  readonly #held = new Map<string, PromiseWithResolvers<void>>();

  constructor(answers: ScriptedAnswers) {
    this.#answers = answers;
  }

  /** Holds back the answer to this inquiry until `release`. */
  hold(inquiryId: string): void {
    this.#held.set(inquiryId, Promise.withResolvers());
  }

  /** Releases the answer to an inquiry that `hold` held back. */
  release(inquiryId: string): void {
    this.#held.get(inquiryId)?.resolve();
  }

  async inquire(call: InquiryCall): Promise<InquiryAnswer> {
    this.calls.push(call);
    try {
      await abortable(this.#held.get(call.inquiryId)?.promise ?? Promise.resolve(), call.signal);
      return await abortable(Promise.resolve(this.#answer(call)), call.signal);
    } catch (error) {
      if (call.signal.aborted) return { type: "cancelled" };
      throw error;
    }
  }

  #answer(call: InquiryCall): InquiryAnswer | Promise<InquiryAnswer> {
    if (typeof this.#answers === "function") return this.#answers(call);
    const answer = this.#answers[call.inquiryId];
    if (answer !== undefined) return { type: "answered", answer, model: "test/scripted" };
    const message = `the script has no answer for ${call.inquiryId}`;
    return { type: "failed", kind: "other", message };
  }
}
