/** What a call was answered so far. Secrets are here, and go with the call. */
import type { AttemptRequest, ModelReply } from "../../executor/index.ts";
import type { Question } from "../../tool/index.ts";
import type { Json } from "../../util/index.ts";

export interface GivenAnswer {
  readonly answer: Json;
  readonly note?: string;
  /** No person was asked. */
  readonly isAutomatic: boolean;
  /** Of a model that was given words of its own. */
  readonly reply?: ModelReply;
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

  toRequest(): Pick<AttemptRequest, "answers" | "secretAnswers" | "notes" | "replies"> {
    const entries = [...this.#answers];
    const replies = entries.flatMap(([id, { reply }]) =>
      reply === undefined ? [] : [[id, reply] as const],
    );
    return {
      answers: Object.fromEntries(entries.map(([id, { answer }]) => [id, answer])),
      secretAnswers: entries.flatMap(([id, { isSecret }]) => (isSecret ? [id] : [])),
      notes: Object.fromEntries(
        entries.flatMap(([id, { note }]) => (note === undefined ? [] : [[id, note]])),
      ),
      ...(replies.length > 0 && { replies: Object.fromEntries(replies) }),
    };
  }
}
