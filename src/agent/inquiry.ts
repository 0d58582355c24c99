/**
 * One question from its recording to its end: record it, route it, ask, check the answer, record that.
 * Every recorded question gets a recorded end, whatever happens in between.
 */
import {
  type ConversationStream,
  type Decider,
  type InquiryId,
  type InquiryOutcome,
  type InquiryRequest,
  type InquiryResponse,
  type KnownCancellationReason,
  timestampFromDate,
} from "../conversation/index.ts";
import type { InquiryAnswer } from "../inquiry/index.ts";
import {
  explainMismatch,
  type InquirySource,
  isOther,
  type ModelPrompt,
  type Question,
  withoutOther,
} from "../tool/index.ts";
import { assertNever, type Json, messageOf } from "../util/index.ts";
import { promptCause, stopCause, type StopCause } from "./interrupts.ts";
import {
  INPUT_CANCELLED,
  inquiryFailed,
  INTERRUPTED_AT_QUESTION,
  keepsAsking,
  promptFailed,
  tooManyAnswers,
} from "./model-texts.ts";
import type { CallableTool, PromptRequest, PromptResult } from "./ports.ts";
import { type AssistantTarget, decideRoute, type Route, withConfiguredExclusive } from "./route.ts";
import type { CallBudget, GivenAnswer, TurnContext } from "./state.ts";

/** A question of a call. */
export interface AskedQuestion {
  readonly toolCallId: string;
  readonly tool: CallableTool;
  readonly question: Question;
  readonly source: InquirySource;
  /** How many times in a row this call has had it answered without a person. */
  readonly automaticAnswers: number;
  /** The budget of the call. */
  readonly budget: CallBudget;
  /** A prompt for a model, which sees only this and nothing of the conversation. */
  readonly prompt?: ModelPrompt;
  /** Also aborted when the tool withdraws the question. */
  readonly signal: AbortSignal;
}

export type QuestionResult = Answered | Unanswered;

type Answered = { readonly type: "answered" } & GivenAnswer;

/** The call ends here, and the model sees `content`. */
export interface Unanswered {
  readonly type: "unanswered";
  readonly reason: KnownCancellationReason;
  readonly content: string;
  readonly isError: boolean;
}

type AnsweredPrompt = Extract<PromptResult, { type: "answered" }>;

/** A tool that ignores its answer and asks again is stopped after this many. */
const MAX_AUTOMATIC_ANSWERS = 3;

/** A recorded question that has no recorded end yet. */
export class Inquiry {
  readonly id: InquiryId;
  readonly #context: TurnContext;
  readonly #asked: AskedQuestion;

  private constructor(context: TurnContext, asked: AskedQuestion, id: InquiryId) {
    this.#context = context;
    this.#asked = asked;
    this.id = id;
  }

  /** Records questions, before anything is decided about them. */
  static async open(
    context: TurnContext,
    questions: readonly AskedQuestion[],
  ): Promise<readonly Inquiry[]> {
    const timestamp = timestampFromDate(context.clock.now());
    const opened = questions.map((asked) => {
      const { toolCallId, tool, source } = asked;
      // From here on this is the question: it is recorded, shown and routed alike.
      const question = withConfiguredExclusive(asked.question, tool.settings);
      const id = context.state.nextInquiryId(toolCallId, question.id);
      return {
        inquiry: new Inquiry(context, { ...asked, question }, id),
        request: toInquiryRequest(question, { id, timestamp, source, toolCallId }),
      };
    });
    await context.journal.record(...opened.map(({ request }) => request));
    return opened.map(({ inquiry }) => inquiry);
  }

  /** The question as a prompter shows it. */
  get field(): Omit<PromptRequest, "signal"> {
    const { question, tool } = this.#asked;
    const label = tool.settings.questions.get(question.id)?.promptLabel;
    return {
      inquiryId: this.id,
      question,
      tool: tool.settings.name,
      questionId: question.id,
      ...(label !== undefined && { label }),
    };
  }

  /** Routes the question and gets its answer. */
  answer(): Promise<QuestionResult> {
    const { signal } = this.#asked;
    return signal.aborted ? this.cancel(stopCause(signal)) : this.answerBy(this.route());
  }

  route(): Route {
    const { question, tool, prompt } = this.#asked;
    const { settings } = tool;
    const isModelPrompt = prompt !== undefined;
    // A model prompt is new every time, so repeating it does not mean that the tool is stuck.
    if (!isModelPrompt && this.#asked.automaticAnswers >= MAX_AUTOMATIC_ANSWERS) {
      const message = keepsAsking(settings.name, question);
      return { type: "refused", reason: "attempts_exhausted", message };
    }
    const remembered = this.#context.state.findAnswer(settings.name, question.id);
    const canAsk = this.#context.prompter.canAsk();
    return decideRoute({ question, isModelPrompt, settings, remembered, canAsk });
  }

  async answerBy(route: Route): Promise<QuestionResult> {
    const { name: tool } = this.#asked.tool.settings;
    if (route.type === "person") return this.#askPerson();
    if (route.type === "refused") {
      const { reason, message } = route;
      if (reason === "no_prompt_backend") this.#context.state.addDenial({ tool, what: "question" });
      return this.refuse(reason, message);
    }
    const limit = this.#asked.budget.countAnswer();
    if (limit !== undefined) return this.refuse("attempts_exhausted", tooManyAnswers(tool, limit));
    switch (route.type) {
      case "remembered":
        return this.#answerWith(route.answer, { kind: "remembered", from: route.from });
      case "configured":
        return this.#answerWith(route.answer, { kind: "config", key: route.key });
      case "default":
        return this.#answerWith(route.answer, { kind: "default" });
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

  /** Checks and records what a prompter returned. `signal` is the one that the prompter got. */
  async accept(result: PromptResult, signal: AbortSignal): Promise<QuestionResult> {
    if (result.inquiryId !== this.id) return this.failPrompt("the answer is for another question");
    if (result.type !== "answered") return this.cancel(promptCause(result, signal));
    const misfit = explainMismatch(this.#asked.question.answerType, result.answer);
    return misfit === undefined ? this.#acceptAnswer(result) : this.failPrompt(misfit);
  }

  failPrompt(message: string): Promise<Unanswered> {
    return this.refuse("backend_error", promptFailed("Question", message));
  }

  async #askPerson(): Promise<QuestionResult> {
    const next = await this.#context.prompts.run(
      async (signal): Promise<QuestionResult | Route> => {
        // While this waited, the person may have given another call an answer for the whole turn.
        const route = this.route();
        return route.type === "person" ? this.#prompt(signal) : route;
      },
      this.#asked.signal,
    );
    if (next === undefined) return this.cancel(stopCause(this.#asked.signal));
    // Other routes are followed outside the queue, so that no prompt waits for them.
    return next.type === "answered" || next.type === "unanswered" ? next : this.answerBy(next);
  }

  async #prompt(signal: AbortSignal): Promise<QuestionResult> {
    let result: PromptResult;
    try {
      result = await this.#context.prompter.ask({ ...this.field, signal });
    } catch (error) {
      return this.failPrompt(messageOf(error));
    }
    return this.accept(result, signal);
  }

  /** Remembers the answer only if the question allows it, and never remembers a secret. */
  async #acceptAnswer({ answer, note, isRemembered }: AnsweredPrompt): Promise<QuestionResult> {
    const { persistence, allowsNote = false } = this.#asked.question;
    const isKept = isRemembered && persistence === "turn" && !this.#isSecret;
    const { channel } = this.#context.prompter;
    const answeredBy = { kind: "user" as const, channel };
    const noted = allowsNote && note !== undefined && note !== "" ? { note } : {};
    const given = { answer, ...noted };
    await this.#recordAnswer(given, isKept ? { ...answeredBy, scope: "turn" } : answeredBy);
    return { type: "answered", ...given, isAutomatic: false };
  }

  async #askModel(target: AssistantTarget): Promise<QuestionResult> {
    const { question, toolCallId, tool, prompt, signal } = this.#asked;
    const toolName = tool.settings.name;
    const { stream } = this.#context.journal;
    let result: InquiryAnswer;
    try {
      result = await this.#context.inquiries.inquire({
        inquiryId: this.id,
        toolCallId,
        toolName,
        question,
        target,
        ...(prompt === undefined ? { stream } : { stream: emptyStream(stream), prompt }),
        signal,
        observe: (update) =>
          this.#context.observer?.observe({
            type: "inquiry_update",
            inquiryId: this.id,
            tool: toolName,
            update,
          }),
      });
    } catch (error) {
      // A backend must not throw. If it does anyway, the recorded question still needs an end.
      result = { type: "failed", kind: "other", message: messageOf(error) };
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
    const answered = await this.#answerWith(answer, { kind: "assistant", model });
    return prompt === undefined ? answered : { ...answered, reply: { model, isCutOff } };
  }

  async #answerWith(answer: Json, answeredBy: Decider): Promise<Answered> {
    await this.#recordAnswer({ answer }, answeredBy);
    return { type: "answered", answer, isAutomatic: true };
  }

  /** The tool gets a secret, but the record does not. */
  #recordAnswer(
    given: Pick<AnsweredPrompt, "answer" | "note">,
    answeredBy: Decider,
  ): Promise<void> {
    if (this.#isSecret) return this.#close({ outcome: "redacted", answeredBy });
    const { answerType } = this.#asked.question;
    const isOwn = answerType.type === "select" && isOther(answerType, given.answer);
    const own = isOwn ? { isOther: true } : {};
    return this.#close({ outcome: "answered", ...given, ...own, answeredBy });
  }

  get #isSecret(): boolean {
    return this.#asked.question.answerType.type === "secret";
  }

  async #close(outcome: InquiryOutcome): Promise<void> {
    const { journal, state, clock } = this.#context;
    const { tool, question } = this.#asked;
    const timestamp = timestampFromDate(clock.now());
    const response = { type: "inquiry_response" as const, timestamp, id: this.id, ...outcome };
    await journal.record(response);
    state.rememberAnswer(tool.settings.name, question.id, response);
  }
}

/**
 * Records questions that belong to no running call. Their executor has refused them already, so each is
 * recorded together with its end. The returned function stops that and waits for the last write; it
 * throws `write_failed`.
 */
export function recordUnscopedQuestions(context: TurnContext): () => Promise<void> {
  const { tools, journal, state, clock } = context;
  const writes: Promise<void>[] = [];
  const unsubscribe = tools.onUnscopedQuestions?.(({ source, questions, reason }) => {
    const timestamp = timestampFromDate(clock.now());
    const requests = questions.map((question) => {
      const id = state.nextInquiryId(source.name, question.id);
      return toInquiryRequest(question, { id, timestamp, source });
    });
    const responses = requests.map(({ id }): InquiryResponse => {
      return { type: "inquiry_response", timestamp, id, outcome: "cancelled", reason };
    });
    const write = journal.record(...requests, ...responses);
    write.catch(() => undefined); // Thrown when recording stops.
    writes.push(write);
  });
  return async () => {
    unsubscribe?.();
    await Promise.all(writes);
  };
}

function toInquiryRequest(
  { id: questionId, ...question }: Question,
  fields: Pick<InquiryRequest, "id" | "timestamp" | "source" | "toolCallId">,
): InquiryRequest {
  return { type: "inquiry_request", ...fields, question, questionId };
}

/** Keeps the conversation from a model that must not see it. */
function emptyStream({ createdAt }: ConversationStream): ConversationStream {
  return { createdAt, baseConfig: {}, entries: [] };
}
