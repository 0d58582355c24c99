/** Lists of decisions as lines: recorded and pending ones. */
import {
  argumentsOf,
  type CallProgress,
  type ConversationEvent,
  type ConversationId,
  deciderOf,
  describeWhom,
  describeDecider,
  isActing,
  isAnswer,
  isForSome,
  type LoggedInquiry,
  outcomeOf,
  type PendingItem,
  pendingOf,
  type PermissionDecision,
  timestampToMilliseconds,
  type TurnProgress,
} from "../../record/conversation/index.ts";
import type { InquiryQuestion, InquirySource, ToolOrigin } from "../../record/tool/index.ts";
import { assertNever, jsonLine, type JsonObject, oneLine } from "../../util/index.ts";
import { argumentLines, callText } from "./call-lines.ts";
import { findFileChange } from "./file-change.ts";
import {
  decisionWord,
  describeAnswer,
  describeAskedAgain,
  describeDecided,
  describeOptions,
  describeVoidCause,
} from "./inquiry.ts";
import { sourceLines } from "./origin.ts";
import { unsaidArguments } from "./unsaid-arguments.ts";

/** A decision in its conversation: one line of `jp inquiry ls`. */
export interface InquiryRow extends LoggedInquiry {
  readonly conversation: ConversationId;
  /** The conversation's title, if any. */
  readonly title?: string | undefined;
}

/**
 * The outcome of a question, the decision on a call, or why there is neither: it is pending, or it ended without an
 * answer. A void decision was made or pending, and no longer counts.
 */
export const INQUIRY_STATES = [
  "answered",
  "redacted",
  "cancelled",
  "approved",
  "denied",
  "edited",
  "pending",
  "unanswered",
  "void",
] as const;

export type InquiryState = (typeof INQUIRY_STATES)[number];

/** The outcome, or that it is pending. */
export function inquiryState({ response, madeVoid, isPending }: LoggedInquiry): InquiryState {
  if (madeVoid !== undefined) return "void";
  if (response === undefined) return isPending === true ? "pending" : "unanswered";
  return outcomeOf(response);
}

/** Filters decisions. By default all match, except for calls that the config approved without asking. */
export interface InquiryFilter {
  /**
   * States. `answered` also matches calls that someone approved, denied or edited, and `cancelled` those denied without
   * a person's no.
   */
  readonly outcome?: readonly string[] | undefined;
  /** Kinds of deciders, such as `user`. `policy` includes calls that the config approved without asking. */
  readonly by?: readonly string[] | undefined;
  /** Kinds of decisions, such as `permission`. */
  readonly kind?: readonly string[] | undefined;
}

export function matchesInquiryFilter(inquiry: LoggedInquiry, filter: InquiryFilter): boolean {
  const { outcome, by, kind } = filter;
  const { request, response } = inquiry;
  if (kind !== undefined && !kind.includes(inquiry.kind)) return false;
  if (outcome !== undefined && !statesOf(inquiry).some((state) => outcome.includes(state))) {
    return false;
  }
  const decider = response && deciderOf(response);
  if (by !== undefined) return decider !== undefined && by.includes(decider.kind);
  // Every call of an unattended tool has one of these, although no one was asked.
  const isUnasked = request === undefined && decider?.kind === "policy";
  return !isUnasked || inquiryState(inquiry) !== "approved";
}

function statesOf(inquiry: LoggedInquiry): readonly InquiryState[] {
  const { response } = inquiry;
  const state = inquiryState(inquiry);
  if (response?.type !== "permission_decision" || state === "void") return [state];
  return [state, response.cause === undefined ? "answered" : "cancelled"];
}

/** The outcome, or that it is pending. An overdue decision is settled when its turn resumes. */
export function describeEnd(inquiry: LoggedInquiry, now: Date): string {
  const { response, madeVoid, deadline, isPending } = inquiry;
  const isLate = deadline !== undefined && timestampToMilliseconds(deadline) <= now.getTime();
  const end =
    response === undefined
      ? isPending === true
        ? `pending${isLate ? ", overdue" : ""}`
        : "unanswered"
      : response.type === "inquiry_response"
        ? describeAnswer(response)
        : describeDecided(response);
  if (madeVoid === undefined) return end;
  const decided = response === undefined ? "" : `${end}, `;
  return `${decided}void: ${describeVoidCause(madeVoid.changed)}`;
}

/** The subject of a decision, for the person who decides. */
interface Subject {
  readonly source?: InquirySource | undefined;
  readonly origin?: ToolOrigin | undefined;
  readonly folder?: string | undefined;
  readonly arguments?: JsonObject | undefined;
  /** The parts that have changed since the previous decision. */
  readonly changed?: readonly string[] | undefined;
}

/** One line about a pending decision: `fs_delete_file asks "Delete it?"`. */
export function describePending(item: PendingItem): string {
  const { kind, tool, request } = item;
  const asked = request?.type === "inquiry_request" ? request : undefined;
  const name = asked?.source.source === "assistant" ? "The assistant" : oneLine(tool);
  const isNamed = isForSome(item);
  const whom = isNamed ? `asks ${oneLine(describeWhom(item))}` : "asks";
  const of = isNamed ? ` of ${oneLine(describeWhom(item))}` : "";
  switch (kind) {
    case "question":
      return asked === undefined
        ? `${name} ${whom}`
        : `${name} ${whom} ${JSON.stringify(oneLine(asked.question.text))}`;
    case "permission":
      return `${name} needs permission${of} to run`;
    case "delivery":
      return `${name} needs permission${of} to show its result to the model`;
    case "in_doubt": {
      const decider = isNamed ? `; ${oneLine(describeWhom(item))} decides` : "";
      return `${name} may or may not have finished: jp stopped while it was running${decider}`;
    }
    default:
      return assertNever(kind);
  }
}

/** The subject of a decision and its request. */
interface DescribedSubject extends Subject {
  readonly tool?: string | undefined;
  readonly request?: PendingItem["request"];
}

/**
 * Describes a decision's subject, in lines below `describePending`: the call with all its arguments, its tool's source,
 * its folder, and the changes. Nothing is shortened. What the question shows is left out: file changes are only listed
 * by heading, because the diff is the question's context.
 */
export function describeSubject(described: DescribedSubject): readonly string[] {
  const { tool, origin, folder, changed, request, arguments: args = {} } = described;
  const call = { name: tool ?? "", arguments: args };
  const asked = request?.type === "inquiry_request" ? request : undefined;
  const change = asked && findFileChange(call, asked);
  const unsaid = asked
    ? unsaidArguments({ ...asked, ...call, tool: call.name, acts: isActing(asked) })
    : args;
  const isShown = tool !== undefined && Object.keys(unsaid).length > 0;
  return [
    ...(change?.files ?? []).map(({ heading }) => `• ${heading}`),
    ...argumentLines(change?.others ?? []),
    ...(change === undefined && isShown ? callText(call).split("\n") : []),
    ...(asked?.source.source === "assistant" ? [] : sourceLines(origin, folder)),
    ...(changed === undefined ? [] : [describeAskedAgain(changed, "since it was decided")]),
  ];
}

/** `describePending`, followed by the indented subject. `calls` are the turn's calls. */
export function describeWaiting(
  item: PendingItem,
  calls: readonly CallProgress[],
): readonly string[] {
  const call = calls.find(({ request }) => request.id === item.toolCallId);
  const { tool, changed, request } = item;
  const { origin, folder } = request ?? {};
  const args = call && argumentsOf(call);
  const subject = { tool, arguments: args, origin, folder, changed, request };
  const choices = request?.type === "inquiry_request" ? describeChoices(request.question) : [];
  const below = [...describeSubject(subject), ...choices];
  return [describePending(item), ...below.map((line) => `    ${line}`)];
}

/** The options of a question, one per line. */
export function describeChoices({ answerType }: InquiryQuestion): readonly string[] {
  if (answerType.type !== "select") return [];
  return describeOptions(answerType.options).map(({ label, description }) =>
    description === undefined ? `- ${label}` : `- ${label}: ${description}`,
  );
}

const DECIDED = { run: "", rerun: "to run again: ", deliver: "its result: " } as const;

/** Describes open calls on record: their arguments, decisions and answers. */
export function describeCalls(calls: readonly CallProgress[]): readonly string[] {
  return calls.flatMap(({ request, permissions, questions, steps }) => {
    const args = permissions.run?.decision?.arguments ?? request.arguments;
    const decided = (["run", "rerun", "deliver"] as const).flatMap((action) => {
      const decision = permissions[action]?.decision;
      return decision === undefined ? [] : [DECIDED[action] + describeDecision(decision)];
    });
    const answered = questions.flatMap(({ request: { question }, response }) =>
      response === undefined
        ? []
        : [`  ${JSON.stringify(oneLine(question.text))}: ${oneLine(describeAnswer(response))}`],
    );
    const finished = steps.map(
      ({ name, result = null }) => `  finished ${jsonLine(name)}: ${jsonLine(result)}`,
    );
    const call = `${oneLine(request.name)} ${jsonLine(args)}`;
    return [[call, ...decided].join(", "), ...answered, ...finished];
  });
}

function describeDecision(event: PermissionDecision): string {
  return oneLine(`${decisionWord(event)} by ${describeDecider(event.decidedBy)}`);
}

/** Describes recorded decisions and answers that a person gave for the whole turn: they apply to later calls. */
export function describeRemembered(turn: readonly ConversationEvent[]): readonly string[] {
  const texts = new Map<string, string>();
  return turn.flatMap((event) => {
    if (event.type === "inquiry_request") texts.set(event.id, event.question.text);
    if (!isAnswer(event)) return [];
    const by = deciderOf(event);
    if (by?.kind !== "user" || by.scope !== "turn") return [];
    const line =
      event.type === "permission_decision"
        ? `every call of ${oneLine(event.tool)}, ${describeDecision(event)}`
        : `every time, ${jsonLine(texts.get(event.id) ?? event.id)}: ${oneLine(describeAnswer(event))}`;
    return [line];
  });
}

/** Describes what an incomplete turn lacks: lines for each open call, or one for a reply. */
export function describeIncomplete(progress: TurnProgress): readonly string[] {
  const { calls, hasCalls, next } = progress;
  if (next === "check") return ["the answer has not been checked against the schema"];
  if (calls.length === 0) {
    return [hasCalls ? "the model has not seen the results" : "the model has not replied"];
  }
  const pending = pendingOf(progress);
  return calls.flatMap(({ request, isRerunUnasked }) => {
    const item = pending.find(({ toolCallId }) => toolCallId === request.id);
    if (item !== undefined) return describeWaiting(item, calls);
    const name = oneLine(request.name);
    return [isRerunUnasked ? `${name} was cut off, and will run again` : `${name} has not run`];
  });
}
