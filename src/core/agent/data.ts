/**
 * Data as an answer: whether it fits the schema of the message. A model whose answer does not fit is told why and asked
 * again, once per turn. The correction is recorded before it is sent.
 */
import {
  type ChatRequest,
  type ConversationEvent,
  type EventType,
  timestampFromDate,
  type TurnEndEvent,
} from "../../record/conversation/index.ts";
import { checkData } from "../../reach/executor/index.ts";
import type { EndReason } from "../../reach/provider/index.ts";
import type { Validation } from "../../record/tool/index.ts";
import { abortable, type Clock, type Json, type JsonObject } from "../../util/index.ts";
import { answerAgain } from "./model-texts.ts";

/** Checks data that fits the JSON Schema of a message, and may convert it. */
export type DataValidator = (data: Json) => Promise<Validation<unknown>>;

/** The problem with an answer. */
export interface InvalidData {
  readonly type: "invalid_data";
  /** `not_json`: there is no data in it. `mismatch`: the data does not fit the schema. */
  readonly kind: "not_json" | "mismatch";
  /** One problem per line. */
  readonly problem: string;
}

/** The last reply made no calls. `data` is set if a schema was given and the answer fits it. */
export interface Done {
  readonly type: "done";
  readonly reason: EndReason;
  readonly data?: unknown;
}

interface CheckOptions {
  readonly validateData?: DataValidator;
  readonly clock: Clock;
  /** Once aborted, the check stops, and its result is ignored. */
  readonly signal: AbortSignal;
}

/**
 * The step after a reply without calls: the end of the turn, or a request to answer again. Throws what the
 * validator throws.
 */
export async function checkReply(
  reply: Done,
  turn: readonly ConversationEvent[],
  { validateData, clock, signal }: CheckOptions,
): Promise<Done | InvalidData | ChatRequest> {
  const schema = findCheckedSchema(turn);
  if (schema === undefined || reply.reason === "refused") return reply;
  const checking = abortable(checkAnswer(turn, schema, validateData), signal);
  const check = await checking.catch((error: unknown) => {
    if (!signal.aborted) throw error;
    return undefined;
  });
  if (check?.ok === true) return { ...reply, data: check.value };
  // A second try would be cut off too.
  if (check === undefined || reply.reason === "length") return reply;
  const invalid = toInvalidData(turn, check.problems);
  return isCorrected(turn) ? invalid : correctionOf(invalid, schema, clock);
}

/** The schema that jp checks the answer against. Older versions, and the Rust original, check nothing. */
function findCheckedSchema(turn: readonly ConversationEvent[]): JsonObject | undefined {
  const request = turn.find((event) => event.type === "chat_request");
  return request?.isChecked === true ? request.schema : undefined;
}

/** Whether the last reply of a turn fits the schema. */
async function checkAnswer(
  turn: readonly ConversationEvent[],
  schema: JsonObject,
  validate?: DataValidator,
): Promise<Validation<unknown>> {
  const answer = findAnswer(turn);
  if (answer === undefined) return { ok: false, problems: ["the answer is not JSON"] };
  const problems = await checkData(schema, answer.data);
  if (problems.length > 0) return { ok: false, problems };
  const data = structuredClone(answer.data); // The program may change what it gets, but not the record.
  return validate === undefined ? { ok: true, value: data } : validate(data);
}

/** The data of the reply that the turn ends with. */
function findAnswer(turn: readonly ConversationEvent[]): { readonly data: Json } | undefined {
  const events = turn.filter(({ type }) => !isBesideReply(type));
  const start = events.findLastIndex(({ type }) => type !== "chat_response") + 1;
  for (const event of events.slice(start).toReversed()) {
    if (event.type === "chat_response" && event.content.type === "structured") return event.content;
  }
  return undefined;
}

const BESIDE_REPLY: ReadonlySet<EventType> = new Set([
  "turn_end",
  "turn_resume",
  "reply_failure",
  "token_usage",
  "reply_sources",
  "reply_file",
  "turn_undo",
]);

/** Whether events of this type may follow the last reply of a turn without being part of it. */
export function isBesideReply(type: EventType): boolean {
  return BESIDE_REPLY.has(type);
}

const MAX_PROBLEMS = 10;

function toInvalidData(
  turn: readonly ConversationEvent[],
  problems: readonly string[],
): InvalidData {
  const lines = problems.map((problem) => problem.replaceAll(/\s*\n\s*/g, " "));
  const more = lines.length - MAX_PROBLEMS;
  // Showing the last problem takes no more room than counting it. A replay shortens the list again, to the same text.
  const shown = more <= 1 ? lines : [...lines.slice(0, MAX_PROBLEMS), `and ${more} more`];
  return { type: "invalid_data", kind: kindOf(turn), problem: shown.join("\n") };
}

function kindOf(turn: readonly ConversationEvent[]): InvalidData["kind"] {
  return findAnswer(turn) === undefined ? "not_json" : "mismatch";
}

/** Whether the model was already asked again. */
function isCorrected(turn: readonly ConversationEvent[]): boolean {
  return turn.some((event) => event.type === "chat_request" && event.correction !== undefined);
}

function correctionOf({ problem }: InvalidData, schema: JsonObject, clock: Clock): ChatRequest {
  return {
    type: "chat_request",
    timestamp: timestampFromDate(clock.now()),
    content: answerAgain(problem, schema),
    author: "jp",
    correction: problem,
  };
}

/** Why a turn has no answer, for its recorded end. */
export function causeOf(
  end: Done | InvalidData | { readonly type: "stopped" },
): Pick<TurnEndEvent, "cause" | "problem"> {
  if (end.type === "invalid_data") return { cause: end.type, problem: end.problem };
  if (end.type !== "done" || end.data !== undefined) return {};
  const { reason } = end;
  return reason === "length" || reason === "refused" ? { cause: reason } : {};
}

/** How a recorded, complete turn ended. */
export async function readEnd(
  turn: readonly ConversationEvent[],
  validate?: DataValidator,
): Promise<Done | InvalidData> {
  const end = turn.findLast((event) => event.type === "turn_end");
  const { cause, problem = "" } = end ?? {};
  if (cause === "invalid_data") return { type: cause, kind: kindOf(turn), problem };
  if (cause !== undefined) return { type: "done", reason: cause };
  const request = turn.find((event) => event.type === "chat_request");
  if (request?.schema === undefined) return { type: "done", reason: "stop" };
  const check = await checkAnswer(turn, request.schema, validate);
  return { type: "done", reason: "stop", ...(check.ok && { data: check.value }) };
}
