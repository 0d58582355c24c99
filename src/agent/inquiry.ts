/**
 * One question from its recording to its end: record it, route it, ask, check the answer, record that. A
 * question whose process ends before stays open on the record, and is asked again from there.
 */
import {
  type AttemptStart,
  type Decider,
  type InquiryEscalation,
  type InquiryId,
  type InquiryOutcome,
  type InquiryRequest,
  type InquiryResponse,
  type KnownCancellationReason,
  timestampFromDate,
} from "../conversation/index.ts";
import { explainMisfit, isOther } from "../tool/index.ts";
import { assertNever, type Json, messageOf } from "../util/index.ts";
import { askModel } from "./ask-model.ts";
import { Deadline } from "./deadline.ts";
import { promptCause, stopCause, type StopCause } from "./stop-cause.ts";
import {
  INPUT_CANCELLED,
  inquiryFailed,
  INTERRUPTED_AT_QUESTION,
  promptFailed,
  tooManyAnswers,
} from "./model-texts.ts";
import type { AnsweredPrompt, NoAnswerReason, PromptRequest, PromptResult } from "./ports.ts";
import { canRemember, isFromOther, personOf, questionRequest } from "./prompts.ts";
import { type Route, routeQuestion } from "./route.ts";
import type { AskedQuestion } from "./asked-question.ts";
import { declineOf, type GivenAnswer, type RecordedAnswer, withDeclines } from "./given-answers.ts";
import type { TurnContext } from "./context.ts";
import type { WaitingItem } from "./waiting.ts";

/** A question that can be answered, here or elsewhere. */
export interface RecordedQuestion {
  /** With the configured `exclusive` applied: it is recorded, shown and routed alike. */
  readonly asked: AskedQuestion;
  readonly request: InquiryRequest;
  readonly item: WaitingItem;
  /** How many questions of its attempt have no answer. The next attempt needs them all. */
  readonly round: { open: number };
}

export type QuestionResult = Answered | Unanswered | Pending;

/** No one has answered yet. The question stays open on the record. */
export interface Pending {
  readonly type: "pending";
}

export const PENDING: Pending = { type: "pending" };

/** Something has changed who answers, so the question has to be routed again. */
export interface Rerouted {
  readonly type: "rerouted";
}

const REROUTED: Rerouted = { type: "rerouted" };

type Answered = { readonly type: "answered" } & GivenAnswer;

/** The call ends here, and the model sees `content`. */
export interface Unanswered {
  readonly type: "unanswered";
  readonly reason: KnownCancellationReason;
  readonly content: string;
  readonly isError: boolean;
}

type ModelRoute = Extract<Route, { type: "model" }>;

/** A recorded question that has no recorded end yet. */
export class Inquiry {
  readonly id: InquiryId;
  /** The name of the only person who may answer. */
  readonly for: string | undefined;
  readonly #context: TurnContext;
  readonly #asked: AskedQuestion;
  readonly #request: InquiryRequest;
  readonly #round: RecordedQuestion["round"];
  readonly #item: WaitingItem;
  #deadline: Deadline | undefined;
  #escalation: InquiryEscalation | undefined;
  /** Set if the prompter said that no one will answer. */
  #noAnswer: NoAnswerReason | undefined;

  /** `stop` it afterwards. */
  constructor(context: TurnContext, { asked, request, item, round }: RecordedQuestion) {
    const escalation = asked.recorded?.escalation;
    const { deadline, timestamp } = escalation ?? request;
    this.#context = context;
    this.#asked = asked;
    this.#request = request;
    this.id = request.id;
    this.for = request.for;
    this.#round = round;
    this.#item = item;
    this.#escalation = escalation;
    if (deadline !== undefined) this.#deadline = new Deadline(context.clock, deadline, timestamp);
  }

  /** It no longer waits here. */
  stop(): void {
    this.#deadline?.stop();
    this.#item[Symbol.dispose]();
  }

  /** To be called once it no longer waits: an answer from elsewhere may have come after it was left for later. */
  async settle(result: QuestionResult): Promise<QuestionResult> {
    return result.type === "pending" ? this.#endElsewhere() : result;
  }

  /** Aborted when the question must not wait here any longer, for whatever reason. */
  get signal(): AbortSignal {
    const deadline = this.#deadline === undefined ? [] : [this.#deadline.signal];
    return AbortSignal.any([this.#asked.signal, this.#item.signal, ...deadline]);
  }

  /** It was answered elsewhere, or not in time. In both cases its route is another one now. */
  get hasChanged(): boolean {
    return this.#item.signal.aborted || this.#deadline?.signal.aborted === true;
  }

  /** The question as a prompter shows it. */
  request(signal: AbortSignal): PromptRequest {
    const asked = { request: this.#request, signal, escalation: this.#escalation };
    return questionRequest(this.#context, this.#asked, asked);
  }

  /** Routes the question and gets its answer. */
  async answer(): Promise<QuestionResult> {
    const { signal } = this.#asked;
    for (;;) {
      if (signal.aborted) return this.cancel(stopCause(signal));
      const result = await this.answerBy(this.route());
      if (result.type !== "rerouted") return result;
    }
  }

  route(): Route {
    if (this.#item.elsewhere !== undefined) return { type: "elsewhere" };
    return routeQuestion(this.#context, this.#asked, {
      for: this.for,
      escalation: this.#escalation,
      isOverdue: this.#noAnswer === "timed_out" || this.#deadline?.signal.aborted === true,
      isUnavailable: this.#noAnswer === "unavailable",
    });
  }

  /** No person will answer, so that the question takes another route. */
  giveUp(reason: NoAnswerReason): void {
    this.#noAnswer = reason;
  }

  async answerBy(route: Route): Promise<QuestionResult | Rerouted> {
    const { name: tool } = this.#asked.tool.settings;
    if (route.type === "elsewhere") return this.#endElsewhere();
    if (route.type === "person") return this.#askPerson();
    if (route.type === "deferred") return PENDING;
    if (route.type === "refused") {
      const { reason, message } = route;
      if (reason === "no_prompt_backend") this.#context.state.addDenial({ tool, what: "question" });
      const { question } = this.#asked;
      return this.refuse(reason, withDeclines(message, [{ question, ...this.#decline }]));
    }
    if (route.type === "escalated") {
      return this.#escalate({ outcome: "cancelled", reason: "timed_out" });
    }
    // It was counted when the model was asked.
    if (route.type === "upheld") return this.#answerWith(false, route.answeredBy, route);
    const limit = this.#asked.budget.countAnswer();
    if (limit !== undefined) return this.refuse("attempts_exhausted", tooManyAnswers(tool, limit));
    switch (route.type) {
      case "given":
        return this.#answerWith(route.answer, route.decidedBy, this.#allowedNote(route.note));
      case "remembered":
        return this.#answerWith(route.answer, { kind: "remembered", from: route.from });
      case "configured":
        return this.#answerWith(route.answer, { kind: "config", key: route.key });
      case "default":
        return this.#answerWith(route.answer, { kind: "default" });
      case "model":
        return this.#askModel(route);
      default:
        return assertNever(route);
    }
  }

  refuse(reason: KnownCancellationReason, content: string): Promise<QuestionResult> {
    const unanswered = { type: "unanswered", reason, content, isError: true } as const;
    return this.#end({ outcome: "cancelled", reason }, unanswered);
  }

  /** The process ends, but the question does not: only its tool, or a person, can end it. */
  async cancel(reason: StopCause): Promise<QuestionResult> {
    if (this.#item.elsewhere !== undefined) return this.#endElsewhere();
    const { withdrawn, signal } = this.#asked;
    const isWithdrawn = withdrawn?.aborted === true && signal.aborted;
    if (reason === "interrupted" && !isWithdrawn) return PENDING;
    return this.#end({ outcome: "cancelled", reason }, cancelledBy(reason));
  }

  /** Checks and records what a prompter returned. `signal` is the one that the prompter got. */
  async accept(result: PromptResult, signal: AbortSignal): Promise<QuestionResult> {
    if (result.inquiryId !== this.id) return this.failPrompt("the answer is for another question");
    if (this.#item.elsewhere !== undefined) return this.#endElsewhere();
    if (result.type === "later") return PENDING;
    if (result.type === "unanswered" && !signal.aborted) {
      this.giveUp(result.reason);
      return this.answer();
    }
    if (result.type !== "answered") return this.cancel(promptCause(result, signal));
    if (isFromOther(this.#context, this.#request, result)) return PENDING;
    const misfit = explainMisfit(this.#asked.question.answerType, result.answer);
    return misfit === undefined ? this.#acceptAnswer(result) : this.failPrompt(misfit);
  }

  failPrompt(message: string): Promise<QuestionResult> {
    return this.refuse("backend_error", promptFailed("Question", message));
  }

  async #askPerson(): Promise<QuestionResult | Rerouted> {
    const result = await this.#context.prompts.run(
      // While this waited, the person may have given another call an answer for the whole turn. Other
      // routes are followed outside the queue, so that no prompt waits for them.
      async (signal) => (this.route().type === "person" ? this.#prompt(signal) : REROUTED),
      this.signal,
    );
    return result ?? this.#closed();
  }

  async #prompt(signal: AbortSignal): Promise<QuestionResult | Rerouted> {
    let result: PromptResult;
    try {
      result = await this.#context.prompter.ask(this.request(signal));
    } catch (error) {
      return this.failPrompt(messageOf(error));
    }
    const isClosed = result.type !== "answered";
    if (isClosed && this.hasChanged) return REROUTED;
    if (result.type !== "unanswered" || signal.aborted) return this.accept(result, signal);
    this.giveUp(result.reason);
    return REROUTED;
  }

  /** What comes of a question whose `signal` was aborted. */
  async #closed(): Promise<QuestionResult | Rerouted> {
    return this.hasChanged ? REROUTED : this.cancel(stopCause(this.#asked.signal));
  }

  /** Remembers the answer only if the question allows it, and never remembers a secret. */
  async #acceptAnswer(result: AnsweredPrompt): Promise<QuestionResult> {
    const { answer, note } = result;
    const isKept = result.isRemembered === true && canRemember(this.#asked.question);
    const person = personOf(this.#context, result);
    const answeredBy: Decider = isKept ? { ...person, scope: "turn" } : person;
    const given = { answer, ...this.#allowedNote(note) };
    return this.#endAnswered({ answeredBy }, { type: "answered", ...given, isAutomatic: false });
  }

  async #askModel(route: ModelRoute): Promise<QuestionResult | Rerouted> {
    const { question, tool } = this.#asked;
    const asked = { ...this.#asked, ...route, inquiryId: this.id, signal: this.signal };
    const result = await askModel(this.#context, asked);
    switch (result.type) {
      case "answered":
        return this.#answerWith(result.answer, result.answeredBy, result);
      case "escalated":
        return this.#escalate(result.outcome, result.problem);
      case "failed": {
        const content = inquiryFailed(tool.settings.name, question, result.problem);
        return this.refuse("backend_error", content);
      }
      case "cancelled":
        return this.#closed();
      default:
        return assertNever(result);
    }
  }

  /** Leaves the question to a person, with what the model made of it on record. */
  async #escalate(outcome: InquiryOutcome, problem?: string): Promise<Rerouted> {
    if (this.#item.elsewhere !== undefined) return REROUTED;
    const { question, tool } = this.#asked;
    // It was the model's alone. Otherwise one deadline is for both of them.
    if (tool.settings.questions.get(question.id)?.onTimeout === "escalate") {
      this.#deadline?.stop();
      this.#deadline = undefined;
    }
    const escalation: InquiryEscalation = {
      type: "inquiry_escalation",
      timestamp: timestampFromDate(this.#context.clock.now()),
      id: this.id,
      ...outcome,
      ...(problem !== undefined && { problem }),
      ...(this.#deadline !== undefined && { deadline: this.#deadline.at }),
    };
    await this.#context.journal.record(escalation);
    this.#escalation = escalation;
    return REROUTED;
  }

  #answerWith(
    answer: Json,
    answeredBy: Decider,
    { answerReason, note, reply }: Pick<GivenAnswer, "note" | "reply"> & Reason = {},
  ): Promise<QuestionResult> {
    const by = { answeredBy, ...(answerReason !== undefined && { answerReason }) };
    return this.#endAnswered(by, {
      type: "answered",
      answer,
      isAutomatic: true,
      ...(note !== undefined && { note }),
      ...(reply !== undefined && { reply }),
      ...declineOf(this.#asked.question, { answer, ...by }),
    });
  }

  #allowedNote(note = ""): Pick<AnsweredPrompt, "note"> {
    const { allowsNote = false } = this.#asked.question;
    return allowsNote && note !== "" ? { note } : {};
  }

  /** The tool gets a secret, but the record does not. */
  #endAnswered(
    by: { readonly answeredBy: Decider } & Reason,
    answered: Answered,
  ): Promise<QuestionResult> {
    const { answeredBy } = by;
    const { answerType } = this.#asked.question;
    const isSecret = answerType.type === "secret";
    if (isSecret) return this.#end({ outcome: "redacted", answeredBy }, answered);
    const { answer, note } = answered;
    const isOwn = answerType.type === "select" && isOther(answerType, answer);
    const given = { answer, ...(note !== undefined && { note }), ...(isOwn && { isOther: true }) };
    return this.#end({ outcome: "answered", ...given, ...by }, answered);
  }

  /** Set if a model has said no, and left the question to a person. */
  get #decline(): Pick<GivenAnswer, "decline"> {
    const escalation = this.#escalation;
    return escalation?.outcome === "answered" ? declineOf(this.#asked.question, escalation) : {};
  }

  /**
   * Records how the question ended here, unless it was answered elsewhere before. The last answer of a round
   * lets the tool run again, which is recorded in the same write.
   */
  async #end(outcome: InquiryOutcome, result: QuestionResult): Promise<QuestionResult> {
    if (!this.#item.takeHere()) return this.#endElsewhere();
    const timestamp = timestampFromDate(this.#context.clock.now());
    const response = { type: "inquiry_response" as const, timestamp, id: this.id, ...outcome };
    await this.#context.journal.record(response, ...this.#startAfter(response));
    this.#remember(response);
    return result;
  }

  /** The answer from elsewhere is on record already. */
  async #endElsewhere(): Promise<QuestionResult> {
    const response = await this.#item.elsewhere;
    if (response?.type !== "inquiry_response") return PENDING;
    const start = this.#startAfter(response);
    if (start.length > 0) await this.#context.journal.record(...start);
    this.#remember(response);
    if (response.outcome === "cancelled") return cancelledBy("user");
    const given = response.outcome === "answered" ? response : this.#item.secret?.reveal();
    if (given === undefined) return PENDING; // Without its secret, it has to be asked again.
    const { answer, note } = given;
    return { type: "answered", answer, ...(note !== undefined && { note }), isAutomatic: false };
  }

  #startAfter({ outcome }: InquiryResponse): readonly AttemptStart[] {
    if (outcome === "cancelled") return [];
    this.#round.open -= 1;
    if (this.#round.open > 0) return [];
    const timestamp = timestampFromDate(this.#context.clock.now());
    return [{ type: "attempt_start", timestamp, toolCallId: this.#asked.toolCallId }];
  }

  #remember(response: InquiryResponse): void {
    const { tool, question } = this.#asked;
    this.#context.state.rememberAnswer(tool.settings.name, question.id, response);
  }
}

/** Set if a model said why. */
type Reason = Pick<RecordedAnswer, "answerReason">;

function cancelledBy(reason: StopCause): Unanswered {
  return reason === "user"
    ? { type: "unanswered", reason, content: INPUT_CANCELLED, isError: false }
    : { type: "unanswered", reason, content: INTERRUPTED_AT_QUESTION, isError: true };
}
