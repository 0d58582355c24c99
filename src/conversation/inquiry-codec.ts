/**
 * How questions and their ends are written in the record (RFD 005, 082, 083). Old records are read
 * as they are; what we write is always the newest form. The Rust original reads it too: when it saves
 * a conversation it keeps the fields it knows and all `metadata`, so what must survive is in both.
 */
import {
  type AnswerType,
  type InquiryQuestion,
  type InquirySource,
  optionToJson,
  parseInquiryQuestion,
  reusePolicyToJson,
  selectToJson,
} from "../tool/index.ts";
import {
  type JsonObject,
  objectField,
  oneOf,
  optionalString,
  type Shape,
  ShapeError,
  stringField,
} from "../util/index.ts";
import type {
  CancellationReason,
  Decider,
  InquiryId,
  InquiryOutcome,
  InquiryRequest,
  InquiryResponse,
  KnownCancellationReason,
} from "./event.ts";

type Answered = Extract<InquiryOutcome, { outcome: "answered" }>;

const KNOWN_REASONS = {
  user: true,
  backend_error: true,
  no_prompt_backend: true,
  assistant_routing_denied: true,
  invalid_static_answer: true,
  interrupted: true,
  attempts_exhausted: true,
} as const satisfies Record<KnownCancellationReason, true>;

/** Nobody may be said to have cancelled where no reason is left. */
const LOST_REASON = "unrecorded";

/** The text of a reason, on disk and wherever a reader shows one. */
export function cancellationTag(reason: CancellationReason): string {
  return typeof reason === "string" ? reason : reason.unknown;
}

export function parseInquiryRequest(shape: Shape): Omit<InquiryRequest, "timestamp"> {
  const toolCallId = optionalString(shape, "tool_call_id");
  const questionId = optionalString(shape, "question_id");
  return {
    type: "inquiry_request",
    id: stringField(shape, "id") as InquiryId, // Branded where it is read.
    source: parseSource(objectField(shape, "source")),
    question: parseInquiryQuestion(objectField(shape, "question")),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(questionId !== undefined && { questionId }),
  };
}

export function inquiryRequestToJson(event: InquiryRequest): JsonObject {
  return {
    id: event.id,
    source: { ...event.source },
    question: inquiryQuestionToJson(event.question),
    ...callToJson(event),
  };
}

function callToJson({ toolCallId, questionId }: InquiryRequest): JsonObject {
  return {
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...(questionId !== undefined && { question_id: questionId }),
  };
}

export function parseInquiryResponse(shape: Shape): Omit<InquiryResponse, "timestamp"> {
  return {
    type: "inquiry_response",
    id: stringField(shape, "id") as InquiryId, // Branded where it is read.
    ...parseOutcome(shape),
  };
}

/** The original needs an `answer`: null is no answer, and `outcome` says which kind of none. */
export function inquiryResponseToJson(event: InquiryResponse): JsonObject {
  const { id, outcome } = event;
  const answer = outcome === "answered" ? event.answer : null;
  return { outcome, id, answer, ...outcomeDetails(event) };
}

/** What the original would lose of a request. Its context may be long, and is not kept twice. */
export function inquiryRequestMirror(event: InquiryRequest): JsonObject {
  const { answerType } = event.question;
  const select = answerType.type === "select" ? selectToJson(answerType) : {};
  const question = {
    ...reusePolicyToJson(event.question),
    ...(Object.keys(select).length > 0 && { answer_type: select }),
  };
  return {
    ...callToJson(event),
    ...(Object.keys(question).length > 0 && { question }),
  };
}

/** What the original would lose of a response. Without an outcome, an answer is an answer. */
export function inquiryResponseMirror(event: InquiryResponse): JsonObject {
  const { outcome } = event;
  const isPlain = outcome === "answered" && event.answer !== null;
  return { ...(!isPlain && { outcome }), ...outcomeDetails(event) };
}

function outcomeDetails(event: InquiryOutcome): JsonObject {
  if (event.outcome === "cancelled") return { reason: cancellationTag(event.reason) };
  return {
    ...(event.outcome === "answered" && answerDetails(event)),
    ...(event.answeredBy !== undefined && { answered_by: deciderToJson(event.answeredBy) }),
  };
}

function answerDetails({ isOther, note }: Answered): JsonObject {
  return {
    ...(isOther === true && { other: true }),
    ...(note !== undefined && { note }),
  };
}

/**
 * Before RFD 082 there were only answers, and nothing said so: `{id, answer}`. A null without an
 * outcome is what the original leaves of a question without an answer.
 */
function parseOutcome(shape: Shape): InquiryOutcome {
  const { value } = shape;
  if (value["outcome"] === undefined && value["answer"] === null) {
    return { outcome: "cancelled", reason: { unknown: LOST_REASON } };
  }
  const isFlat = value["outcome"] === undefined && value["answer"] !== undefined;
  const outcome = isFlat ? "answered" : parseOutcomeTag(shape);
  if (outcome === "cancelled") return { outcome, reason: parseReason(shape) };
  const answeredBy =
    value["answered_by"] == null
      ? {}
      : { answeredBy: parseDecider(objectField(shape, "answered_by").value) };
  // A redacted response carries no answer in memory, whatever the file says.
  if (outcome === "redacted") return { outcome, ...answeredBy };
  if (value["answer"] === undefined)
    throw new ShapeError("answer", "an answered inquiry needs one");
  const note = optionalString(shape, "note");
  return {
    outcome,
    answer: value["answer"],
    ...(value["other"] === true && { isOther: true }),
    ...(note !== undefined && { note }),
    ...answeredBy,
  };
}

function parseOutcomeTag(shape: Shape) {
  if (shape.value["outcome"] === undefined) {
    throw new ShapeError("outcome", 'an inquiry_response needs "outcome" or "answer"');
  }
  return oneOf(shape, "outcome", ["answered", "cancelled", "redacted"]);
}

/** A missing reason is the person's: every other one is written by the program that knew it. */
function parseReason(shape: Shape): CancellationReason {
  const tag = optionalString(shape, "reason") ?? "user";
  return Object.hasOwn(KNOWN_REASONS, tag)
    ? (tag as KnownCancellationReason) // The table holds exactly the known ones.
    : { unknown: tag };
}

/** An asker of a kind we do not know is still somebody who asked. */
function parseSource(shape: Shape): InquirySource {
  const source = stringField(shape, "source");
  if (source === "assistant" || source === "user") return { source };
  if (source === "tool" || source === "other") return { source, name: stringField(shape, "name") };
  return { source: "other", name: source };
}

/** As the record has it. */
export function inquiryQuestionToJson(question: InquiryQuestion): JsonObject {
  return {
    text: question.text,
    answer_type: answerTypeToJson(question.answerType),
    ...(question.default !== undefined && { default: question.default }),
    ...(question.context !== undefined && { context: question.context }),
    ...reusePolicyToJson(question),
  };
}

/** Unlike tools, the record writes every option as an object. */
function answerTypeToJson(answerType: AnswerType): JsonObject {
  if (answerType.type !== "select") return { type: answerType.type };
  const options = answerType.options.map((option) => ({
    value: option.value,
    ...optionToJson(option),
  }));
  return { type: "select", options, ...selectToJson(answerType) };
}

export function parseDecider(raw: JsonObject): Decider {
  const { kind, channel, scope, model, key, from } = raw;
  if (kind === "user" && typeof channel === "string") {
    return { kind, channel, ...(scope === "turn" && { scope }) };
  }
  if (kind === "assistant" && typeof model === "string") return { kind, model };
  if ((kind === "config" || kind === "policy") && typeof key === "string") return { kind, key };
  if (kind === "remembered" && typeof from === "string") return { kind, from };
  if (kind === "default") return { kind };
  return { kind: "unknown", raw };
}

/** As it is written on disk. */
export function deciderToJson(decider: Decider): JsonObject {
  return decider.kind === "unknown" ? decider.raw : { ...decider };
}
