/**
 * The four kinds of decisions, as data: how each is put as a question, and how a reply becomes an event. A prompt, a
 * command line, the desk and an answer file all use this, so that the record has one form.
 */
import {
  type GrantLimits,
  type InquiryQuestion,
  type InquirySource,
  isOther,
  type Question,
  selectQuestion,
} from "../tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import type {
  CheckCode,
  ConversationEvent,
  Decider,
  DecisionSubject,
  DecisionVote,
  Grant,
  InquiryEscalation,
  InquiryId,
  InquiryOutcome,
  InquiryRequest,
  InquiryResponse,
  PermissionAction,
  PermissionDecision,
  PermissionRequestEvent,
  ToolResult,
  ToolStep,
} from "./event.ts";
import type { Timestamp } from "./timestamp.ts";
import type { ForWhom } from "./whom.ts";

/**
 * Everything that can wait for a person: a question, a permission to run, the delivery of a result, a call that may
 * have run.
 */
export type DecisionKind = "question" | CallDecisionKind;

/** In the order used by lists. */
export const DECISION_KINDS = [
  "question",
  "permission",
  "delivery",
  "in_doubt",
] as const satisfies readonly DecisionKind[];

/** The kinds of deciders that this version knows. */
export const DECIDERS = [
  "user",
  "assistant",
  "config",
  "remembered",
  "policy",
  "default",
  "answers_file",
  "tool",
] as const satisfies readonly Decider["kind"][];

/** A decision about a call itself. */
export type CallDecisionKind = "permission" | "delivery" | "in_doubt";

/** Their names in the record. */
export const ACTIONS = {
  permission: "run",
  delivery: "deliver",
  in_doubt: "rerun",
} as const satisfies Record<CallDecisionKind, PermissionAction>;

/** A reply from any surface: a prompt, a command line, the desk. */
export interface Reply {
  /** True or false for a permission or a delivery; `run`, `skip` or a result for a call in doubt. */
  readonly answer: Json;
  /** The answer holds until the turn ends. */
  readonly isRemembered?: boolean;
  /** A comment on the answer, if the question takes one, or the reason for a no. */
  readonly note?: string;
  /** The note of a no is also the person's next message. Calls of the same reply that have not started are skipped. */
  readonly redirects?: boolean;
  /** For a permission: run the call with these arguments instead. */
  readonly arguments?: JsonObject;
  /** For a delivery: show the model this instead. */
  readonly content?: string;
  /**
   * Only with a yes to a permission or an acting question, with unchanged arguments: what runs without asking from now
   * on.
   */
  readonly grant?: Grant;
}

/** A reply, or a cancellation: a question is cancelled, and anything else denied. */
export type ReplyOrCancel = Reply | { readonly isCancelled: true };

/** The part of a decision that determines its answer event. */
export interface Decidable {
  readonly kind: DecisionKind;
  readonly id: InquiryId;
  readonly tool: string;
  readonly toolCallId: string;
  readonly question: InquiryQuestion;
  /** The digest of the subject. */
  readonly digest: string | undefined;
  /** For a delivery: the pending result. */
  readonly result?: ToolResult | undefined;
}

/** An answer to a question, or a decision about a call. */
export type AnswerEvent = InquiryResponse | PermissionDecision;

/** The options for a call in doubt. Any other text is the result. */
export const RERUN_ANSWERS = { rerun: "run", skip: "skip" } as const;

/** Known facts about a call in doubt: its finished steps, and the result of the tool's own check. */
export interface DoubtDetails {
  readonly steps?: readonly Pick<ToolStep, "name">[] | undefined;
  readonly check?: string | undefined;
}

/** A decision about a call, put as a question. */
export function questionAbout(
  kind: CallDecisionKind,
  tool: string,
  { steps = [], check = "" }: DoubtDetails = {},
): Question {
  const base = { exclusive: true, persistence: "none", acts: kind !== "delivery" } as const;
  if (kind === "in_doubt") {
    const checked = Object.hasOwn(CHECKED, check) ? CHECKED[check] : undefined;
    const details = [...(steps.length > 0 ? [finishedSteps(steps)] : []), ...(checked ?? [])];
    const text = `${tool} was cut off while it was running, and may or may not have finished. What now?`;
    return selectQuestion("rerun", text, {
      options: [
        { value: RERUN_ANSWERS.rerun, description: "run it again" },
        { value: RERUN_ANSWERS.skip, description: "continue without it" },
      ],
      allowsOther: true,
      ...(details.length > 0 && { context: details.join("\n") }),
      ...base,
    });
  }
  const text = kind === "delivery" ? `Show the model the result of ${tool}?` : `Run ${tool}?`;
  return { id: ACTIONS[kind], text, answerType: { type: "boolean" }, ...base };
}

/** Texts by the result of the tool's own check. */
const CHECKED: Readonly<Record<string, readonly [string]>> = {
  not_done: ["The tool's own check says that it was not done."],
  unknown: ["The tool's own check cannot tell."],
  failed: ["The tool's own check failed."],
  timed_out: ["The tool's own check took too long."],
} satisfies Record<Exclude<CheckCode, "done">, readonly [string]>;

/** A name may be any text, so it is quoted. */
function finishedSteps(steps: readonly Pick<ToolStep, "name">[]): string {
  const names = steps.map(({ name }) => JSON.stringify(name));
  return `Finished before, and not run again: ${names.join(", ")}`;
}

/** Only the addressees and terms of a request. */
export function whomOf({
  for: person,
  forAny,
  terms,
  personIds,
}: ForWhom): Pick<DecisionSubject, "for" | "forAny" | "terms" | "personIds"> {
  return {
    ...(person !== undefined && { for: person }),
    ...(forAny !== undefined && { forAny }),
    ...(terms !== undefined && { terms }),
    ...(personIds !== undefined && { personIds }),
  };
}

/** Whether it was voided only because its deadline passed, so that others are asked. */
export function isPassedOn(changed: readonly string[]): boolean {
  return changed.length === 1 && changed[0] === PASSED_ON[0];
}

/** The recorded change in that case. */
export const PASSED_ON: readonly string[] = ["deadline"];

/** Who asks about a call: the assistant wants it to run, and the tool wants its result to be used. */
export function askerAbout(kind: DecisionKind, tool: string): InquirySource {
  return kind === "permission" ? { source: "assistant" } : { source: "tool", name: tool };
}

/** The event that records a reply. */
export function replyToEvent(
  decidable: Decidable,
  reply: ReplyOrCancel,
  { by, at }: { readonly by: Decider; readonly at: Timestamp },
): AnswerEvent {
  const { kind, id, tool, toolCallId, digest } = decidable;
  const digested = digest === undefined ? {} : { digest };
  const redirected = isRedirecting(decidable, reply, by) ? { redirects: true } : {};
  const isKept = by.kind === "user" && "answer" in reply && reply.isRemembered === true;
  const decidedBy: Decider = isKept ? { ...by, scope: "turn" } : by;
  const granted = isGranting(decidable, reply, by) ? { grant: reply.grant } : {};
  if (kind === "question") {
    const outcome = toOutcome(decidable, reply, decidedBy);
    const marks = { ...digested, ...redirected, ...granted };
    return { type: "inquiry_response", timestamp: at, id, ...marks, ...outcome };
  }
  const about = { id, toolCallId, tool, action: ACTIONS[kind], decidedBy };
  const decision = toDecision(kind, decidable, reply);
  return {
    type: "permission_decision",
    timestamp: at,
    ...about,
    ...decision,
    ...redirected,
    ...granted,
    ...digested,
  };
}

/** Only a person's yes, to exactly what was asked, can be widened. */
function isGranting(
  { kind, question }: Decidable,
  reply: ReplyOrCancel,
  by: Decider,
): reply is Reply & { readonly grant: Grant } {
  if ("isCancelled" in reply || by.kind !== "user" || reply.grant === undefined) return false;
  const acts = question.exclusive || question.acts === true;
  const isAsked = kind === "permission" || (kind === "question" && acts);
  const isYes = question.answerType.type === "boolean" && reply.answer === true;
  return isAsked && isYes && reply.arguments === undefined;
}

/** The calls that a granted rule covers, as data for display. */
export interface GrantScope {
  /**
   * `exact_call`: this one. `files`: those in `parts`. `folder`: the files in it. `command`: this line.
   * `command_prefix`: command lines that begin with these words. `host`: its pages. `rule`: a rule that the person
   * wrote.
   */
  readonly code: "exact_call" | "files" | "folder" | "command" | "command_prefix" | "host" | "rule";
  /** Verbatim, as in the rule. */
  readonly parts: readonly string[];
  /** The limits of these calls. Absent for a rule saved by an older version, and for one that asks. */
  readonly limits?: GrantLimits;
}

/** The grant that a person added to a yes, if this version can read it. */
export function grantOf(event: AnswerEvent): Grant | undefined {
  const { grant } = event;
  return grant === undefined || "unknown" in grant || deciderOf(event)?.kind !== "user"
    ? undefined
    : grant;
}

/** Only a person's no can carry a message. */
function isRedirecting({ question }: Decidable, reply: ReplyOrCancel, by: Decider): boolean {
  if ("isCancelled" in reply || by.kind !== "user" || reply.redirects !== true) return false;
  const isDenying = question.answerType.type === "boolean" && reply.answer === false;
  return isDenying && (reply.note ?? "").trim() !== "";
}

/** The message that a person gave instead of a yes. */
export function redirectionOf(event: AnswerEvent): string | undefined {
  if (event.redirects !== true) return undefined;
  if (event.type === "permission_decision") return event.reason;
  return event.outcome === "answered" ? event.note : undefined;
}

/** The record never has a secret, only that it was given. */
function toOutcome(
  { question }: Decidable,
  reply: ReplyOrCancel,
  answeredBy: Decider,
): InquiryOutcome {
  if ("isCancelled" in reply) return { outcome: "cancelled", reason: "user" };
  const { answerType } = question;
  if (answerType.type === "secret") return { outcome: "redacted", answeredBy };
  const { answer, note = "" } = reply;
  const isOwn = answerType.type === "select" && isOther(answerType, answer);
  return {
    outcome: "answered",
    answer,
    ...(note !== "" && { note }),
    ...(isOwn && { isOther: true }),
    answeredBy,
  };
}

type Decided = Pick<PermissionDecision, "decision" | "reason" | "cause" | "arguments" | "result">;

function toDecision(kind: CallDecisionKind, { result }: Decidable, reply: ReplyOrCancel): Decided {
  if ("isCancelled" in reply) return { decision: "denied", cause: "closed" };
  const { answer, note = "", content, arguments: edited } = reply;
  if (kind === "in_doubt") {
    const said = typeof answer === "string" ? answer : JSON.stringify(answer);
    return { ...rerunDecision(said), ...(note !== "" && { reason: note }) };
  }
  const reason = note === "" ? {} : { reason: note };
  if (answer !== true) return { decision: "denied", ...reason };
  if (edited !== undefined) return { decision: "edited", ...reason, arguments: edited };
  const isEdited = content !== undefined && content !== result?.content;
  if (!isEdited) return { decision: "approved", ...reason };
  return { decision: "edited", ...reason, result: { isError: result?.isError ?? false, content } };
}

/** The decision in an answer about a call in doubt. */
function rerunDecision(answer: string): Decided {
  if (answer === RERUN_ANSWERS.rerun) return { decision: "approved" };
  if (answer === RERUN_ANSWERS.skip) return { decision: "denied" };
  return { decision: "edited", result: { content: answer, isError: false } };
}

/** Whether a yes to the question makes the tool do something. A question of the assistant itself never does. */
export function isActing({
  question,
  source,
}: Pick<InquiryRequest, "question" | "source">): boolean {
  return question.acts === true || (question.exclusive && source.source !== "assistant");
}

/** Whether someone is asked. */
export function isDecisionRequest(
  event: ConversationEvent,
): event is InquiryRequest | PermissionRequestEvent {
  return event.type === "inquiry_request" || event.type === "permission_request";
}

/** Whether it is a no. */
export function isNo(event: AnswerEvent | DecisionVote): boolean {
  if (event.type === "decision_vote") return event.decision === "denied" || event.answer === false;
  if (event.type === "permission_decision") return event.decision === "denied";
  return event.outcome === "cancelled" || (event.outcome === "answered" && event.answer === false);
}

/** How it ended: the outcome of a question, or the decision about a call. */
export function outcomeOf(event: AnswerEvent) {
  return event.type === "inquiry_response" ? event.outcome : event.decision;
}

/** Undefined if there is no decider, as for a cancelled question. */
export function deciderOf(event: AnswerEvent | InquiryEscalation): Decider | undefined {
  if (event.type === "permission_decision") return event.decidedBy;
  return event.outcome === "cancelled" ? undefined : event.answeredBy;
}
