/**
 * Routes a decision: who makes it, or what. One pure function does (`decideRoute`), for all four kinds. The caller records
 * the request before, and checks and records the answer after.
 */
import type { QuestionTarget, ToolSettings } from "../../settings/config/index.ts";
import {
  type Decider,
  type DecisionVote,
  type DenialCause,
  findStranger,
  type ForWhom,
  type InquiryEscalation,
  type InquiryOutcome,
  isForSome,
  isSameWhom,
  type KnownCancellationReason,
  type KnownPeople,
  isActing,
  peopleFor,
  questionAbout,
  type Timestamp,
} from "../../record/conversation/index.ts";
import {
  answerFits,
  type InquirySource,
  type Question,
  withoutOther,
} from "../../record/tool/index.ts";
import { assertNever, type Json } from "../../util/index.ts";
import {
  configuredAnswerInvalid,
  givenAnswerInvalid,
  inquiryFailed,
  keepsAsking,
  needsHuman,
  noOneToAsk,
  PERSON_UNAVAILABLE,
  timedOut,
} from "./model-texts.ts";
import type { DecisionToGive, Given, GivenReply } from "./ports.ts";
import { type AskingContext, canReach } from "./prompts.ts";
import type { Verdict } from "../policy/index.ts";
import type { Asked } from "./asked.ts";
import type { TurnContext } from "./context.ts";
import type { RememberedAnswer } from "./memory.ts";
import { whomOfTarget } from "./subject.ts";

/** Everything that the route of a decision depends on. */
export type RouteInput = QuestionRouteInput | CallRouteInput;

interface AnyRouteInput {
  /** Takes an answer that was given before the turn. Called only if nothing remembered applies. */
  readonly takeGiven?: (() => Given) | undefined;
  /** Only what was given before the turn answers in place of a person. */
  readonly isGivenOnly?: boolean | undefined;
  /** Whether a person can be asked; if there is a name, that person. */
  readonly canAsk: boolean;
  /** The deadline has passed. */
  readonly isOverdue?: boolean | undefined;
  /** Someone else is asked then. */
  readonly hasNext?: boolean | undefined;
  /** A person had decided, so that neither a model nor a default nor a policy for their absence may. */
  readonly isForPerson?: boolean | undefined;
  /** Who may decide. `askedAt` is absent before it is recorded. */
  readonly whom?: (ForWhom & { readonly askedAt?: Timestamp | undefined }) | undefined;
  /** Undefined if this process cannot know. */
  readonly people?: KnownPeople | undefined;
}

export interface QuestionRouteInput extends AnyRouteInput {
  /** With the configured `exclusive` applied. */
  readonly question: Question;
  /** A prompt for a model: no person is asked, and the `detached` settings do not apply. */
  readonly isModelPrompt?: boolean;
  /** How many times in a row the call has had it answered without a person. */
  readonly automaticAnswers?: number;
  /** Settings of the tool that asks. */
  readonly settings: Pick<ToolSettings, "name" | "questions" | "detached">;
  /** An answer that a person gave earlier, for the whole turn. */
  readonly remembered: RememberedAnswer | undefined;
  /** Why no one can be asked, for the model. */
  readonly unavailableBecause?: string | undefined;
  /** Set if a model was asked, and left the question to a person. */
  readonly escalation?: InquiryEscalation | undefined;
  /** What rules and the mode say of the call. */
  readonly verdict?: Verdict | undefined;
  /** The place among those who are asked one after the other, counted from 0. */
  readonly rung?: number | undefined;
}

/** For a decision about a call itself. */
export type CallRouteInput = AnyRouteInput &
  (
    | {
        readonly kind: "permission" | "in_doubt";
        readonly settings: Pick<ToolSettings, "name" | "detached" | "deniesWaiting">;
        readonly verdict: Verdict;
        /** A decision of a person for the whole turn. */
        readonly remembered?: RememberedAnswer | undefined;
      }
    | {
        readonly kind: "delivery";
        readonly settings: Pick<ToolSettings, "name" | "detached" | "deniesWaiting">;
        readonly verdict: Verdict;
      }
  );

export type AssistantTarget = Extract<QuestionTarget, { type: "assistant" }>;

export type Route =
  | { readonly type: "remembered"; readonly answer: Json; readonly from: string }
  | ({ readonly type: "given" } & GivenReply)
  /** A setting of the tool decides about the call. */
  | {
      readonly type: "policy";
      readonly isApproved: boolean;
      /** Below `conversation.tools.<name>`. */
      readonly key: PolicyKey;
      /** Set if it is denied. */
      readonly cause?: DenialCause;
    }
  | { readonly type: "configured"; readonly answer: Json; readonly key: string }
  /** A rule or the mode that lets the call run answers its question too. */
  | { readonly type: "ruled"; readonly answer: Json }
  | { readonly type: "default"; readonly answer: Json }
  | { readonly type: "person" }
  /** A person is asked later. */
  | { readonly type: "deferred" }
  /** If it `escalates`, a person is asked where the model cannot answer or says no. */
  | { readonly type: "model"; readonly target: AssistantTarget; readonly escalates?: boolean }
  /** No one has decided in time, and others are asked instead. */
  | { readonly type: "passed_on" }
  /** The model took too long, and a person is asked instead. */
  | { readonly type: "escalated" }
  /** The model's no counts after all: there is no person to ask. */
  | {
      readonly type: "upheld";
      readonly answeredBy: Decider;
      readonly answerReason?: string;
    }
  /** Someone has answered through another process. */
  | { readonly type: "elsewhere" }
  | {
      readonly type: "refused";
      readonly reason: KnownCancellationReason;
      /** For the model, as the result of the call. */
      readonly message: string;
      /** Why, in words, if the reason alone does not say it. */
      readonly problem?: string;
    };

export type PolicyKey = "run" | "result" | "detached.run" | "detached.deliver";

/** A tool that ignores its answer and asks again is stopped after this many. */
const MAX_AUTOMATIC_ANSWERS = 3;

/** The assistant that the config sets for all inquiries. */
const INQUIRY_MODEL: AssistantTarget = { type: "assistant", assistant: {} };

/** For whom it is, and what has come of asking so far. */
export interface SoFar {
  /** Of what is decided. */
  readonly digest: string;
  /** Absent before it is recorded. */
  readonly askedAt?: Timestamp | undefined;
  readonly whom: ForWhom;
  readonly escalation?: InquiryEscalation | undefined;
  readonly isForPerson?: boolean | undefined;
  readonly isOverdue?: boolean | undefined;
  readonly hasNext?: boolean | undefined;
  readonly rung?: number | undefined;
  /** A person's answer for the whole turn. */
  readonly remembered?: RememberedAnswer | undefined;
  /** What people have said who decide together. */
  readonly votes?: readonly DecisionVote[] | undefined;
  /** The prompter has found that it cannot reach anyone. */
  readonly isUnavailable?: boolean | undefined;
}

/** Who decides it now. That may change while it waits. */
export function routeOf(
  context: Pick<TurnContext, "answers"> & AskingContext,
  asked: Asked,
  { digest, askedAt, isUnavailable = false, remembered: kept, votes = [], ...soFar }: SoFar,
): Route {
  const { answers, prompter, directory } = context;
  const { toolCallId } = asked;
  const { whom } = soFar;
  const people = peopleFor(whom, directory);
  // Under terms, each decision is made by itself.
  const remembered = whom.terms === undefined ? kept : undefined;
  const common = {
    takeGiven:
      answers === undefined
        ? undefined
        : () => countedOnly(whom, answers.find(toGive(asked, digest))),
    isGivenOnly: answers?.isComplete,
    // The prompter is not consulted about what the config settles.
    canAsk:
      !isSettled(asked) &&
      !isUnavailable &&
      prompter.canAsk(toolCallId) &&
      canReach(context, whom, votes),
    isOverdue: soFar.isOverdue,
    hasNext: soFar.hasNext,
    isForPerson: soFar.isForPerson,
    whom: { ...whom, askedAt },
    people,
  };
  if (asked.kind === "question") {
    const { question, prompt, automaticAnswers, tool } = asked;
    return decideRoute({
      ...common,
      ...soFar,
      question,
      isModelPrompt: prompt !== undefined,
      automaticAnswers,
      settings: tool.settings,
      verdict: asked.verdict,
      remembered,
      unavailableBecause: prompter.unavailableBecause,
    });
  }
  const { verdict } = asked;
  const { settings } = asked.tool;
  if (asked.kind === "delivery") {
    return decideRoute({ ...common, kind: asked.kind, settings, verdict });
  }
  const { kind } = asked;
  // Whoever has to edit the arguments is asked each time.
  const isReused =
    kind === "permission" && verdict.mode === "ask" && verdict.isAskedEachTime !== true;
  const reused = isReused ? remembered : undefined;
  const isForPerson = common.isForPerson === true || verdict.needsPerson === true;
  return decideRoute({ ...common, kind, settings, verdict, remembered: reused, isForPerson });
}

/** Under terms, only a person counts: what was written down before does not. */
function countedOnly(whom: ForWhom, given: Given): Given {
  if (whom.terms === undefined || given === "later") return given;
  return given?.decidedBy.kind === "user" ? given : undefined;
}

function isSettled(asked: Asked): boolean {
  if (asked.kind === "question") return false;
  return settledByPolicy(asked.kind, asked.verdict) !== undefined;
}

/** As an `AnswerSource` is told of it. */
function toGive(asked: Asked, digest: string): DecisionToGive {
  const { name: tool } = asked.tool.settings;
  const about = { tool, toolCallId: asked.toolCallId, arguments: asked.arguments, digest };
  switch (asked.kind) {
    case "question":
      return { ...about, kind: asked.kind, question: asked.question };
    case "in_doubt":
      return { ...about, kind: asked.kind, question: questionAbout(asked.kind, tool) };
    case "delivery":
      return { ...about, kind: asked.kind, result: asked.result };
    case "permission":
      return { ...about, kind: asked.kind };
    default:
      return assertNever(asked);
  }
}

/** Applies the config, which has the last word on who may answer. What the tool wants to act on still acts. */
export function withConfiguredExclusive(
  question: Question,
  source: InquirySource,
  { questions }: Pick<ToolSettings, "questions">,
): Question {
  const { exclusive = question.exclusive } = questions.get(question.id) ?? {};
  if (exclusive === question.exclusive) return question;
  return { ...question, exclusive, ...(isActing({ question, source }) && { acts: true }) };
}

export function decideRoute(input: RouteInput): Route {
  return "question" in input ? routeQuestion(input) : routeCall(input);
}

/** A policy decides where the config leaves nothing to ask, and where there is no one to ask. */
function routeCall(input: CallRouteInput): Route {
  const settled = settledByPolicy(input.kind, input.verdict);
  if (settled !== undefined) return settled;
  if (input.kind === "permission" && isTheirs(input.remembered, input)) {
    const { answer, from } = input.remembered;
    return { type: "remembered", answer, from };
  }
  const { whom = {} } = input;
  const key = input.kind === "delivery" ? "result" : "run";
  if (input.isOverdue === true && input.hasNext === true) return { type: "passed_on" };
  if (input.isOverdue === true)
    return { type: "policy", isApproved: false, key, cause: "timed_out" };
  const given = input.takeGiven?.();
  if (given === "later" || isByAnother(given, input)) return { type: "deferred" };
  if (given !== undefined) return { type: "given", ...given };
  if (input.isGivenOnly === true) return { type: "deferred" };
  if (input.canAsk) return { type: "person" };
  const { detached, deniesWaiting } = input.settings;
  const ifDetached = input.kind === "delivery" ? detached.deliver : detached.run;
  // No policy decides in place of those whom it is for.
  const isDenied = input.kind === "delivery" ? ifDetached === "deny" : deniesWaiting === true;
  if (ifDetached === "defer" || (isForSome(whom) && !isDenied)) return { type: "deferred" };
  const policy = input.kind === "delivery" ? "detached.deliver" : "detached.run";
  // Only `auto` lets a call run. Nothing but a person lets one run that may have run already, or decides anew.
  const isApproving =
    input.kind === "delivery"
      ? ifDetached !== "deny"
      : input.kind === "permission" && ifDetached === "auto";
  const isApproved = isApproving && input.isForPerson !== true;
  return isApproved
    ? { type: "policy", isApproved, key: policy }
    : { type: "policy", isApproved, key: policy, cause: "unavailable" };
}

function isByAnother(given: GivenReply | undefined, { whom = {}, people }: AnyRouteInput): boolean {
  return findStranger(whom, given?.decidedBy, people) !== undefined;
}

/** Whether whoever has answered for the whole turn may decide this too. */
function isTheirs(
  remembered: RememberedAnswer | undefined,
  { whom = {}, people }: AnyRouteInput,
): remembered is RememberedAnswer {
  if (remembered === undefined) return false;
  const { by = { kind: "user", channel: "" } } = remembered;
  return findStranger(whom, by, people) === undefined;
}

function settledByPolicy(
  kind: CallRouteInput["kind"],
  { mode, cause }: Verdict,
): Route | undefined {
  const key = kind === "delivery" ? "result" : "run";
  if (mode === "skip") return { type: "policy", isApproved: false, key, cause: cause ?? "skipped" };
  const isUnattended = mode === "unattended" && kind !== "in_doubt";
  return isUnattended ? { type: "policy", isApproved: true, key } : undefined;
}

function routeQuestion(input: QuestionRouteInput): Route {
  const { question, isModelPrompt = false, settings, remembered, canAsk } = input;
  const { takeGiven, isGivenOnly = false } = input;
  const { name: tool } = settings;
  // A model prompt is new every time, so repeating it does not mean that the tool is stuck.
  if (!isModelPrompt && (input.automaticAnswers ?? 0) >= MAX_AUTOMATIC_ANSWERS) {
    const message = keepsAsking(tool, question);
    return { type: "refused", reason: "attempts_exhausted", message };
  }
  if (input.isOverdue === true) return routeOverdue(input);
  const { answer: configured, target: wanted } = settings.questions.get(question.id) ?? {};
  const target = findLast(input, wanted) ?? targetFor(input, wanted);
  const isSecret = question.answerType.type === "secret";
  const isNamed = isForSome(input.whom ?? {});
  const isForOnly = isNamed && isUser(target);
  const isByTool = question.for !== undefined;
  const requiresPerson =
    isSecret || question.exclusive || isForOnly || isByTool || input.isForPerson === true;

  if (isTheirs(remembered, input) && canReuse(input, remembered)) {
    return { type: "remembered", answer: remembered.answer, from: remembered.from };
  }
  const given = takeGiven?.();
  if (given === "later") return { type: "deferred" };
  if (given !== undefined) return useGiven(input, given);
  // Under terms, only a person counts.
  if (configured !== undefined && input.whom?.terms === undefined) {
    return useConfigured(tool, question, configured.value as Json); // From a config file: JSON.
  }
  if (isAnsweredByRule(input)) return { type: "ruled", answer: true };
  const isForPerson = requiresPerson || isUser(target) || input.escalation !== undefined;
  if (isGivenOnly && isForPerson && !isModelPrompt) return { type: "deferred" };
  if (requiresPerson && (isModelPrompt || isForModelOnly(target))) {
    return { type: "refused", reason: "assistant_routing_denied", message: needsHuman(tool) };
  }
  if (isModelPrompt) return { type: "model", target: isUser(target) ? INQUIRY_MODEL : target };
  if (!isUser(target) && !requiresPerson && input.escalation === undefined) {
    return target.escalates === true
      ? { type: "model", target, escalates: true }
      : { type: "model", target };
  }
  if (canAsk) return { type: "person" };
  const { tool: mode } = settings.detached;
  // No model and no default answers in place of those whom it is for.
  if (mode === "defer" || (isNamed && mode !== "deny")) return { type: "deferred" };
  return requiresPerson ? refuseDetached(input) : routeDetached(input);
}

/** The model, if everyone whom config names before it was too slow. */
function findLast(
  { rung = 0 }: Pick<QuestionRouteInput, "rung">,
  wanted: QuestionTarget | undefined,
): QuestionTarget | undefined {
  if (wanted?.type !== "user" || wanted.lastly === undefined) return undefined;
  const isLast = rung > 0 && rung === 1 + (wanted.next?.length ?? 0);
  return isLast ? { type: "assistant", assistant: wanted.lastly } : undefined;
}

/** The record says for whom a question is, whatever the config says by now. */
function targetFor(
  { whom = {}, isForPerson = false }: Pick<QuestionRouteInput, "whom" | "isForPerson">,
  wanted: QuestionTarget = { type: "user" },
): QuestionTarget {
  // A person has answered what was meant for a model, and is asked again.
  const target: QuestionTarget = isForPerson && !isUser(wanted) ? { type: "user" } : wanted;
  return !isForSome(whom) || isSameWhom(whomOfTarget(target), whom) ? target : { type: "user" };
}

/** Only what a tool of jp's own asks before it changes a file, and only if no one person has to be asked. */
function isAnsweredByRule(input: QuestionRouteInput): boolean {
  const { question, verdict, isForPerson = false } = input;
  if (isForPerson || isForSome(input.whom ?? {}) || question.answerType.type !== "boolean")
    return false;
  return verdict?.answers?.includes(question.id) === true;
}

function canReuse(input: QuestionRouteInput, { answer }: RememberedAnswer): boolean {
  const { persistence, answerType } = input.question;
  if (input.verdict?.isAskedEachTime === true) return false;
  if (answerType.type === "secret" || persistence !== "turn") return false;
  return answerFits(answerType, answer);
}

function isUser(target: QuestionTarget): target is Extract<QuestionTarget, { type: "user" }> {
  return target.type === "user";
}

function isForModelOnly(target: QuestionTarget): boolean {
  return target.type === "assistant" && target.escalates !== true;
}

/** No response is not an answer. Only the config can give one for it. */
function routeOverdue(input: Overdue & Pick<QuestionRouteInput, "settings" | "hasNext">): Route {
  if (input.hasNext === true) return { type: "passed_on" };
  const outcome = settleOverdue(input);
  if (outcome === undefined) return { type: "escalated" };
  if (outcome.outcome === "answered") return { type: "default", answer: outcome.answer };
  return { type: "refused", reason: "timed_out", message: timedOut(input.settings.name) };
}

/** A question whose deadline has passed. Without settings, it is refused. */
export interface Overdue extends Pick<
  QuestionRouteInput,
  "question" | "isModelPrompt" | "escalation" | "isForPerson" | "whom"
> {
  readonly settings?: Pick<ToolSettings, "questions">;
}

/** How it ends. Undefined if a person is asked instead of the model that was too slow. */
export function settleOverdue(overdue: Overdue): OverdueOutcome | undefined {
  const { question, settings, escalation, isModelPrompt = false, isForPerson = false } = overdue;
  const { onTimeout = "deny", target } = settings?.questions.get(question.id) ?? {};
  const { default: suggested, answerType } = question;
  const isForModel = target?.type === "assistant" && escalation === undefined && !isModelPrompt;
  if (onTimeout === "escalate" && isForModel && !isForPerson) return undefined;
  // Under terms, only a person counts.
  const isCounted = answerType.type !== "secret" && overdue.whom?.terms === undefined;
  const isDefault = onTimeout === "default" && isCounted && !isForPerson;
  return isDefault && isUsable(question, suggested)
    ? { outcome: "answered", answer: suggested, answeredBy: { kind: "default" } }
    : { outcome: "cancelled", reason: "timed_out" };
}

type OverdueOutcome = Exclude<InquiryOutcome, { outcome: "redacted" }>;

function isUsable(question: Question, suggested: Json | undefined): suggested is Json {
  return suggested !== undefined && answerFits(withoutOther(question.answerType), suggested);
}

/** A person gave it, so it may be in their own words where the question allows that. */
function useGiven(input: QuestionRouteInput, given: GivenReply): Route {
  const { question, settings } = input;
  if (isByAnother(given, input)) return { type: "deferred" };
  if (answerFits(question.answerType, given.answer)) return { type: "given", ...given };
  const message = givenAnswerInvalid(settings.name, question);
  return { type: "refused", reason: "invalid_static_answer", message };
}

function useConfigured(tool: string, question: Question, answer: Json): Route {
  const key = `conversation.tools.${tool}.questions.${question.id}.answer`;
  if (answerFits(withoutOther(question.answerType), answer)) {
    return { type: "configured", answer, key };
  }
  const message = configuredAnswerInvalid(tool, key);
  return { type: "refused", reason: "invalid_static_answer", message };
}

/** For a question meant for a person in a non-interactive run. */
function routeDetached(input: QuestionRouteInput): Route {
  const { question, settings, escalation } = input;
  const mode = settings.detached.tool;
  // To ask a model again until one says yes would make the first one pointless.
  if (mode === "auto" && escalation !== undefined) return uphold(question, settings, escalation);
  if (mode === "auto") return { type: "model", target: INQUIRY_MODEL };
  const { default: suggested } = question;
  if (mode === "defaults" && isUsable(question, suggested)) {
    return { type: "default", answer: suggested };
  }
  return refuseDetached(input);
}

/** A model can only be upheld in what it may say by itself: no. */
function uphold(
  question: Question,
  { name }: QuestionRouteInput["settings"],
  escalation: InquiryEscalation,
): Route {
  if (escalation.outcome === "answered" && escalation.answeredBy !== undefined) {
    const { answeredBy, answerReason } = escalation;
    return { type: "upheld", answeredBy, ...(answerReason !== undefined && { answerReason }) };
  }
  if (escalation.outcome === "cancelled" && escalation.reason === "timed_out") {
    return { type: "refused", reason: "timed_out", message: timedOut(name) };
  }
  const { problem = "" } = escalation.outcome === "cancelled" ? escalation : {};
  const message = inquiryFailed(name, question, problem);
  return { type: "refused", reason: "backend_error", message, problem };
}

function refuseDetached({ settings, unavailableBecause, whom = {} }: QuestionRouteInput): Route {
  const why = isForSome(whom) ? PERSON_UNAVAILABLE : unavailableBecause;
  const message = noOneToAsk(settings.name, why);
  return { type: "refused", reason: "no_prompt_backend", message };
}
