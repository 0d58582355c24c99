/** A tool call, its questions and its result in a few lines, the same live and in a transcript. */
import { type ContentBlock, isFor, textOfBlocks } from "../tool/index.ts";
import {
  describeDecider,
  type InquiryRequest,
  type InquiryResponse,
  isForUserAlone,
  type PermissionDecision,
  type ToolCallRequest,
  type ToolCallResponse,
} from "../conversation/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { answerParts, describeSource } from "./inquiry.ts";
import { firstLine, jsonLine, neutralize, oneLine, valueLine } from "./neutralize.ts";
import { verbatim, verbatimLines } from "./verbatim.ts";
import { renderContext } from "./context.ts";
import type { Paint } from "./style.ts";
import { fits, moreLines, textWidth, truncate, wrapWords } from "./wrap.ts";

export interface LineOptions {
  readonly paint: Paint;
  readonly width: number;
}

export interface CallLineOptions extends LineOptions {
  /** Shown after a call that ran: how long it took, for example. */
  readonly note?: string;
  /** How to show the arguments; `function_call` by default. */
  readonly parameters?: "json" | "function_call" | "off";
}

/** One line if possible. Long values are shortened first; names stay whole. */
export function renderCallLines(
  request: Pick<ToolCallRequest, "name" | "arguments">,
  end: CallEnd,
  { paint, width, note = "", parameters = "function_call" }: CallLineOptions,
): readonly string[] {
  const label = endLabel(end) || note;
  const suffix = label === "" ? "" : ` ${label}`;
  const room = width - 2 - textWidth(suffix);
  const call =
    parameters === "function_call" ? foldCall(request, room) : callIn(parameters, request, room);
  const painted = `${paint("cyan", call)}${paint("dim", suffix)}`;
  return wrapIn(painted, width - 2).map((row, index) =>
    index === 0 ? `${endSymbol(end, paint)} ${row}` : `  ${row}`,
  );
}

/** `deploy {"where":"test"}`, shortened to the room, or only `deploy`. */
function callIn(
  style: "json" | "off",
  { name, arguments: given }: Pick<ToolCallRequest, "name" | "arguments">,
  room: number,
): string {
  if (style === "off") return oneLine(name);
  const text = oneLine(`${name} ${jsonLine(given)}`);
  return Number.isFinite(room) ? truncate(text, Math.max(room, MIN_VALUE_WIDTH)) : text;
}

/** A call on one line, neutralized: `deploy(where: "test")`. */
export function describeCall({
  name,
  arguments: given,
}: Pick<ToolCallRequest, "name" | "arguments">): string {
  return oneLine(`${name}(${describeArguments(given)})`);
}

/** The call that asks: `• deploy(where: "test")`. */
export function renderAskerLines(
  call: Pick<ToolCallRequest, "name" | "arguments">,
  { paint, width }: LineOptions,
): readonly string[] {
  const rows = wrapIn(foldCall(call, width - 2), width - 2);
  return rows.map((row, index) => paint("cyan", `${index === 0 ? "•" : " "} ${row}`));
}

/** One line, with values shortened if needed; more only if names and short texts do not fit. */
function foldCall(call: Pick<ToolCallRequest, "name" | "arguments">, room: number): string {
  const whole = describeCall(call);
  if (fits(whole, room)) return whole;
  const entries = Object.entries(call.arguments);
  const long = entries.filter(([key, value]) => !staysWhole(key, value));
  const kept = textWidth(whole) - long.reduce((sum, [, value]) => sum + widthOf(value), 0);
  const each = Math.max(MIN_VALUE_WIDTH, Math.floor((room - kept) / Math.max(1, long.length)));
  const shown = entries.map(([key, value]) => {
    const text = valueLine(value);
    return `${keyText(key)}: ${staysWhole(key, value) ? text : truncate(text, each)}`;
  });
  return oneLine(`${call.name}(${shown.join(", ")})`);
}

/** Columns that a shortened value keeps. */
const MIN_VALUE_WIDTH = 12;
/** Longer texts may be shortened; file names never are. */
const MAX_WHOLE_TEXT = 200;

function staysWhole(key: string, value: Json): boolean {
  if (typeof value !== "string") return value === null || typeof value !== "object";
  if (value.includes("\n")) return false;
  return value.length <= MAX_WHOLE_TEXT || /path|file/i.test(key);
}

function widthOf(value: Json): number {
  return textWidth(valueLine(value));
}

const MAX_ONE_LINE_CALL = 60;

/**
 * A call with all its arguments, verbatim, for deciding about it: on one line if it is short, otherwise one argument
 * per line. Lines of a text get a bar in front, so that none of them can pass for an argument.
 */
export function callText({
  name,
  arguments: given,
}: Pick<ToolCallRequest, "name" | "arguments">): string {
  const entries = Object.entries(given);
  const shown = entries.map(
    ([key, value]) => `${verbatim(keyText(key))}: ${verbatim(JSON.stringify(value))}`,
  );
  const line = `• ${verbatim(name)}(${shown.join(", ")})`;
  const hasLines = entries.some(([, value]) => isSeveralLines(value));
  if (!hasLines && textWidth(line) <= MAX_ONE_LINE_CALL) return line;
  const below = entries.flatMap(([key, value], index) =>
    isSeveralLines(value)
      ? [`  ${verbatim(keyText(key))}:`, ...verbatimLines(value).map((row) => `    │ ${row}`)]
      : [`  ${shown[index] ?? ""}`],
  );
  return [`• ${verbatim(name)}`, ...below].join("\n");
}

function isSeveralLines(value: Json): value is string {
  return typeof value === "string" && value.includes("\n");
}

/** Lines of a result to show, by whom it is addressed to. */
export interface LinesByAudience {
  readonly user: number;
  readonly assistant: number;
  /** Blocks for the user alone are shown elsewhere. */
  readonly isChat: boolean;
}

/** The first lines of a result that are not blank: one number is for what is addressed to the user. */
export function renderResultLines(
  { content, blocks }: ToolCallResponse,
  { resultLines, ...options }: LineOptions & { readonly resultLines: number | LinesByAudience },
): readonly string[] {
  const lines =
    typeof resultLines === "number"
      ? { user: resultLines, assistant: 0, isChat: false }
      : resultLines;
  if (blocks === undefined) return firstLines(content, linesFor(BOTH, lines), options);
  const groups = Map.groupBy(blocks, (block) => linesFor(block, lines));
  return [...groups].flatMap(([most, group]) => firstLines(textOfBlocks(group), most, options));
}

const BOTH: ContentBlock = { type: "text", text: "" };

/** A block for both is shown if either audience gets lines. */
function linesFor(block: ContentBlock, { user, assistant, isChat }: LinesByAudience): number {
  if (isForUserAlone(block)) return isChat ? 0 : user;
  return isFor("user", block) ? Math.max(user, assistant) : assistant;
}

function firstLines(text: string, most: number, { paint, width }: LineOptions): readonly string[] {
  if (most === 0) return [];
  const body = neutralize(text)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const hidden = body.length - most;
  const shown = body.slice(0, most).map((line) => truncate(line, width - 4));
  return [...shown, ...(hidden > 0 ? [moreLines(hidden)] : [])].map((line) =>
    paint("dim", `  │ ${line}`),
  );
}

/**
 * A question and its answer, on one line if they fit. A remembered answer was given to another question,
 * so this one is shown in full, with its context.
 */
export function renderInquiryLines(
  event: InquiryRequest,
  response: InquiryResponse | undefined,
  { paint, width }: LineOptions,
): readonly string[] {
  const parts = response === undefined ? { answer: "unanswered", by: "" } : answerParts(response);
  const end = oneLine(parts.answer);
  const by = parts.by === "" ? "" : ` ${oneLine(parts.by)}`;
  const answeredBy = response?.outcome === "cancelled" ? undefined : response?.answeredBy;
  const isWhole = answeredBy?.kind === "remembered";
  const { text, context } = event.question;
  const asked = isWhole ? verbatim(text) : truncate(firstLine(text), MAX_FOLDED);
  const asks = `${oneLine(describeSource(event.source))} asks: ${asked}`;
  const mark = paint("magenta", "?");
  const paintAnswer = (shown: string) => `${paint("bold", shown)}${paint("dim", by)}`;
  const above = isWhole && context !== undefined ? contextRows(context, { paint, width }) : [];
  if (fits(`? ${asks} → ${end}${by}`, width)) {
    return [...above, `${mark} ${asks} → ${paintAnswer(end)}`];
  }
  const asking = wrapIn(asks, width - 2).map((row, index) => `${index === 0 ? mark : " "} ${row}`);
  const shown = isWhole ? end : truncate(end, Math.max(MAX_FOLDED, width - 4));
  const answering = wrapIn(paintAnswer(shown), width - 4).map(
    (row, index) => `  ${index === 0 ? "→" : " "} ${row}`,
  );
  return [...above, ...asking, ...answering];
}

/** Columns of a shortened question or answer. */
const MAX_FOLDED = 1000;

function contextRows(context: string, { paint, width }: LineOptions): readonly string[] {
  return renderContext(context, { paint, width: width - 2, style: "verbatim" }).map(
    (row) => `  ${row}`,
  );
}

/** `requested`: what the model asked for, if the call ran with other arguments. */
export function renderPermissionLines(
  { tool, action, decision, decidedBy, reason, ...event }: PermissionDecision,
  { paint, width, requested }: LineOptions & { readonly requested?: JsonObject | undefined },
): readonly string[] {
  const because = reason === undefined ? "" : `: ${reason}`;
  const what = action === "deliver" ? `the result of ${tool}` : tool;
  const text = `${what} ${decision} by ${describeDecider(decidedBy)}${because}`;
  const change = event.arguments === undefined ? "" : describeChange(event.arguments, requested);
  const shown = truncate(oneLine(text + change), MAX_FOLDED);
  return wrapIn(shown, width - 2).map((row) => paint("dim", `  ${row}`));
}

function describeChange(ran: JsonObject, requested: JsonObject | undefined): string {
  return requested === undefined
    ? `; it ran with (${describeArguments(ran)})`
    : `; the model asked for (${describeArguments(requested)})`;
}

/** The arguments a call ran with, if the user edited them. */
export function editedArguments(decisions: readonly PermissionDecision[]): JsonObject | undefined {
  return decisions.findLast(({ action, decision }) => action === "run" && decision === "edited")
    ?.arguments;
}

function wrapIn(text: string, width: number): readonly string[] {
  return Number.isFinite(width) ? wrapWords(text, width) : [text];
}

function describeArguments(parameters: JsonObject): string {
  return Object.entries(parameters)
    .map(([key, value]) => `${keyText(key)}: ${valueLine(value)}`)
    .join(", ");
}

/** Quoted unless plain, so that it cannot look like another argument and its value. */
function keyText(key: string): string {
  return /^[\w.-]+$/.test(key) ? key : jsonLine(key);
}

/** Only `done` and `failed` come from the tool itself. */
export type CallEnd =
  | "running"
  | "done"
  | "failed"
  /** Permission was denied. */
  | "skipped"
  /** Its question was not answered. */
  | "cancelled"
  /** The model did not get its result. */
  | "withheld"
  /** It was interrupted. */
  | "stopped";

/** The events between a call and its result. */
export interface CallEvents {
  readonly decisions: readonly PermissionDecision[];
  /** In order. */
  readonly answers: readonly InquiryResponse[];
}

/** How a call ended, according to the record. */
export function callEnd(
  response: ToolCallResponse | undefined,
  { decisions, answers }: CallEvents,
): CallEnd {
  if (response === undefined) return "running";
  if (response.isError) return "failed";
  const denied = decisions.find(({ decision }) => decision === "denied");
  if (denied !== undefined) return denied.action === "run" ? "skipped" : "withheld";
  return answers.at(-1)?.outcome === "cancelled" ? "cancelled" : "done";
}

/** An end that is neither success nor failure also gets a label. */
function endSymbol(end: CallEnd, paint: Paint): string {
  switch (end) {
    case "running":
      return paint("yellow", "…");
    case "done":
      return paint("green", "✓");
    case "failed":
      return paint("red", "✗");
    default:
      return paint("yellow", "○");
  }
}

/** Empty where the symbol is enough. */
function endLabel(end: CallEnd): string {
  return end === "running" || end === "done" || end === "failed" ? "" : end;
}
