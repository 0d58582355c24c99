/**
 * Questions that belong to no call under way. They were refused where they came from, and nobody is
 * asked; what is left is to put them on record, for as long as there is a turn to put them in.
 */
import type { InquiryResponse } from "../../conversation/index.ts";
import type { RefusedQuestions } from "../../executor/index.ts";
import { timestampOf } from "../timestamp-of.ts";
import { toInquiryRequest } from "./inquiry-request.ts";
import type { TurnParts } from "./turn-parts.ts";

export class StrayQuestions {
  readonly #parts: TurnParts;
  readonly #ignore: () => void;
  readonly #written: Promise<void>[] = [];

  /** Listens from now on. */
  constructor(parts: TurnParts) {
    this.#parts = parts;
    const onStray = (refused: RefusedQuestions) => {
      const written = this.#record(refused);
      written.catch(() => undefined); // `end` tells.
      this.#written.push(written);
    };
    this.#ignore = parts.tools.listen?.(onStray) ?? (() => undefined);
  }

  /** All that came until now is on record then. Throws `write_failed`. */
  async end(): Promise<void> {
    this.#ignore();
    await Promise.all(this.#written);
  }

  /** Each with its end, in one piece: none of them is ever open. */
  #record({ source, questions, reason }: RefusedQuestions): Promise<void> {
    const { journal, state, clock } = this.#parts;
    const timestamp = timestampOf(clock);
    const requests = questions.map((question) => {
      const id = state.nextInquiryId(source.name, question.id);
      return toInquiryRequest({ id, timestamp, source, question });
    });
    const responses = requests.map(({ id }): InquiryResponse => {
      return { type: "inquiry_response", timestamp, id, outcome: "cancelled", reason };
    });
    return journal.record(...requests, ...responses);
  }
}
