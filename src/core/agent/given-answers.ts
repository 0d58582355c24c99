/** The answers to a call's questions, on the way to its next attempt. Secrets live only here. */
import {
  deciderOf,
  type InquiryOutcome,
  type InquiryRequest,
  type InquiryResponse,
} from "../../record/conversation/index.ts";
import type { AttemptRequest, ModelReply } from "../../reach/executor/index.ts";
import type { Question } from "../../record/tool/index.ts";
import type { Json } from "../../util/index.ts";
import { declinedByModel, declinedWithWords } from "./model-texts.ts";

/** A question with its answer, as recorded. */
export interface AnsweredInquiry {
  readonly request: InquiryRequest;
  readonly response: InquiryResponse;
}

/** An answer on its way to the tool that asked. */
export interface GivenAnswer {
  readonly recorded: AnsweredInquiry;
  /** What the record does not have of it. */
  readonly secret?: AnswerText;
  /** Set if a model answered a prompt that the tool wrote for it. */
  readonly reply?: ModelReply;
}

interface AnswerText {
  readonly answer: Json;
  readonly note?: string;
}

/** The answer itself. Undefined if there is none, or if it is a secret that was not given to this process. */
export function answerIn({
  recorded: { response },
  secret,
}: Pick<GivenAnswer, "recorded" | "secret">): AnswerText | undefined {
  return response.outcome === "answered" ? response : secret;
}

/** The question as the tool has asked it. */
export function toQuestion({ question, questionId, id }: InquiryRequest): Question {
  return { ...question, id: questionId ?? id };
}

/** Adds a note on each question that a model has answered with no. */
export function withDeclines(
  content: string,
  answers: readonly { readonly question: Question; readonly response: InquiryOutcome }[],
): string {
  const notes = answers.flatMap(({ question, response }) => noteOnDecline(question, response));
  return [content, ...notes].join("\n\n");
}

/** The calling model should not take another model's no for the user's. */
function noteOnDecline(question: Question, response: InquiryOutcome): readonly string[] {
  if (response.outcome !== "answered" || response.answer !== false) return [];
  const { answeredBy, answerReason } = response;
  if (question.answerType.type !== "boolean" || answeredBy?.kind !== "assistant") return [];
  return [declinedByModel(question, answeredBy.model, answerReason)];
}

/** Another program's form may have answered by itself. */
function isByPerson({ response }: AnsweredInquiry): boolean {
  const by = deciderOf(response);
  return by?.kind === "user" && by.auth !== "client";
}

/** The answers that one call has received so far, secrets included. */
export class GivenAnswers {
  /** The latest answer for each question id. */
  readonly #answers = new Map<string, GivenAnswer & AnswerText & { readonly question: Question }>();
  /** How many times in a row each question was answered without a person. */
  readonly #automatic = new Map<string, number>();

  /** Keeps an answer, unless it is a secret that is not known here. */
  add(given: GivenAnswer): void {
    const said = answerIn(given);
    if (said === undefined) return;
    const { request, response } = given.recorded;
    const question = toQuestion(request);
    const { id } = question;
    const { answer, note } = said;
    this.#answers.set(id, { ...given, question, answer, ...(note !== undefined && { note }) });
    const isAutomatic = deciderOf(response)?.kind !== "user";
    this.#automatic.set(id, isAutomatic ? this.automaticAnswers({ id }) + 1 : 0);
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
    const responses = answers.map(({ question, recorded: { response } }) => ({
      question,
      response,
    }));
    return withDeclines([content, ...words].join("\n\n"), responses);
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
