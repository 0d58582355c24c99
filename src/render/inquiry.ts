/** Inquiries in words and as JSON. Secrets are redacted in the record, so none can be shown here. */
import {
  type CallProgress,
  cancellationTag,
  type ConversationEvent,
  type ConversationId,
  deadlineOf,
  deciderOf,
  deciderToJson,
  type Decider,
  type DecisionVoid,
  describeDecider,
  type InquiryEscalation,
  type InquiryOutcome,
  inquiryQuestionToJson,
  isAnswer,
  isOverdue,
  type LoggedInquiry,
  type PendingItem,
  pendingOf,
  type PermissionDecision,
  type TurnProgress,
} from "../conversation/index.ts";
import type { InquiryQuestion, InquirySource, SelectOption } from "../tool/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { assertNever } from "../util/index.ts";
import { jsonLine, oneLine, valueLine } from "./neutralize.ts";

/** An option as it is shown. */
export interface ShownOption {
  readonly label: string;
  readonly description?: string;
  /** As it was given: not neutralized. */
  readonly preview?: string;
  /** The value, as someone would type it. */
  readonly typed?: string;
}

/**
 * Titles stand for values. Options that look the same are told apart by their values. `show` draws a text on one line:
 * `verbatim` where the answer acts.
 */
export function describeOptions(
  options: readonly SelectOption[],
  show: (text: string) => string = oneLine,
): readonly ShownOption[] {
  const labels = options.map((option) => optionLabel(option, show));
  return options.map(({ value, title, description, preview }, index) => {
    const label = labels[index] ?? "";
    const isUnique = labels.indexOf(label) === labels.lastIndexOf(label);
    return {
      label: isUnique || title === undefined ? label : `${label} (${optionLabel({ value }, show)})`,
      ...(description !== undefined && description !== title && { description: show(description) }),
      ...(preview !== undefined && { preview }),
      ...(typeof value === "string" && value !== label && { typed: value }),
    };
  });
}

/** What an option is called. */
export function optionLabel(
  { value, title }: SelectOption,
  show: (text: string) => string = oneLine,
): string {
  return show(title ?? (typeof value === "string" ? value : jsonLine(value)));
}

/** An inquiry in its conversation: one line of `jp inquiry ls`. */
export interface InquiryRow extends LoggedInquiry {
  readonly conversation: ConversationId;
}

/** The outcome, or `unanswered` if the record has none. */
export type InquiryState = InquiryOutcome["outcome"] | "unanswered";

/** How an inquiry ended, or `unanswered`. */
export function inquiryState({ response }: LoggedInquiry): InquiryState {
  return response?.outcome ?? "unanswered";
}

/** Which inquiries are wanted: all, unless said otherwise. */
export interface InquiryFilter {
  readonly outcome?: readonly string[] | undefined;
  /** Kinds of deciders, such as `user`. */
  readonly by?: readonly string[] | undefined;
}

/** Whether an inquiry is wanted. */
export function matchesInquiryFilter(inquiry: LoggedInquiry, filter: InquiryFilter): boolean {
  const { outcome, by } = filter;
  if (outcome !== undefined && !outcome.includes(inquiryState(inquiry))) return false;
  if (by === undefined) return true;
  const decider = inquiry.response && deciderOf(inquiry.response);
  return decider !== undefined && by.includes(decider.kind);
}

/** How it ended, or that it is open. One that is overdue will be settled when its turn is continued. */
export function describeEnd(inquiry: LoggedInquiry, now: Date): string {
  if (inquiry.response !== undefined) return describeAnswer(inquiry.response);
  return isOverdue(inquiry, now) ? "unanswered, overdue" : "unanswered";
}

/** As RFD 082 prescribes: `Answer: …`, `Answer: <redacted>` or `Cancelled (<tag>)`. */
export function describeOutcome(outcome: InquiryOutcome): string {
  switch (outcome.outcome) {
    case "answered":
      return `Answer: ${valueLine(outcome.answer)}${answerDetails(outcome)}`;
    case "redacted":
      return "Answer: <redacted>";
    case "cancelled":
      return `Cancelled (${cancellationTag(outcome.reason)})`;
    default:
      return assertNever(outcome);
  }
}

type Answered = Extract<InquiryOutcome, { readonly outcome: "answered" }>;

function answerDetails({ isOther = false, note, answerReason }: Answered): string {
  return [
    isOther ? " (custom answer)" : "",
    note === undefined ? "" : `, note: ${jsonLine(note)}`,
    answerReason === undefined ? "" : `, reason: ${jsonLine(answerReason)}`,
  ].join("");
}

/** For people: `yes (you, via terminal)`, `"next" (assistant, via ollama/qwen3)`, `cancelled (timeout)`. */
export function describeAnswer(outcome: InquiryOutcome): string {
  const { answer, by } = answerParts(outcome);
  return answer + by;
}

/** What a model made of a question that was then left to a person. */
export function describeEscalation(escalation: InquiryEscalation): string {
  const problem = escalation.outcome === "cancelled" ? escalation.problem : undefined;
  return describeAnswer(escalation) + (problem === undefined ? "" : `: ${jsonLine(problem)}`);
}

/** The answer, and who gave it in parentheses, if that is known. */
export function answerParts(outcome: InquiryOutcome) {
  if (outcome.outcome === "cancelled") {
    return { answer: `cancelled (${cancellationTag(outcome.reason)})`, by: "" };
  }
  const by = outcome.answeredBy === undefined ? "" : ` (${describeAnswerer(outcome.answeredBy)})`;
  if (outcome.outcome === "redacted") return { answer: "<redacted>", by };
  const value =
    typeof outcome.answer === "boolean" ? yesOrNo(outcome.answer) : valueLine(outcome.answer);
  return { answer: value + answerDetails(outcome), by };
}

function yesOrNo(answer: boolean): string {
  return answer ? "yes" : "no";
}

function describeAnswerer(decider: Decider): string {
  switch (decider.kind) {
    case "user":
      return `${decider.name === undefined ? "you" : `user ${decider.name}`}, via ${decider.channel}`;
    case "assistant":
      return `assistant, via ${decider.model}`;
    case "remembered":
      return "you said so earlier in this turn";
    case "config":
    case "policy":
      return `${decider.kind}: ${decider.key}`;
    case "answers_file":
      return `answers file: ${decider.entry}`;
    default:
      return describeDecider(decider);
  }
}

/** Who asked: the name of the tool, `assistant` or `user`. */
export function describeSource(source: InquirySource): string {
  return "name" in source ? source.name : source.source;
}

const CHANGED: Readonly<Record<string, string>> = {
  arguments: "its arguments",
  binding: "what it is about",
  call: "the call",
  definition: "the server's description of the tool",
  file: "a file that its command names",
  folder: "the folder it runs in",
  program: "the program it runs",
  question: "the question",
  result: "the result",
  source: "where the tool comes from",
};

/** What has changed since a decision, in words: "its arguments and a file that its command names". */
export function describeChanged(changed: readonly string[]): string {
  const words = changed.map((part) => (Object.hasOwn(CHANGED, part) ? CHANGED[part] : undefined));
  const known = words.filter((word) => word !== undefined);
  // Of an older or newer version, which has recorded no parts that are known here.
  if (known.length === 0) return "what was recorded with it";
  const last = known.at(-1) ?? "";
  return known.length === 1 ? last : `${known.slice(0, -1).join(", ")} and ${last}`;
}

/** One line: `Void: its arguments changed (call_1:run:1)`. */
export function describeVoid({ id, changed }: Omit<DecisionVoid, "timestamp">): string {
  return `Void: ${describeChanged(changed)} changed (${id})`;
}

/** The arguments a call ran with, and who edited them: `{"where":"test"} (edited by user (terminal))`. */
export function describeEdited({ arguments: ran, decidedBy }: PermissionDecision): string {
  return `${jsonLine(ran ?? {})} (edited by ${oneLine(describeDecider(decidedBy))})`;
}

/** One object per inquiry, with the keys of the record; unknown fields are omitted. */
export function inquiryToJson(row: InquiryRow): JsonObject {
  const { conversation, turn, request, response, escalation } = row;
  const deadline = deadlineOf(row);
  return {
    conversation,
    turn: turn + 1,
    id: request.id,
    ...(request.toolCallId !== undefined && { tool_call_id: request.toolCallId }),
    ...(request.questionId !== undefined && { question_id: request.questionId }),
    ...(row.edited?.arguments !== undefined && { edited_arguments: row.edited.arguments }),
    source: { ...request.source },
    question: inquiryQuestionToJson(request.question),
    ...(deadline !== undefined && { deadline }),
    ...(request.for !== undefined && { for: request.for }),
    ...(escalation !== undefined && { escalation: escalationToJson(escalation) }),
    outcome: inquiryState(row),
    ...(response !== undefined && outcomeToJson(response)),
    asked_at: request.timestamp,
    ...(response !== undefined && { answered_at: response.timestamp }),
  };
}

function escalationToJson(escalation: InquiryEscalation): JsonObject {
  return { outcome: escalation.outcome, ...outcomeToJson(escalation) };
}

function outcomeToJson(outcome: InquiryOutcome): Record<string, Json> {
  if (outcome.outcome === "cancelled") {
    const { reason, problem } = outcome;
    return { reason: cancellationTag(reason), ...(problem !== undefined && { problem }) };
  }
  const { answeredBy } = outcome;
  return {
    ...(outcome.outcome === "answered" && {
      answer: outcome.answer,
      ...(outcome.isOther === true && { other: true }),
      ...(outcome.note !== undefined && { note: outcome.note }),
      ...(outcome.answerReason !== undefined && { answer_reason: outcome.answerReason }),
    }),
    ...(answeredBy !== undefined && { answered_by: deciderToJson(answeredBy) }),
  };
}

/** Something that waits for a person, and where. */
export interface PendingRow extends PendingItem {
  readonly workspace: string;
  readonly conversation: ConversationId;
  readonly question: InquiryQuestion;
  readonly arguments?: JsonObject;
}

/** One object for each thing that waits: one line of `jp inquiry ls --pending`. */
export function pendingToJson(row: PendingRow) {
  const { workspace, conversation, id, kind, tool, question, askedAt, deadline, for: person } = row;
  return {
    workspace,
    conversation,
    id,
    kind,
    tool,
    ...inquiryQuestionToJson(question),
    text: question.text,
    asked_at: askedAt,
    ...(deadline !== undefined && { deadline }),
    ...(person !== undefined && { for: person }),
    ...(row.arguments !== undefined && { arguments: row.arguments }),
  };
}

/** One line about something that waits for a person: `fs_delete_file asks "Delete it?"`. */
export function describePending({ kind, tool, request, for: person }: PendingItem): string {
  const name = oneLine(tool);
  const whom = person === undefined ? "asks" : `asks ${oneLine(person)}`;
  switch (kind) {
    case "question":
      return request?.type === "inquiry_request"
        ? `${name} ${whom} ${JSON.stringify(oneLine(request.question.text))}`
        : `${name} ${whom}`;
    case "permission":
      return `${name} needs permission to run`;
    case "delivery":
      return `${name} needs permission to show its result to the model`;
    case "in_doubt":
      return `${name} may or may not have finished: jp stopped while it was running`;
    default:
      return assertNever(kind);
  }
}

const DECIDED = { run: "", rerun: "to run again: ", deliver: "its result: " } as const;

/** What the record says about open calls: their arguments, and what was decided and answered. */
export function describeCalls(calls: readonly CallProgress[]): readonly string[] {
  return calls.flatMap(({ request, permissions, questions }) => {
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
    const call = `${oneLine(request.name)} ${jsonLine(args)}`;
    return [[call, ...decided].join(", "), ...answered];
  });
}

function describeDecision({ decision, decidedBy }: PermissionDecision): string {
  return oneLine(`${decision} by ${describeDecider(decidedBy)}`);
}

/** What the record says a person has decided and answered for all of the turn: it counts for calls to come. */
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

/** What an incomplete turn is missing: a line for each open call, or one for a reply. */
export function describeIncomplete(progress: TurnProgress): readonly string[] {
  const { calls, hasCalls, next } = progress;
  if (next === "check") return ["the answer has not been checked against the schema"];
  if (calls.length === 0) {
    return [hasCalls ? "the model has not seen the results" : "the model has not replied"];
  }
  const pending = pendingOf(progress);
  return calls.map(({ request }) => {
    const item = pending.find(({ toolCallId }) => toolCallId === request.id);
    return item === undefined ? `${oneLine(request.name)} has not run` : describePending(item);
  });
}
