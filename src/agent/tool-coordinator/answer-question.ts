/**
 * One question from its recording to its end: record, route, ask, check, record. A question that is on
 * record gets its end on record too, whatever happens in between.
 */
import type {
  Decider,
  InquiryId,
  InquiryOutcome,
  KnownCancellationReason,
} from "../../conversation/index.ts";
import type { InquiryAnswer } from "../../inquiry/index.ts";
import { explainMisfit, type InquirySource, type Question } from "../../tool/index.ts";
import { assertNever, type Json } from "../../util/index.ts";
import type { PromptResult } from "../ports.ts";
import { timestampOf } from "../timestamp-of.ts";
import { INPUT_CANCELLED, inquiryFailed, keepsAsking, promptFailed } from "./model-texts.ts";
import { type AssistantTarget, decideRoute, type Route } from "./route.ts";
import type { CallableTool, TurnParts } from "./turn-parts.ts";

export interface AskedQuestion {
  readonly toolCallId: string;
  readonly tool: CallableTool;
  readonly question: Question;
  readonly source: InquirySource;
  /** How many times in a row this question of this call was answered without a person. */
  readonly automaticAnswers: number;
  readonly signal: AbortSignal;
}

export type QuestionEnd =
  /** `isAutomatic`: no person was asked. */
  | { readonly type: "answered"; readonly answer: Json; readonly isAutomatic: boolean }
  /** The call ends here; `content` is what the model is told. */
  | { readonly type: "unanswered"; readonly content: string; readonly isError: boolean };

/** A tool that does not take an answer is not asked for ever. */
const MOST_AUTOMATIC_ANSWERS = 3;

export async function answerQuestion(parts: TurnParts, asked: AskedQuestion): Promise<QuestionEnd> {
  const { toolCallId, tool, source, signal } = asked;
  const { id: questionId, ...question } = asked.question;
  const id = parts.state.nextInquiryId(toolCallId, questionId);
  await parts.journal.record({
    type: "inquiry_request",
    timestamp: timestampOf(parts.clock),
    id,
    source,
    question,
    toolCallId,
    questionId,
  });
  const inquiry = new Inquiry(parts, asked, id);
  if (signal.aborted) return inquiry.cancel();
  if (asked.automaticAnswers >= MOST_AUTOMATIC_ANSWERS) {
    return inquiry.refuse("attempts_exhausted", keepsAsking(tool.settings.name, asked.question));
  }
  return inquiry.follow(inquiry.route());
}

/** An inquiry that is on record and has no end yet. */
class Inquiry {
  readonly #parts: TurnParts;
  readonly #asked: AskedQuestion;
  readonly #id: InquiryId;

  constructor(parts: TurnParts, asked: AskedQuestion, id: InquiryId) {
    this.#parts = parts;
    this.#asked = asked;
    this.#id = id;
  }

  route(): Route {
    const { question, tool } = this.#asked;
    const { settings } = tool;
    const remembered = this.#parts.state.findAnswer(settings.name, question.id);
    return decideRoute({ question, settings, remembered, canAsk: this.#parts.prompter.canAsk() });
  }

  follow(route: Route): Promise<QuestionEnd> {
    switch (route.type) {
      case "remembered":
        return this.#answerAlone(route.answer, { kind: "remembered", from: route.from });
      case "configured":
        return this.#answerAlone(route.answer, { kind: "config", key: route.key });
      case "default":
        return this.#answerAlone(route.answer, { kind: "default" });
      case "refused":
        return this.refuse(route.reason, route.message);
      case "person":
        return this.#askPerson();
      case "model":
        return this.#askModel(route.target);
      default:
        return assertNever(route);
    }
  }

  async refuse(reason: KnownCancellationReason, content: string): Promise<QuestionEnd> {
    await this.#close({ outcome: "cancelled", reason });
    return { type: "unanswered", content, isError: true };
  }

  async cancel(): Promise<QuestionEnd> {
    await this.#close({ outcome: "cancelled", reason: "user" });
    return { type: "unanswered", content: INPUT_CANCELLED, isError: false };
  }

  /** While it waited for its turn, another call may have got an answer that holds for this one too. */
  async #askPerson(): Promise<QuestionEnd> {
    const next = await this.#parts.prompts.run(async (signal): Promise<QuestionEnd | Route> => {
      const route = this.route();
      return route.type === "person" ? this.#prompt(signal) : route;
    }, this.#asked.signal);
    if (next === undefined) return this.cancel();
    // What needs no person is done outside: nobody has to wait for it.
    return next.type === "answered" || next.type === "unanswered" ? next : this.follow(next);
  }

  async #prompt(signal: AbortSignal): Promise<QuestionEnd> {
    const { question, tool } = this.#asked;
    const label = tool.settings.questions.get(question.id)?.promptLabel;
    const request = {
      inquiryId: this.#id,
      question,
      ...(label !== undefined && { label }),
      signal,
    };
    let result: PromptResult;
    try {
      result = await this.#parts.prompter.ask(request);
    } catch (error) {
      return this.#failPrompt(error instanceof Error ? error.message : String(error));
    }
    if (result.inquiryId !== this.#id) {
      return this.#failPrompt("the answer was given to another question");
    }
    if (result.type === "cancelled") return this.cancel();
    const misfit = explainMisfit(question.answerType, result.answer);
    if (misfit !== undefined) return this.#failPrompt(misfit);
    return this.#takeAnswer(result.answer, result.isRemembered);
  }

  #failPrompt(message: string): Promise<QuestionEnd> {
    return this.refuse("backend_error", promptFailed("Question", message));
  }

  /** A person's. It is remembered only where the question allows it, and never if it is a secret. */
  async #takeAnswer(answer: Json, wantsMemory: boolean): Promise<QuestionEnd> {
    const { persistence } = this.#asked.question;
    const isRemembered = wantsMemory && persistence === "turn" && !this.#isSecret;
    const { channel } = this.#parts.prompter;
    const answeredBy = { kind: "user" as const, channel };
    await this.#answer(answer, isRemembered ? { ...answeredBy, scope: "turn" } : answeredBy);
    return { type: "answered", answer, isAutomatic: false };
  }

  async #askModel(target: AssistantTarget): Promise<QuestionEnd> {
    const { question, toolCallId, tool, signal } = this.#asked;
    const toolName = tool.settings.name;
    let result: InquiryAnswer;
    try {
      result = await this.#parts.inquiries.inquire({
        inquiryId: this.#id,
        toolCallId,
        toolName,
        question,
        target,
        stream: this.#parts.journal.stream,
        signal,
      });
    } catch (error) {
      // It never throws; but a question that is on record must not stay open by a mistake of ours.
      const message = error instanceof Error ? error.message : String(error);
      result = { type: "failed", kind: "other", message };
    }
    if (result.type === "cancelled") return this.cancel();
    const problem =
      result.type === "failed" ? result.message : explainMisfit(question.answerType, result.answer);
    if (result.type === "failed" || problem !== undefined) {
      return this.refuse("backend_error", inquiryFailed(toolName, question, problem ?? ""));
    }
    return this.#answerAlone(result.answer, { kind: "assistant", model: result.model });
  }

  async #answerAlone(answer: Json, answeredBy: Decider): Promise<QuestionEnd> {
    await this.#answer(answer, answeredBy);
    return { type: "answered", answer, isAutomatic: true };
  }

  /** The tool gets the answer; the record gets it only if it is no secret. */
  #answer(answer: Json, answeredBy: Decider): Promise<void> {
    return this.#close(
      this.#isSecret
        ? { outcome: "redacted", answeredBy }
        : { outcome: "answered", answer, answeredBy },
    );
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
}
