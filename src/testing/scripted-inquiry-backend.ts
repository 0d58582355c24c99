/** An inquiry model that has its answers ready, and keeps what it was asked. */
import type { InquiryAnswer, InquiryBackend, InquiryCall } from "../inquiry/index.ts";
import { abortable, type Json } from "../util/index.ts";

/** By inquiry id, or made for each call. Whether they fit is not looked at. */
export type ScriptedAnswers =
  | Readonly<Record<string, Json>>
  | ((call: InquiryCall) => InquiryAnswer | Promise<InquiryAnswer>);

/** Answers tools' questions in the place of a model. One without an answer fails. */
export class ScriptedInquiryBackend implements InquiryBackend {
  /** All calls so far. */
  readonly calls: InquiryCall[] = [];
  readonly #answers: ScriptedAnswers;
  readonly #held = new Map<string, PromiseWithResolvers<void>>();

  constructor(answers: ScriptedAnswers) {
    this.#answers = answers;
  }

  /** An inquiry of this id has no answer before it is released. */
  hold(inquiryId: string): void {
    this.#held.set(inquiryId, Promise.withResolvers());
  }

  /** Lets go of an inquiry that was held. */
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
    const message = `no answer was scripted for ${call.inquiryId}`;
    return { type: "failed", kind: "other", message };
  }
}
