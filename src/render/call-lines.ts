/** A call, its result and its questions, folded to a few lines: the same live and in a transcript. */
import stringWidth from "fast-string-width";
import type {
  InquiryRequest,
  InquiryResponse,
  PermissionDecision,
  ToolCallRequest,
  ToolCallResponse,
} from "../conversation/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { describeDecider, describeOutcome, describeSource } from "./inquiry.ts";
import { firstLine, jsonLine, neutralize, oneLine, valueLine } from "./neutralize.ts";
import { isDiff, type Paint, paintDiff } from "./style.ts";
import { moreLines, truncate, wrapCode, wrapWords } from "./wrap.ts";

export interface LineOptions {
  readonly paint: Paint;
  readonly width: number;
}

export interface CallLineOptions extends LineOptions {
  /** Stands behind a call that was run: how long it took, for example. */
  readonly note?: string;
}

/** Folded to a line if that leaves every name whole: long values are cut first. */
export function renderCallLines(
  request: Pick<ToolCallRequest, "name" | "arguments">,
  end: CallEnd,
  { paint, width, note = "" }: CallLineOptions,
): readonly string[] {
  const said = endLabel(end) || note;
  const behind = said === "" ? "" : ` ${said}`;
  const call = foldCall(request, width - 2 - stringWidth(behind));
  const painted = `${paint("cyan", call)}${paint("dim", behind)}`;
  return wrapIn(painted, width - 2).map((row, index) =>
    index === 0 ? `${endSymbol(end, paint)} ${row}` : `  ${row}`,
  );
}

/** A call on one line, made harmless: `deploy(where: "test")`. */
export function describeCall({
  name,
  arguments: given,
}: Pick<ToolCallRequest, "name" | "arguments">): string {
  return oneLine(`${name}(${describeArguments(given)})`);
}

/** The call that wants something: `• deploy(where: "test")`. */
export function renderAskerLines(
  call: Pick<ToolCallRequest, "name" | "arguments">,
  { paint, width }: LineOptions,
): readonly string[] {
  const rows = wrapIn(foldCall(call, width - 2), width - 2);
  return rows.map((row, index) => paint("cyan", `${index === 0 ? "•" : " "} ${row}`));
}

/** As one line, if need be with values cut; longer only if names and short texts need more room. */
function foldCall(call: Pick<ToolCallRequest, "name" | "arguments">, room: number): string {
  const whole = describeCall(call);
  if (stringWidth(whole) <= room) return whole;
  const entries = Object.entries(call.arguments);
  const long = entries.filter(([key, value]) => !staysWhole(key, value));
  const kept = stringWidth(whole) - long.reduce((sum, [, value]) => sum + widthOf(value), 0);
  const each = Math.max(MIN_VALUE_WIDTH, Math.floor((room - kept) / Math.max(1, long.length)));
  const shown = entries.map(([key, value]) => {
    const text = valueLine(value);
    return `${keyText(key)}: ${staysWhole(key, value) ? text : truncate(text, each)}`;
  });
  return oneLine(`${call.name}(${shown.join(", ")})`);
}

/** Columns that are left of a value that is cut. */
const MIN_VALUE_WIDTH = 12;
/** Of one line; file names are never cut, however long they are. */
const MAX_WHOLE_TEXT = 200;

function staysWhole(key: string, value: Json): boolean {
  if (typeof value !== "string") return value === null || typeof value !== "object";
  if (value.includes("\n")) return false;
  return value.length <= MAX_WHOLE_TEXT || /path|file/i.test(key);
}

function widthOf(value: Json): number {
  return stringWidth(valueLine(value));
}

const MAX_ONE_LINE_CALL = 60;

/**
 * A call with all its arguments, for a person who decides about it: on one line if it is short, else each
 * argument below. The lines of a text have a bar in front, so that none of them can pass for an argument.
 */
export function callText(call: Pick<ToolCallRequest, "name" | "arguments">): string {
  const entries = Object.entries(call.arguments);
  const line = `• ${describeCall(call)}`;
  const hasLines = entries.some(([, value]) => typeof value === "string" && value.includes("\n"));
  if (!hasLines && stringWidth(line) <= MAX_ONE_LINE_CALL) return line;
  const below = entries.flatMap(([key, value]) => {
    const name = `  ${keyText(key)}:`;
    if (typeof value !== "string" || !value.includes("\n")) return [`${name} ${valueLine(value)}`];
    return [
      name,
      ...neutralize(value)
        .split("\n")
        .map((row) => `    │ ${row}`),
    ];
  });
  return [`• ${oneLine(call.name)}`, ...below].join("\n");
}

/** The first lines of a result that say something. */
export function renderResultLines(
  { content }: ToolCallResponse,
  { paint, width, resultLines }: LineOptions & { readonly resultLines: number },
): readonly string[] {
  const body = neutralize(content)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const hidden = body.length - resultLines;
  const shown = body.slice(0, resultLines).map((line) => truncate(line, width - 4));
  return [...shown, ...(hidden > 0 ? [moreLines(hidden)] : [])].map((line) =>
    paint("dim", `  │ ${line}`),
  );
}

/**
 * The question and its end, folded to a line if they fit. An answer that was remembered was given to
 * another question, so that this one is there whole, with its context.
 */
export function renderInquiryLines(
  event: InquiryRequest,
  response: InquiryResponse | undefined,
  { paint, width }: LineOptions,
): readonly string[] {
  const end = response === undefined ? "unanswered" : oneLine(describeOutcome(response));
  const answeredBy = response?.outcome === "cancelled" ? undefined : response?.answeredBy;
  const by = answeredBy === undefined ? "" : ` by ${oneLine(describeDecider(answeredBy))}`;
  const isWhole = answeredBy?.kind === "remembered";
  const { text, context } = event.question;
  const asked = isWhole ? oneLine(text) : truncate(firstLine(text), MAX_FOLDED);
  const asks = `${oneLine(describeSource(event.source))} asks: ${asked}`;
  const mark = paint("magenta", "?");
  const answer = `${paint("bold", end)}${paint("dim", by)}`;
  const above = isWhole && context !== undefined ? contextRows(context, { paint, width }) : [];
  if (stringWidth(`? ${asks} → ${end}${by}`) <= width) {
    return [...above, `${mark} ${asks} → ${answer}`];
  }
  const asking = wrapIn(asks, width - 2).map((row, index) => `${index === 0 ? mark : " "} ${row}`);
  const ending = isWhole
    ? answer
    : truncateEnd({ end, by, width: Math.max(MAX_FOLDED, width - 4) }, paint);
  const answering = wrapIn(ending, width - 4).map(
    (row, index) => `  ${index === 0 ? "→" : " "} ${row}`,
  );
  return [...above, ...asking, ...answering];
}

/** Of a question or an answer that is folded. */
const MAX_FOLDED = 1000;

function truncateEnd(
  { end, by, width }: { readonly end: string; readonly by: string; readonly width: number },
  paint: Paint,
): string {
  const shown = truncate(end + by, width);
  return `${paint("bold", shown.slice(0, end.length))}${paint("dim", shown.slice(end.length))}`;
}

function contextRows(context: string, { paint, width }: LineOptions): readonly string[] {
  const lines = neutralize(context.trimEnd()).split("\n");
  const painted = isDiff(lines) ? paintDiff(lines, paint) : lines;
  return painted.flatMap((line) => wrapCode(line, width - 2)).map((row) => `  ${row}`);
}

/** `requested`: what the model wanted, where the call was run with something else. */
export function renderPermissionLines(
  { tool, action, decision, decidedBy, reason, ...event }: PermissionDecision,
  { paint, width, requested }: LineOptions & { readonly requested?: JsonObject | undefined },
): readonly string[] {
  const because = reason === undefined ? "" : `: ${reason}`;
  const what = action === "deliver" ? `the result of ${tool}` : tool;
  const told = `${what} ${decision} by ${describeDecider(decidedBy)}${because}`;
  const change = event.arguments === undefined ? "" : describeChange(event.arguments, requested);
  const text = truncate(oneLine(told + change), MAX_FOLDED);
  return wrapIn(text, width - 2).map((row) => paint("dim", `  ${row}`));
}

/** The call itself is shown with what it ran with. */
function describeChange(ran: JsonObject, requested: JsonObject | undefined): string {
  return requested === undefined
    ? `; it ran with (${describeArguments(ran)})`
    : `; the model asked for (${describeArguments(requested)})`;
}

/** What a call ran with, if a person changed its arguments. */
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

/** In quotes unless it is plain: it cannot look like another argument and its value. */
function keyText(key: string): string {
  return /^[\w.-]+$/.test(key) ? key : jsonLine(key);
}

/** Only `done` and `failed` are the tool's own. */
export type CallEnd =
  | "running"
  | "done"
  | "failed"
  /** It was not let run. */
  | "skipped"
  /** Its question was not answered. */
  | "cancelled"
  /** Its result was kept from the model. */
  | "withheld"
  /** It was ended from outside. */
  | "stopped";

/** What happened between a call and its result. */
export interface CallEvents {
  readonly decisions: readonly PermissionDecision[];
  /** In the order in which they came. */
  readonly answers: readonly InquiryResponse[];
}

/** How a call ended, as the record tells it. */
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

/** A sign for the eye; what is neither good nor bad has a word beside it. */
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

/** Empty where the sign says it all. */
function endLabel(end: CallEnd): string {
  return end === "running" || end === "done" || end === "failed" ? "" : end;
}
