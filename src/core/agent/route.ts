/**
 * Routes a decision: picks who or what makes it. One pure function (`decideRoute`) serves all four kinds. The caller
 * records the request before, and checks and records the answer after.
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

/** Everything that determines the route of a decision. */
export type RouteInput = QuestionRouteInput | CallRouteInput;

interface AnyRouteInput {
  /** Fetches an answer that was given before the turn. Called only if no remembered answer applies. */
  readonly takeGiven?: (() => Given) | undefined;
  /** Only answers given before the turn can replace a person's. */
  readonly isGivenOnly?: boolean | undefined;
  /** Whether a person can be asked. If one is named, that person. */
  readonly canAsk: boolean;
  /** The deadline has passed. */
  readonly isOverdue?: boolean | undefined;
  /** After the deadline, someone else is asked. */
  readonly hasNext?: boolean | undefined;
  /** A person decided before, so neither a model nor a default nor a detached policy may. */
  readonly isForPerson?: boolean | undefined;
  /** Who may decide. `askedAt` is absent before it is recorded. */
  readonly whom?: (ForWhom & { readonly askedAt?: Timestamp | undefined }) | undefined;
  /** Undefined if this process has no directory. */
  readonly people?: KnownPeople | undefined;
}

export interface QuestionRouteInput extends AnyRouteInput {
  /** With the configured `exclusive` applied. */
  readonly question: Question;
  /** A prompt for a model: no person is asked, and the `detached` settings do not apply. */
  readonly isModelPrompt?: boolean;
  /** How many times in a row this question was answered without a person, in this call. */
  readonly automaticAnswers?: number;
  /** Settings of the tool that asks. */
  readonly settings: Pick<ToolSettings, "name" | "questions" | "detached">;
  /** A person's earlier answer for the whole turn. */
  readonly remembered: RememberedAnswer | undefined;
  /** Why no one can be asked, for the model. */
  readonly unavailableBecause?: string | undefined;
  /** Set if a model was asked, and passed the question to a person. */
  readonly escalation?: InquiryEscalation | undefined;
  /** The verdict of rules and mode on the call. */
  readonly verdict?: Verdict | undefined;
  /** The rung of the escalation ladder, counted from 0. */
  readonly rung?: number | undefined;
}

/** For a decision about a call itself. */
export type CallRouteInput = AnyRouteInput &
  (
    | {
        readonly kind: "permission" | "in_doubt";
        readonly settings: Pick<ToolSettings, "name" | "detached" | "deniesWaiting">;
        readonly verdict: Verdict;
        /** A person's decision for the whole turn. */
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
      /** The config key, below `conversation.tools.<name>`. */
      readonly key: PolicyKey;
      /** Set if it is denied. */
      readonly cause?: DenialCause;
    }
  | { readonly type: "configured"; readonly answer: Json; readonly key: string }
  /** A rule or mode that lets the call run also answers its question. */
  | { readonly type: "ruled"; readonly answer: Json }
  | { readonly type: "default"; readonly answer: Json }
  | { readonly type: "person" }
  /** A person is asked later. */
  | { readonly type: "deferred" }
  /** If it `escalates`, a person is asked when the model cannot answer or says no. */
  | { readonly type: "model"; readonly target: AssistantTarget; readonly escalates?: boolean }
  /** No one decided in time, so others are asked. */
  | { readonly type: "passed_on" }
  /** The model took too long, so a person is asked. */
  | { readonly type: "escalated" }
  /** The model's no stands: there is no person to ask. */
  | {
      readonly type: "upheld";
      readonly answeredBy: Decider;
      readonly answerReason?: string;
    }
  /** Answered through another process. */
  | { readonly type: "elsewhere" }
  | {
      readonly type: "refused";
      readonly reason: KnownCancellationReason;
      /** For the model, as the result of the call. */
      readonly message: string;
      /** A description, if the reason alone does not explain it. */
      readonly problem?: string;
    };

export type PolicyKey = "run" | "result" | "detached.run" | "detached.deliver";

/** Stops a tool that ignores its answer and keeps asking. */
const MAX_AUTOMATIC_ANSWERS = 3;

/** The assistant that the config sets for all inquiries. */
const INQUIRY_MODEL: AssistantTarget = { type: "assistant", assistant: {} };

/** Who decides, and the progress so far. */
export interface SoFar {
  /** The digest of the decision's subject. */
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
  /** The votes so far, if it takes several people. */
  readonly votes?: readonly DecisionVote[] | undefined;
  /** The prompter found that it cannot reach anyone. */
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
  // Where terms apply, answers for the whole turn do not count.
  const remembered = whom.terms === undefined ? kept : undefined;
  const common = {
    takeGiven:
      answers === undefined
        ? undefined
        : () => countedOnly(whom, answers.find(toGive(asked, digest))),
    isGivenOnly: answers?.isComplete,
    // The prompter is not consulted if config settles the decision.
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
  // A mode that requires editing asks each time.
  const isReused =
    kind === "permission" && verdict.mode === "ask" && verdict.isAskedEachTime !== true;
  const reused = isReused ? remembered : undefined;
  const isForPerson = common.isForPerson === true || verdict.needsPerson === true;
  return decideRoute({ ...common, kind, settings, verdict, remembered: reused, isForPerson });
}

/** Where terms apply, only a person's answer counts, not one from a file. */
function countedOnly(whom: ForWhom, given: Given): Given {
  if (whom.terms === undefined || given === "later") return given;
  return given?.decidedBy.kind === "user" ? given : undefined;
}

function isSettled(asked: Asked): boolean {
  if (asked.kind === "question") return false;
  return settledByPolicy(asked.kind, asked.verdict) !== undefined;
}

/** The decision as an `AnswerSource` sees it. */
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

/** Applies the config, which has the last word on who may answer. A question that makes the tool act still does. */
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

/** A policy decides if config leaves nothing to ask, or if there is no one to ask. */
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
  // No policy decides in place of the people it is assigned to.
  const isDenied = input.kind === "delivery" ? ifDetached === "deny" : deniesWaiting === true;
  if (ifDetached === "defer" || (isForSome(whom) && !isDenied)) return { type: "deferred" };
  const policy = input.kind === "delivery" ? "detached.deliver" : "detached.run";
  // Only `auto` lets a call run. Only a person may decide again, or let a call run that may have run already.
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

/** Whether the person who answered for the whole turn may decide this too. */
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
  // A model prompt is new every time, so a repeated one does not mean that the tool is stuck.
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
  // Where terms apply, only a person's answer counts.
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
  // No model and no default answers in place of the people it is assigned to.
  if (mode === "defer" || (isNamed && mode !== "deny")) return { type: "deferred" };
  return requiresPerson ? refuseDetached(input) : routeDetached(input);
}

/** The model, if everyone that config names before it has timed out. */
function findLast(
  { rung = 0 }: Pick<QuestionRouteInput, "rung">,
  wanted: QuestionTarget | undefined,
): QuestionTarget | undefined {
  if (wanted?.type !== "user" || wanted.lastly === undefined) return undefined;
  const isLast = rung > 0 && rung === 1 + (wanted.next?.length ?? 0);
  return isLast ? { type: "assistant", assistant: wanted.lastly } : undefined;
}

/** The record determines who answers a question, even if config has changed. */
function targetFor(
  { whom = {}, isForPerson = false }: Pick<QuestionRouteInput, "whom" | "isForPerson">,
  wanted: QuestionTarget = { type: "user" },
): QuestionTarget {
  // A person answered a question meant for a model, so a person is asked again.
  const target: QuestionTarget = isForPerson && !isUser(wanted) ? { type: "user" } : wanted;
  return !isForSome(whom) || isSameWhom(whomOfTarget(target), whom) ? target : { type: "user" };
}

/** Only for questions that jp's own tools ask before changing a file, and only if no particular person has to answer. */
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

/** No response is not an answer. Only config can provide one instead. */
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

/** How it ends. Undefined if a person is asked because the model timed out. */
export function settleOverdue(overdue: Overdue): OverdueOutcome | undefined {
  const { question, settings, escalation, isModelPrompt = false, isForPerson = false } = overdue;
  const { onTimeout = "deny", target } = settings?.questions.get(question.id) ?? {};
  const { default: suggested, answerType } = question;
  const isForModel = target?.type === "assistant" && escalation === undefined && !isModelPrompt;
  if (onTimeout === "escalate" && isForModel && !isForPerson) return undefined;
  // Where terms apply, only a person's answer counts.
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

/** A person gave it, so it may be free text if the question allows that. */
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
  // Asking models until one says yes would make the first no pointless.
  if (mode === "auto" && escalation !== undefined) return uphold(question, settings, escalation);
  if (mode === "auto") return { type: "model", target: INQUIRY_MODEL };
  const { default: suggested } = question;
  if (mode === "defaults" && isUsable(question, suggested)) {
    return { type: "default", answer: suggested };
  }
  return refuseDetached(input);
}

/** Only a model's no can be upheld: a yes is not the model's to give. */
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
