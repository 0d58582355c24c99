/** A decision as the page uses it: the API's JSON with its question parsed. */
import {
  findTimestamp,
  type InquiryOutcome,
  timestampToMilliseconds,
  withEscalation,
} from "../../../record/conversation/index.ts";
import { unsaidArguments, verbatim, verbatimProse } from "../../render/index.ts";
import { type InquiryQuestion, parseInquiryQuestion } from "../../../record/tool/index.ts";
import { isJsonObject, type Json, type JsonObject, shapeOf } from "../../../util/index.ts";
import type { DeciderJson, DecisionJson, InquiryAddress, OutcomeJson } from "../wire.ts";

/** A question, permission, delivery or doubt, pending or recorded. */
export interface Item extends Omit<DecisionJson, "question"> {
  /** Identifies the decision, also after it was made. */
  readonly key: string;
  /** Includes the model's outcome, if it was escalated. */
  readonly question: InquiryQuestion;
}

/** Undefined if this version of the page does not know the question's type. */
export function readItem(json: DecisionJson): Item | undefined {
  try {
    const asked = parseInquiryQuestion(shapeOf({ ...json.question }));
    const question = withEscalation(asked, json.escalation && toOutcome(json.escalation));
    return { ...json, key: keyOf(json), question };
  } catch {
    return undefined;
  }
}

function toOutcome({ outcome, answer = null, reason = "", ...more }: OutcomeJson): InquiryOutcome {
  const { answer_reason: answerReason, problem, answered_by: { model } = {} } = more;
  if (outcome !== "answered") {
    const code = reason === "timed_out" ? reason : { unknown: reason };
    return { outcome: "cancelled", reason: code, ...(problem !== undefined && { problem }) };
  }
  return {
    outcome,
    answer,
    ...(answerReason !== undefined && { answerReason }),
    ...(model !== undefined && { answeredBy: { kind: "assistant", model } }),
  };
}

/** Identifies a decision across workspaces. */
export function keyOf({ workspace = "", conversation, id }: InquiryAddress): string {
  return JSON.stringify([workspace, conversation, id]);
}

/** Changes with the shown content: having read one version does not mean having read another. */
export function contentKey(item: Item): string {
  const { key, asked_at: askedAt, digest, question, arguments: args } = item;
  // Older versions recorded no digest.
  return JSON.stringify([key, askedAt, digest ?? [question, args]]);
}

/** Whether it is no longer pending. */
export function isOver({ outcome, void: changed }: Item): boolean {
  return changed !== undefined || outcome !== undefined;
}

export const ASSISTANT = "Assistant";

/** The asker in words. */
export function askerOf({ label, source }: Pick<DecisionJson, "label" | "source">): string {
  return source?.source === "assistant" ? ASSISTANT : label;
}

/** Whether a tool asks, rather than the assistant, whose questions are the whole call. */
export function isFromTool({ acts, source }: Pick<Item, "acts" | "source">): boolean {
  return acts || source?.source !== "assistant";
}

/** Whether it is a command for jp's own tool, whose name says nothing more. */
export function isCommand({ kind, origin, tool }: Item): boolean {
  return kind === "permission" && origin?.type === "builtin" && tool === "shell_run";
}

/** The arguments to show with the item: all, unless its question shows them. Undefined if there are none. */
export function unsaidOf(item: Item): JsonObject | undefined {
  const { arguments: given, kind, question_id: questionId } = item;
  if (given === undefined || kind !== "question") return given;
  const unsaid = unsaidArguments({ ...item, arguments: given, questionId });
  return Object.keys(unsaid).length === 0 ? undefined : unsaid;
}

/** The tool behind a question, if the asker's name does not already say it. */
export function toolBehind(item: Item): string | undefined {
  const asker = askerOf(item);
  return item.tool === asker || asker === ASSISTANT ? undefined : item.tool;
}

/** How to draw a text on one line: where a yes acts, nothing may look like something else. */
export function drawing({ acts }: Pick<Item, "acts">): (text: string) => string {
  return acts ? showValue : verbatimProse;
}

/** A value on one line, where the style sheet sets the direction. */
export function showValue(text: string): string {
  return verbatim(text, { marksDirection: false });
}

/** Lists cut longer texts. */
const MAX_LINE = 300;

/** The first line of a question, for lists and messages. */
export function summaryOf(text: string, show: (text: string) => string): string {
  const whole = text.trim();
  const [first = ""] = whole.split("\n", 1);
  const line = cutAt(first, MAX_LINE);
  return show(line) + (line.length < whole.length ? " …" : "");
}

/** A call's arguments on one line, for lists. A single text is shown bare, such as a command. */
export function argumentsLine(args: JsonObject): string {
  const [[, only] = [], ...others] = Object.entries(args);
  const isText = typeof only === "string" && others.length === 0;
  const pairs = Object.entries(args).slice(0, 20);
  const line = isText
    ? only
    : pairs.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ");
  const cut = cutAt(line, MAX_LINE);
  return showValue(cut) + (cut.length < line.length ? " …" : "");
}

/** The beginning of a text, without splitting a surrogate pair. */
function cutAt(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
}

/** The decider in words: `Ada (desk)`, `the assistant (ollama/qwen3)`, `config (…)`. */
export function describeBy(by: DeciderJson | undefined): string {
  if (by === undefined) return "someone";
  const [who, how] = deciderWords(by);
  return verbatimProse(how === undefined ? who : `${who} (${how})`);
}

function deciderWords(by: DeciderJson): readonly [string, string | undefined] {
  switch (by.kind) {
    case "user":
      return [by.name ?? "the user", by.channel];
    case "assistant":
      return ["the assistant", by.model];
    case "remembered":
      return ["an answer from earlier in the turn", undefined];
    case "answers_file":
      return ["the answers file", by.entry];
    case "default":
      return ["the default", undefined];
    case "tool":
      return ["the tool's own check", undefined];
    default:
      return [by.kind, by.key];
  }
}

/** An answer in words. Anything but yes or no is shown as JSON, so that a text is not mistaken for something else. */
function describeAnswer(answer: Json): string {
  if (typeof answer === "boolean") return answer ? "yes" : "no";
  return showValue(JSON.stringify(answer));
}

/** The outcome, without the decider. */
export function describeEnd({
  outcome = "pending",
  answer,
  reason,
  cause,
  ...end
}: OutcomeJson): string {
  if (end.answered_by?.kind === "tool")
    return outcome === "edited" ? "found done" : "found not done";
  if (outcome === "redacted") return "answered with a secret";
  if (outcome === "answered" && answer !== undefined) return describeAnswer(answer);
  const why = reason ?? cause;
  return outcome + (why === undefined ? "" : ` (${verbatimProse(why)})`);
}

export function stringOf(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** In milliseconds since the epoch. */
export function timeOf(value: Json | undefined): number | undefined {
  const timestamp = findTimestamp(value);
  return timestamp === undefined ? undefined : timestampToMilliseconds(timestamp);
}

/** The decider of a recorded event, whose fields are unchecked. */
export function deciderOf(json: Json | undefined): DeciderJson | undefined {
  return isJsonObject(json) && typeof json["kind"] === "string"
    ? { ...json, kind: json["kind"] }
    : undefined;
}
