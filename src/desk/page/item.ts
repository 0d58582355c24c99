/** What waits or waited for a person, read from the JSON of the API. Nothing in it is trusted to be well formed. */
import { findTimestamp, timestampToMilliseconds } from "../../conversation/index.ts";
import { oneLine } from "../../render/index.ts";
import { type InquiryQuestion, parseInquiryQuestion } from "../../tool/index.ts";
import { isJsonObject, type Json, type JsonObject, shapeOf } from "../../util/index.ts";
import type { PendingJson } from "../port.ts";
import type { InquiryAddress } from "./api.ts";

/** A question, a permission, a delivery or a doubt. */
export interface Item extends InquiryAddress {
  /** The same for the same question, also after it was answered. */
  readonly key: string;
  readonly workspace: string;
  readonly kind: PendingJson["kind"];
  readonly tool: string;
  /** Who asks: a tool, the assistant or the user. */
  readonly asker: string;
  readonly question: InquiryQuestion;
  /** In milliseconds since the epoch, like `deadline`. */
  readonly askedAt: number;
  readonly deadline?: number;
  readonly title?: string;
  /** The only person who may answer. */
  readonly for?: string;
  /** Questions of one call are answered together. */
  readonly callId?: string;
  readonly arguments?: JsonObject;
  /** What the tool returned, for a delivery. */
  readonly result?: { readonly content: string; readonly isError: boolean };
  /** A process waits for the answer at this moment. Only it can get a secret. */
  readonly isLive: boolean;
  /** How it ended. Absent as long as it waits. */
  readonly end?: End;
}

/** How a question ended. */
export interface End {
  readonly outcome: string;
  readonly answer?: Json;
  readonly note?: string;
  readonly reason?: string;
  readonly by?: JsonObject;
  readonly at?: number;
}

const KINDS = ["question", "permission", "delivery", "in_doubt"] as const;

function kindOf(value: Json | undefined): Item["kind"] {
  return KINDS.find((kind) => kind === value) ?? "question";
}

/** Takes the JSON of something that waits, or of a question on record. Undefined if it is neither. */
export function readItem(json: JsonObject): Item | undefined {
  const id = stringOf(json["id"]);
  const conversation = stringOf(json["conversation"]);
  const kind = kindOf(json["kind"]);
  const asker = readAsker(json);
  const question = readQuestion(json) ?? decisionQuestion(kind, asker.tool);
  if (id === undefined || conversation === undefined || question === undefined) return undefined;
  const workspace = stringOf(json["workspace"]) ?? "";
  const end = readEnd(json);
  return {
    key: keyOf({ workspace, conversation, id }),
    workspace,
    conversation,
    id,
    question,
    kind,
    ...asker,
    askedAt: timeOf(json["asked_at"]) ?? 0,
    isLive: json["is_live"] === true,
    ...optional("asked_at", stringOf(json["asked_at"])),
    ...optional("deadline", timeOf(json["deadline"])),
    ...optional("title", stringOf(json["title"])),
    ...optional("for", stringOf(json["for"])),
    ...optional("callId", stringOf(json["tool_call_id"])),
    ...(isJsonObject(json["arguments"]) && { arguments: json["arguments"] }),
    ...readResult(json),
    ...optional("end", end),
  };
}

/** Identifies a question among those of all workspaces. */
export function keyOf({ workspace = "", conversation, id }: InquiryAddress): string {
  return JSON.stringify([workspace, conversation, id]);
}

/** Something that waits has the fields of its question itself; the record has them in an object. */
function readQuestion(json: JsonObject): InquiryQuestion | undefined {
  const { question } = json;
  try {
    return parseInquiryQuestion(shapeOf(isJsonObject(question) ? question : json));
  } catch {
    return undefined; // Of a type that this version does not know, or no question.
  }
}

const DECISIONS = {
  permission: (tool: string) => `Run ${tool}?`,
  delivery: (tool: string) => `Show the model the result of ${tool}?`,
  in_doubt: (tool: string) => `Run ${tool} again?`,
} as const;

/** A decision on record has no question. */
function decisionQuestion(kind: Item["kind"], tool: string): InquiryQuestion | undefined {
  if (kind === "question") return undefined;
  const base = { exclusive: true, persistence: "none" } as const;
  return { text: DECISIONS[kind](tool), answerType: { type: "boolean" }, ...base };
}

function readAsker(json: JsonObject): Pick<Item, "tool" | "asker"> {
  const asker = askerOf(json["source"]);
  const tool = stringOf(json["tool"]) ?? asker ?? "";
  return { tool, asker: asker ?? tool };
}

/** The name of a `source` on record, if it has one. */
export function askerOf(source: Json | undefined): string | undefined {
  if (!isJsonObject(source)) return undefined;
  return (
    stringOf(source["name"]) ??
    (source["source"] === "assistant" ? ASSISTANT : stringOf(source["source"]))
  );
}

/** The tool that a question came through, if its asker does not say it already. */
export function toolBehind({ asker, tool }: Item): string | undefined {
  return tool === "" || tool === asker || asker === ASSISTANT ? undefined : tool;
}

const ASSISTANT = "Assistant";

function readResult({ content, is_error: isError }: JsonObject): Pick<Item, "result"> {
  return typeof content === "string" ? { result: { content, isError: isError === true } } : {};
}

function readEnd(json: JsonObject): End | undefined {
  const outcome = stringOf(json["outcome"]);
  if (outcome === undefined || outcome === "unanswered") return undefined;
  const by = [json["answered_by"], json["decided_by"]].find(isJsonObject);
  return {
    outcome,
    ...optional("answer", json["answer"]),
    ...optional("note", stringOf(json["note"])),
    ...optional("reason", stringOf(json["reason"])),
    ...optional("by", by),
    ...optional("at", timeOf(json["answered_at"])),
  };
}

/** The arguments of a call on one line, for lists. Of a single text only the text, such as a command. */
export function argumentsLine(args: JsonObject): string {
  const [[, only] = [], ...others] = Object.entries(args);
  if (typeof only === "string" && others.length === 0) return oneLine(only.slice(0, MAX_LINE));
  const pairs = Object.entries(args).slice(0, 20);
  const line = pairs.map(([name, value]) => `${name}: ${describeAnswer(value).slice(0, MAX_LINE)}`);
  return oneLine(line.join(", ").slice(0, MAX_LINE));
}

const MAX_LINE = 300;

/** Who decided, in words: `Ada (desk)`, `the assistant (ollama/qwen3)`, `config (…)`. */
export function describeBy(by: JsonObject | undefined): string {
  if (by === undefined) return "someone";
  const kind = stringOf(by["kind"]) ?? "someone";
  const [who, how] = deciderWords(kind, by);
  return oneLine(how === undefined ? who : `${who} (${how})`);
}

function deciderWords(kind: string, by: JsonObject): readonly [string, string | undefined] {
  switch (kind) {
    case "user":
      return [stringOf(by["name"]) ?? "the user", stringOf(by["channel"])];
    case "assistant":
      return ["the assistant", stringOf(by["model"])];
    case "remembered":
      return ["an answer from earlier in the turn", undefined];
    case "answers_file":
      return ["the answers file", stringOf(by["entry"])];
    case "default":
      return ["the default", undefined];
    default:
      return [kind, stringOf(by["key"])];
  }
}

/** An answer in words. A value that is not text is shown as JSON. */
export function describeAnswer(answer: Json | undefined): string {
  if (answer === undefined) return "";
  if (typeof answer === "boolean") return answer ? "yes" : "no";
  return typeof answer === "string" ? answer : JSON.stringify(answer);
}

/** How it ended, without who decided. */
export function describeEnd({ outcome, answer, reason }: End): string {
  if (outcome === "redacted") return "answered with a secret";
  if (outcome === "answered" && answer !== undefined) return describeAnswer(answer);
  return outcome + (reason === undefined ? "" : ` (${reason})`);
}

export function stringOf(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** In milliseconds since the epoch. */
export function timeOf(value: Json | undefined): number | undefined {
  const timestamp = findTimestamp(value);
  return timestamp === undefined ? undefined : timestampToMilliseconds(timestamp);
}

/** The field, or nothing if it has no value. */
function optional<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { readonly [Name in Key]?: Value } {
  // TypeScript does not see that a computed key has the type of its variable.
  return value === undefined ? {} : ({ [key]: value } as { readonly [Name in Key]?: Value });
}
