/**
 * One question from its recording to its end: record, route, ask, check, record. A question that is on
 * record gets its end on record too, whatever happens in between.
 */
import type {
  ConversationStream,
  Decider,
  InquiryId,
  InquiryOutcome,
  InquiryRequest,
  KnownCancellationReason,
} from "../../conversation/index.ts";
import type { InquiryAnswer } from "../../inquiry/index.ts";
import {
  explainMismatch,
  type InquirySource,
  isOther,
  type ModelPrompt,
  type Question,
  withoutOther,
} from "../../tool/index.ts";
import { assertNever, type Json, messageOf } from "../../util/index.ts";
import type { PromptRequest, PromptResult } from "../ports.ts";
import { promptCause, stopCause, type StopCause } from "../stop-cause.ts";
import { timestampOf } from "../timestamp-of.ts";
import type { CallBudget } from "./call-budget.ts";
import type { GivenAnswer } from "./given-answers.ts";
import { toInquiryRequest } from "./inquiry-request.ts";
import {
  asksTooOften,
  INPUT_CANCELLED,
  inquiryFailed,
  INTERRUPTED_AT_QUESTION,
  keepsAsking,
  promptFailed,
} from "./model-texts.ts";
import { type AssistantTarget, decideRoute, type Route, withConfiguredExclusive } from "./route.ts";
import type { CallableTool, TurnParts } from "./turn-parts.ts";

export interface AskedQuestion {
  readonly toolCallId: string;
  readonly tool: CallableTool;
  readonly question: Question;
  readonly source: InquirySource;
  /** How many times in a row this question of this call was answered without a person. */
  readonly automaticAnswers: number;
  /** Of the call. */
  readonly budget: CallBudget;
  /** It is for a model, which sees these words and nothing of the conversation. */
  readonly prompt?: ModelPrompt;
  /** Also aborted when whoever asked wants no answer any more. */
  readonly signal: AbortSignal;
}

export type QuestionEnd = AnsweredEnd | Unanswered;

type AnsweredEnd = { readonly type: "answered" } & GivenAnswer;

/** The call ends here; `content` is what the model is told. */
export interface Unanswered {
  readonly type: "unanswered";
  readonly reason: KnownCancellationReason;
  readonly content: string;
  readonly isError: boolean;
}

type AnsweredPrompt = Extract<PromptResult, { type: "answered" }>;

/** A tool that does not take an answer is not asked for ever. */
const MOST_AUTOMATIC_ANSWERS = 3;

/** An inquiry that is on record and has no end yet. */
export class Inquiry {
  readonly #parts: TurnParts;
  readonly #asked: AskedQuestion;
  readonly #id: InquiryId;

  private constructor(parts: TurnParts, asked: AskedQuestion, id: InquiryId) {
    this.#parts = parts;
    this.#asked = asked;
    this.#id = id;
  }

  /** Records the questions, before anything is decided about them. */
  static async open(
    parts: TurnParts,
    questions: readonly AskedQuestion[],
  ): Promise<readonly Inquiry[]> {
    const inquiries = questions.map((asked) => {
      const { toolCallId, tool } = asked;
      // From here on it is the question that is in force: recorded, shown and routed alike.
      const question = withConfiguredExclusive(asked.question, tool.settings);
      const id = parts.state.nextInquiryId(toolCallId, question.id);
      return new Inquiry(parts, { ...asked, question }, id);
    });
    await parts.journal.record(...inquiries.map((inquiry) => inquiry.#request()));
    return inquiries;
  }

  get id(): InquiryId {
    return this.#id;
  }

  /** As a person is asked. */
  get field(): Omit<PromptRequest, "signal"> {
    const { question, tool } = this.#asked;
    const label = tool.settings.questions.get(question.id)?.promptLabel;
    return {
      inquiryId: this.#id,
      question,
      tool: tool.settings.name,
      questionId: question.id,
      ...(label !== undefined && { label }),
    };
  }

  /** The whole way, by itself. */
  answer(): Promise<QuestionEnd> {
    const { signal } = this.#asked;
    return signal.aborted ? this.cancel(stopCause(signal)) : this.follow(this.route());
  }

  route(): Route {
    const { question, tool, prompt } = this.#asked;
    const { settings } = tool;
    const isPrompt = prompt !== undefined;
    // Words for a model are new every time.
    if (!isPrompt && this.#asked.automaticAnswers >= MOST_AUTOMATIC_ANSWERS) {
      const message = keepsAsking(settings.name, question);
      return { type: "refused", reason: "attempts_exhausted", message };
    }
    const remembered = this.#parts.state.findAnswer(settings.name, question.id);
    const canAsk = this.#parts.prompter.canAsk();
    return decideRoute({ question, isPrompt, settings, remembered, canAsk });
  }

  follow(route: Route): Promise<QuestionEnd> {
    if (route.type === "person") return this.#askPerson();
    if (route.type === "refused") return this.#refuseRoute(route);
    const limit = this.#asked.budget.takeAnswer();
    if (limit === undefined) return this.#answerByItself(route);
    const content = asksTooOften(this.#asked.tool.settings.name, limit);
    return this.refuse("attempts_exhausted", content);
  }

  #refuseRoute({ reason, message }: Extract<Route, { type: "refused" }>): Promise<Unanswered> {
    const { name: tool } = this.#asked.tool.settings;
    if (reason === "no_prompt_backend") this.#parts.state.noteDenial({ tool, what: "question" });
    return this.refuse(reason, message);
  }

  #answerByItself(route: Exclude<Route, { type: "refused" | "person" }>): Promise<QuestionEnd> {
    switch (route.type) {
      case "remembered":
        return this.#answerAlone(route.answer, { kind: "remembered", from: route.from });
      case "configured":
        return this.#answerAlone(route.answer, { kind: "config", key: route.key });
      case "default":
        return this.#answerAlone(route.answer, { kind: "default" });
      case "model":
        return this.#askModel(route.target);
      default:
        return assertNever(route);
    }
  }

  async refuse(reason: KnownCancellationReason, content: string): Promise<Unanswered> {
    await this.#close({ outcome: "cancelled", reason });
    return { type: "unanswered", reason, content, isError: true };
  }

  async cancel(reason: StopCause): Promise<Unanswered> {
    await this.#close({ outcome: "cancelled", reason });
    return reason === "user"
      ? { type: "unanswered", reason, content: INPUT_CANCELLED, isError: false }
      : { type: "unanswered", reason, content: INTERRUPTED_AT_QUESTION, isError: true };
  }

  /** What a prompter gave for it; the signal is the one that the prompter had. */
  async take(result: PromptResult, signal: AbortSignal): Promise<QuestionEnd> {
    if (result.inquiryId !== this.#id) {
      return this.failPrompt("the answer was given to another question");
    }
    if (result.type !== "answered") return this.cancel(promptCause(result, signal));
    const misfit = explainMismatch(this.#asked.question.answerType, result.answer);
    return misfit === undefined ? this.#takeAnswer(result) : this.failPrompt(misfit);
  }

  failPrompt(message: string): Promise<Unanswered> {
    return this.refuse("backend_error", promptFailed("Question", message));
  }

  /** While it waited for its turn, another call may have got an answer that holds for this one too. */
  async #askPerson(): Promise<QuestionEnd> {
    const next = await this.#parts.prompts.run(async (signal): Promise<QuestionEnd | Route> => {
      const route = this.route();
      return route.type === "person" ? this.#prompt(signal) : route;
    }, this.#asked.signal);
    if (next === undefined) return this.cancel(stopCause(this.#asked.signal));
    // What needs no person is done outside: nobody has to wait for it.
    return next.type === "answered" || next.type === "unanswered" ? next : this.follow(next);
  }

  async #prompt(signal: AbortSignal): Promise<QuestionEnd> {
    let result: PromptResult;
    try {
      result = await this.#parts.prompter.ask({ ...this.field, signal });
    } catch (error) {
      return this.failPrompt(messageOf(error));
    }
    return this.take(result, signal);
  }

  /** A person's. It is remembered only where the question allows it, and never if it is a secret. */
  async #takeAnswer({ answer, note, isRemembered }: AnsweredPrompt): Promise<QuestionEnd> {
    const { persistence, allowsNote = false } = this.#asked.question;
    const isKept = isRemembered && persistence === "turn" && !this.#isSecret;
    const { channel } = this.#parts.prompter;
    const answeredBy = { kind: "user" as const, channel };
    const said = allowsNote && note !== undefined && note !== "" ? { note } : {};
    await this.#answer({ answer, ...said }, isKept ? { ...answeredBy, scope: "turn" } : answeredBy);
    return { type: "answered", answer, ...said, isAutomatic: false };
  }

  async #askModel(target: AssistantTarget): Promise<QuestionEnd> {
    const { question, toolCallId, tool, prompt, signal } = this.#asked;
    const toolName = tool.settings.name;
    const { stream } = this.#parts.journal;
    let result: InquiryAnswer;
    try {
      result = await this.#parts.inquiries.inquire({
        inquiryId: this.#id,
        toolCallId,
        toolName,
        question,
        target,
        ...(prompt === undefined ? { stream } : { stream: withoutContent(stream), prompt }),
        signal,
      });
    } catch (error) {
      // It never throws; but a question that is on record must not stay open by a mistake of ours.
      const message = messageOf(error);
      result = { type: "failed", kind: "other", message };
    }
    if (result.type === "cancelled") return this.cancel(stopCause(signal));
    const problem =
      result.type === "failed"
        ? result.message
        : explainMismatch(withoutOther(question.answerType), result.answer);
    if (result.type === "failed" || problem !== undefined) {
      return this.refuse("backend_error", inquiryFailed(toolName, question, problem ?? ""));
    }
    const { answer, model, isCutOff = false } = result;
    const end = await this.#answerAlone(answer, { kind: "assistant", model });
    return prompt === undefined ? end : { ...end, reply: { model, isCutOff } };
  }

  async #answerAlone(answer: Json, answeredBy: Decider): Promise<AnsweredEnd> {
    await this.#answer({ answer }, answeredBy);
    return { type: "answered", answer, isAutomatic: true };
  }

  /** The tool gets the answer; the record gets it only if it is no secret. */
  #answer(given: Pick<AnsweredPrompt, "answer" | "note">, answeredBy: Decider): Promise<void> {
    if (this.#isSecret) return this.#close({ outcome: "redacted", answeredBy });
    const { answerType } = this.#asked.question;
    const isOwn = answerType.type === "select" && isOther(answerType, given.answer);
    return this.#close({
      outcome: "answered",
      ...given,
      ...(isOwn && { isOther: true }),
      answeredBy,
    });
  }

  get #isSecret(): boolean {
    return this.#asked.question.answerType.type === "secret";
  }

  async #close(outcome: InquiryOutcome): Promise<void> {
    const { journal, state } = this.#parts;
    const { tool, question } = this.#asked;
    const timestamp = timestampOf(this.#parts.clock);
    const response = { type: "inquiry_response" as const, timestamp, id: this.#id, ...outcome };
    await journal.record(response);
    state.rememberAnswer(tool.settings.name, question.id, response);
  }

  #request(): InquiryRequest {
    const { toolCallId, source, question } = this.#asked;
    const timestamp = timestampOf(this.#parts.clock);
    return toInquiryRequest({ id: this.#id, timestamp, source, question, toolCallId });
  }
}

/** A conversation in which nothing was said: who must not see it does not get it. */
function withoutContent({ createdAt }: ConversationStream): ConversationStream {
  return { createdAt, baseConfig: {}, entries: [] };
}
