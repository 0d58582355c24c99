/** A tool call with its questions and result in a few lines, both live and in a transcript. */
import {
  describeDecider,
  type InquiryRequest,
  type InquiryResponse,
  isInquiry,
  pairDecisions,
  type PermissionDecision,
  type PermissionPair,
  type RecordedCall,
  type ToolCallRequest,
  type ToolCallResponse,
} from "../../record/conversation/index.ts";
import {
  firstLine,
  isJsonArray,
  isJsonObject,
  type Json,
  jsonLine,
  type JsonObject,
  oneLine,
  valueLine,
} from "../../util/index.ts";
import { answerParts, decisionWord, describeSource } from "./inquiry.ts";
import { type ChangedFile, type FileChange, findFileChange } from "./file-change.ts";
import { findOtherHost } from "./url-host.ts";
import { verbatim, verbatimLines } from "./verbatim.ts";
import { changedLines, diffRows, renderContext } from "./context.ts";
import type { Paint } from "./style.ts";
import { fits, moreLines, textWidth, truncate, wrapCode, wrapWords } from "./wrap.ts";

export interface LineOptions {
  readonly paint: Paint;
  readonly width: number;
}

export interface CallLineOptions extends LineOptions {
  /** Shown after a completed call, such as its duration. */
  readonly note?: string;
  /** The format of the arguments. Defaults to `function_call`. */
  readonly parameters?: "json" | "function_call" | "off";
  /** Shown instead of the call: one line, verbatim. */
  readonly title?: string | undefined;
}

/** One line if possible. Shortens long values first; names stay whole. */
export function renderCallLines(
  request: Pick<ToolCallRequest, "name" | "arguments">,
  end: CallEnd,
  { paint, width, note = "", parameters = "function_call", title }: CallLineOptions,
): readonly string[] {
  const label = endLabel(end) || note;
  const suffix = label === "" ? "" : ` ${label}`;
  const room = width - 2 - textWidth(suffix);
  const call =
    title ??
    (parameters === "function_call" ? foldCall(request, room) : callIn(parameters, request, room));
  const painted = `${paint("cyan", call)}${paint("dim", suffix)}`;
  return wrapIn(painted, width - 2).map((row, index) =>
    index === 0 ? `${endSymbol(end, paint)} ${row}` : `  ${row}`,
  );
}

/** `deploy {"where":"test"}`, truncated to fit, or only `deploy`. */
function callIn(
  style: "json" | "off",
  { name, arguments: given }: Pick<ToolCallRequest, "name" | "arguments">,
  room: number,
): string {
  if (style === "off") return oneLine(name);
  const text = oneLine(`${name} ${jsonLine(given)}`);
  return Number.isFinite(room) ? truncate(text, Math.max(room, MIN_VALUE_WIDTH)) : text;
}

/** The change a call asked about: the first lines of its diffs, and the arguments they do not show. */
export function renderChangeLines(
  { files, others }: FileChange,
  { paint, width, maxLines }: LineOptions & { readonly maxLines: number },
): readonly string[] {
  const [first, ...more] = files;
  const share = Math.max(MIN_CHANGE_LINES, Math.floor(maxLines / files.length));
  return [
    ...(more.length === 0
      ? renderFirstLines(first, { paint, width, maxLines })
      : files.flatMap((file) => [
          ...wrapIn(`• ${file.heading}`, width - 2).map((row) => `  ${paint("bold", row)}`),
          ...renderFirstLines(file, { paint, width: width - 2, maxLines: share }).map(
            (row) => `  ${row}`,
          ),
        ])),
    ...argumentLines(others).flatMap((line) => wrapCode(line, width)),
  ];
}

/** The minimum per file. */
const MIN_CHANGE_LINES = 3;

function renderFirstLines(
  file: ChangedFile,
  { paint, width, maxLines }: LineOptions & { readonly maxLines: number },
): readonly string[] {
  const lines = changedLines(file);
  const hidden = lines.length - maxLines;
  return [
    ...diffRows(hidden > 1 ? lines.slice(0, maxLines) : lines, { paint, width }),
    ...(hidden > 1 ? [paint("dim", `  ${moreLines(hidden)}`)] : []),
  ];
}

/** The answer to the question about a change: `→ yes (you, via terminal)`. */
export function renderChangeAnswer(
  response: InquiryResponse,
  { paint, width }: LineOptions,
): readonly string[] {
  const { answer, by } = answerParts(response);
  const shown = truncate(oneLine(answer + by), MAX_FOLDED);
  return wrapIn(shown, width - 4).map((row, index) =>
    paint("dim", `  ${index === 0 ? "→" : " "} ${row}`),
  );
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

/** One line, with values shortened if needed; more lines only if names and short texts do not fit. */
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
 * A call with all its arguments, verbatim, to decide on: on one line if it is short, otherwise one argument per line.
 * Each line of a text gets a bar in front, so that it cannot pass for an argument. A URL that disguises its host is
 * followed by a line with the actual host.
 */
export function callText(call: Pick<ToolCallRequest, "name" | "arguments">): string {
  const { line, isClear } = callLine(call);
  if (isClear && textWidth(line) + 2 <= MAX_ONE_LINE_CALL) return `• ${line}`;
  const parts = Object.entries(call.arguments).map(
    ([key, value]) => [partKey(key), value] as const,
  );
  return [`• ${verbatim(call.name)}`, ...argumentLines(parts)].join("\n");
}

/**
 * The call on one line of any length. `isClear` is false if it has to be read on several: if a text has line breaks, or
 * a URL needs a line with its host.
 */
export function callLine({ name, arguments: given }: Pick<ToolCallRequest, "name" | "arguments">) {
  const entries = Object.entries(given);
  const shown = entries.map(([key, value]) => argumentLine(keyText(key), value));
  const isClear = entries.every(([, value]) => !hasSeveralLines(value) && hostOf(value) === "");
  return { line: `${verbatim(name)}(${shown.join(", ")})`, isClear };
}

/** Empty unless it is a URL that disguises its host. */
function hostOf(value: Json): string {
  return (typeof value === "string" ? findOtherHost(value) : undefined) ?? "";
}

/** One argument per line, indented. Lists and objects with multi-line texts get one line per part. */
export function argumentLines(
  parts: readonly (readonly [name: string, value: Json])[],
): readonly string[] {
  return parts.flatMap(([name, value]) => partLines(name, value));
}

function partLines(name: string, value: Json): readonly string[] {
  if (!hasSeveralLines(value)) {
    const host = hostOf(value);
    // Cannot pass for an argument, whose name would be quoted.
    const note = host === "" ? [] : [`  host of ${verbatim(name)}: ${verbatim(host)}`];
    return [`  ${argumentLine(name, value)}`, ...note];
  }
  if (typeof value === "string") {
    return [`  ${verbatim(name)}:`, ...verbatimLines(value).map((row) => `    │ ${row}`)];
  }
  return isJsonArray(value)
    ? value.flatMap((item, index) => partLines(`${name}[${index}]`, item))
    : Object.entries(isJsonObject(value) ? value : {}).flatMap(([key, item]) =>
        partLines(`${name}.${partKey(key)}`, item),
      );
}

function argumentLine(name: string, value: Json): string {
  return `${verbatim(name)}: ${verbatim(JSON.stringify(value))}`;
}

/** Whether a text in the value has a line break. */
function hasSeveralLines(value: Json): boolean {
  if (typeof value === "string") return value.includes("\n");
  return value !== null && typeof value === "object" && Object.values(value).some(hasSeveralLines);
}

/**
 * A question and its answer, on one line if they fit. A remembered answer was given to another question, so this one is
 * shown in full, with its context.
 */
export function renderInquiryLines(
  event: InquiryRequest,
  response: InquiryResponse | undefined,
  { paint, width }: LineOptions,
): readonly string[] {
  const parts = response === undefined ? { answer: "no answer", by: "" } : answerParts(response);
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

/** `requested`: the model's arguments, if the call ran with others. */
export function renderPermissionLines(
  { tool, action, decision, decidedBy, reason, ...event }: PermissionDecision,
  { paint, width, requested }: LineOptions & { readonly requested?: JsonObject | undefined },
): readonly string[] {
  const because = reason === undefined ? "" : `: ${reason}`;
  const what = action === "deliver" ? `the result of ${tool}` : tool;
  const word = decisionWord({ decision, decidedBy });
  const text = `${what} ${word} by ${describeDecider(decidedBy)}${because}`;
  const change = event.arguments === undefined ? "" : describeChange(event.arguments, requested);
  const shown = truncate(oneLine(text + change), MAX_FOLDED);
  return wrapIn(shown, width - 2).map((row) => paint("dim", `  ${row}`));
}

function describeChange(ran: JsonObject, requested: JsonObject | undefined): string {
  return requested === undefined
    ? `; it ran with (${describeArguments(ran)})`
    : `; the model asked for (${describeArguments(requested)})`;
}

function wrapIn(text: string, width: number): readonly string[] {
  return Number.isFinite(width) ? wrapWords(text, width) : [text];
}

function describeArguments(parameters: JsonObject): string {
  return Object.entries(parameters)
    .map(([key, value]) => `${keyText(key)}: ${valueLine(value)}`)
    .join(", ");
}

/** Quoted unless plain, so that it cannot pass for another argument and its value. */
function keyText(key: string): string {
  return /^[\w.-]+$/.test(key) ? key : jsonLine(key);
}

/** A key in a dotted path, so a dot is quoted too. */
function partKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : jsonLine(key);
}

/** A call for readers: the arguments it runs with, and what was decided and answered. */
export interface ReadCall {
  /** With the arguments that it runs with, which a person may have edited. */
  readonly ran: ToolCallRequest;
  /** Without those that no longer count. */
  readonly decisions: readonly PermissionDecision[];
  /** In the order of their questions. */
  readonly answers: readonly InquiryResponse[];
  /** Its last question, and the file change that this is about. */
  readonly asked?: InquiryRequest | undefined;
  readonly change?: FileChange | undefined;
}

export function readCall({ request, events }: RecordedCall): ReadCall {
  const decisions: PermissionDecision[] = [];
  const answers: InquiryResponse[] = [];
  let ran = request;
  let asked: InquiryRequest | undefined;
  for (const decision of pairDecisions(events)) {
    if (isInquiry(decision)) {
      asked = decision.request;
      if (decision.response !== undefined) answers.push(decision.response);
    } else if (decision.response !== undefined && decision.madeVoid === undefined) {
      decisions.push(decision.response);
      ran = { ...ran, arguments: argumentsIn(decision) ?? ran.arguments };
    }
  }
  return { ran, decisions, answers, asked, change: asked && findFileChange(ran, asked) };
}

/** Undefined if they are the model's. Several people may have agreed on what one of them changed. */
function argumentsIn({ request, response }: PermissionPair): JsonObject | undefined {
  if (response?.action !== "run" || response.decision === "denied") return undefined;
  if (response.decision === "edited") return response.arguments;
  return request?.isEdited === true ? request.arguments : undefined;
}

/** Only `done` and `failed` come from the tool itself. */
export type CallEnd =
  | "running"
  | "done"
  | "failed"
  /** Permission was denied. */
  | "skipped"
  /** The call's question was not answered. */
  | "cancelled"
  /** The model did not get the result. */
  | "withheld"
  /** The user rejected the change that it asked about. */
  | "not applied"
  /** It was interrupted. */
  | "stopped";

/** How a call ended, according to the record. */
export function callEnd(
  response: ToolCallResponse | undefined,
  { decisions, answers, change }: Pick<ReadCall, "decisions" | "answers" | "change">,
): CallEnd {
  if (response === undefined) return "running";
  if (response.isError) return "failed";
  const denied = decisions.find(({ decision }) => decision === "denied");
  if (denied !== undefined) return denied.action === "run" ? "skipped" : "withheld";
  const last = answers.at(-1);
  if (last?.outcome === "cancelled") return "cancelled";
  const isNo = last?.outcome === "answered" && last.answer === false;
  return change !== undefined && isNo ? "not applied" : "done";
}

/** An end that is neither success nor failure also gets a label. */
function endSymbol(end: CallEnd, paint: Paint): string {
  switch (end) {
    case "running":
      return paint("yellow", "…");
    case "done":
      return paint("green", "✓");
    case "failed":
    case "not applied":
      return paint("red", "✗");
    default:
      return paint("yellow", "○");
  }
}

/** Empty if the symbol is enough. */
function endLabel(end: CallEnd): string {
  return end === "running" || end === "done" || end === "failed" ? "" : end;
}
