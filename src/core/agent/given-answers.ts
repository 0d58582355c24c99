/** The answers to a call's questions, on the way to its next attempt. Secrets live only here. */
import {
  deciderOf,
  type InquiryRequest,
  type InquiryResponse,
} from "../../record/conversation/index.ts";
import type { AttemptRequest, ModelReply } from "../../reach/executor/index.ts";
import type { Question } from "../../record/tool/index.ts";
import type { Json } from "../../util/index.ts";
import { declinedByModel, declinedWithWords } from "./model-texts.ts";

/** An answer as the tool that asked gets it. */
export interface GivenAnswer {
  readonly answer: Json;
  readonly note?: string;
  /** No person gave it. */
  readonly isAutomatic: boolean;
  /** Set if a model answered a prompt that the tool wrote for it. */
  readonly reply?: ModelReply;
  /** Set if a model said no. */
  readonly decline?: Decline;
  /** The recorded pair. */
  readonly recorded: AnsweredInquiry;
}

/** A question with its answer, as recorded. */
export interface AnsweredInquiry {
  readonly request: InquiryRequest;
  readonly response: InquiryResponse;
}

/** A model's no, which the calling model should not take for the user's. */
export interface Decline {
  /** `provider/name`. */
  readonly model: string;
  readonly reason?: string;
}

export function declineOf(
  { answerType }: Pick<Question, "answerType">,
  { answer, answerReason, answeredBy }: AnswerFields,
): { readonly decline?: Decline } {
  if (answerType.type !== "boolean" || answer !== false || answeredBy?.kind !== "assistant") {
    return {};
  }
  const { model } = answeredBy;
  return { decline: { model, ...(answerReason !== undefined && { reason: answerReason }) } };
}

type RecordedAnswer = Extract<InquiryResponse, { outcome: "answered" }>;
type AnswerFields = Pick<RecordedAnswer, "answer" | "answerReason" | "answeredBy">;

/** Adds a note on each question that a model has answered with no. */
export function withDeclines(
  content: string,
  answers: readonly (Pick<GivenAnswer, "decline"> & { readonly question: Question })[],
): string {
  const notes = answers.flatMap(({ question, decline }) =>
    decline === undefined ? [] : [declinedByModel(question, decline.model, decline.reason)],
  );
  return [content, ...notes].join("\n\n");
}

/** Another program's form may have answered by itself. */
function isByPerson({ response }: AnsweredInquiry): boolean {
  const by = deciderOf(response);
  return by?.kind === "user" && by.auth !== "client";
}

/** The answers that one call has received so far, secrets included. */
export class GivenAnswers {
  /** The latest answer for each question id. */
  readonly #answers = new Map<string, GivenAnswer & { readonly question: Question }>();
  /** How many times in a row each question was answered without a person. */
  readonly #automatic = new Map<string, number>();

  add(question: Question, given: GivenAnswer): void {
    const { id } = question;
    this.#answers.set(id, { ...given, question });
    this.#automatic.set(id, given.isAutomatic ? this.automaticAnswers({ id }) + 1 : 0);
  }

  /** Adds an answer from the record, which has no secrets. */
  restore(question: Question, recorded: AnsweredInquiry): void {
    const { response } = recorded;
    if (response.outcome !== "answered") return;
    const { answer, note, answeredBy } = response;
    this.add(question, {
      answer,
      ...(note !== undefined && { note }),
      isAutomatic: answeredBy?.kind !== "user",
      ...declineOf(question, response),
      recorded,
    });
  }

  /** The questions with their answers, as recorded. */
  get recorded(): readonly AnsweredInquiry[] {
    return [...this.#answers.values()].map(({ recorded }) => recorded);
  }

  /** The latest answer to this question. */
  find({ id }: Pick<Question, "id">): AnsweredInquiry | undefined {
    return this.#answers.get(id)?.recorded;
  }

  /** A tool's result, with a note on each no that the tool was not told in full. */
  annotate(content: string): string {
    const answers = [...this.#answers.values()];
    const words = answers.flatMap(({ question, note }) =>
      note === undefined || question.allowsNote === true ? [] : [declinedWithWords(question, note)],
    );
    return withDeclines([content, ...words].join("\n\n"), answers);
  }

  automaticAnswers({ id }: Pick<Question, "id">): number {
    return this.#automatic.get(id) ?? 0;
  }

  toRequest(): Pick<
    AttemptRequest,
    "answers" | "secretAnswers" | "notes" | "bindings" | "personAnswers" | "replies"
  > {
    const entries = [...this.#answers];
    const replies = entries.flatMap(([id, { reply }]) =>
      reply === undefined ? [] : [[id, reply] as const],
    );
    const byPerson = entries.flatMap(([id, { recorded }]) => (isByPerson(recorded) ? [id] : []));
    const bindings = entries.flatMap(([id, { question }]) =>
      question.binding === undefined ? [] : [[id, question.binding] as const],
    );
    return {
      answers: Object.fromEntries(entries.map(([id, { answer }]) => [id, answer])),
      secretAnswers: entries.flatMap(([id, { question }]) =>
        question.answerType.type === "secret" ? [id] : [],
      ),
      notes: Object.fromEntries(
        entries.flatMap(([id, { question, note }]) =>
          note === undefined || question.allowsNote !== true ? [] : [[id, note]],
        ),
      ),
      ...(bindings.length > 0 && { bindings: Object.fromEntries(bindings) }),
      ...(byPerson.length > 0 && { personAnswers: byPerson }),
      ...(replies.length > 0 && { replies: Object.fromEntries(replies) }),
    };
  }
}
