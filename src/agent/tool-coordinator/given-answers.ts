/** What a call was answered so far. Secrets are here, and go with the call. */
import type { AttemptRequest } from "../../executor/index.ts";
import type { Question } from "../../tool/index.ts";
import type { Json } from "../../util/index.ts";

export interface GivenAnswer {
  readonly answer: Json;
  readonly note?: string;
  /** No person was asked. */
  readonly isAutomatic: boolean;
}

export class GivenAnswers {
  /** By question id; the latest answer to each. */
  readonly #answers = new Map<string, GivenAnswer & { readonly isSecret: boolean }>();
  /** How often in a row each question was answered without a person. */
  readonly #automatic = new Map<string, number>();

  add({ id, answerType }: Question, given: GivenAnswer): void {
    this.#answers.set(id, { ...given, isSecret: answerType.type === "secret" });
    this.#automatic.set(id, given.isAutomatic ? this.automaticAnswers({ id }) + 1 : 0);
  }

  automaticAnswers({ id }: Pick<Question, "id">): number {
    return this.#automatic.get(id) ?? 0;
  }

  toRequest(): Pick<AttemptRequest, "answers" | "secretAnswers" | "notes"> {
    const entries = [...this.#answers];
    return {
      answers: Object.fromEntries(entries.map(([id, { answer }]) => [id, answer])),
      secretAnswers: entries.flatMap(([id, { isSecret }]) => (isSecret ? [id] : [])),
      notes: Object.fromEntries(
        entries.flatMap(([id, { note }]) => (note === undefined ? [] : [[id, note]])),
      ),
    };
  }
}
