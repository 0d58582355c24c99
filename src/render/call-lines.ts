/** A call, its result and its questions, folded to a few lines: the same live and in a transcript. */
import stringWidth from "fast-string-width";
import type {
  InquiryRequest,
  InquiryResponse,
  PermissionDecision,
  ToolCallRequest,
  ToolCallResponse,
} from "../conversation/index.ts";
import type { JsonObject } from "../util/index.ts";
import { describeDecider, describeOutcome, describeSource } from "./inquiry.ts";
import { firstLine, jsonLine, neutralize, oneLine } from "./neutralize.ts";
import type { Paint } from "./style.ts";
import { truncate } from "./table.ts";

export interface LineOptions {
  readonly paint: Paint;
  readonly width: number;
}

/** `note` stands behind the call: how long it took, for example. */
export function renderCallLine(
  request: ToolCallRequest,
  response: ToolCallResponse | undefined,
  { paint, width, note = "" }: LineOptions & { readonly note?: string },
): string {
  const behind = note === "" ? "" : ` ${note}`;
  const room = Math.max(1, width - 2 - stringWidth(behind));
  const call = truncate(describeCall(request), room);
  return `${markOf(response, paint)} ${paint("cyan", call)}${paint("dim", behind)}`;
}

export function describeCall({
  name,
  arguments: given,
}: Pick<ToolCallRequest, "name" | "arguments">): string {
  return oneLine(`${name}(${describeArguments(given)})`);
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
  const more = `… ${hidden} more ${hidden === 1 ? "line" : "lines"}`;
  return [...shown, ...(hidden > 0 ? [more] : [])].map((line) => paint("dim", `  │ ${line}`));
}

/** The question and its end, folded to a line: it is the question that gives way. */
export function renderInquiryLine(
  event: InquiryRequest,
  response: InquiryResponse | undefined,
  { paint, width }: LineOptions,
): string {
  const end = response === undefined ? "unanswered" : oneLine(describeOutcome(response));
  const answeredBy = response?.outcome === "cancelled" ? undefined : response?.answeredBy;
  const by = answeredBy === undefined ? "" : ` by ${oneLine(describeDecider(answeredBy))}`;
  const asks = `${oneLine(describeSource(event.source))} asks: ${firstLine(event.question.text)}`;
  const room = Math.max(20, width - "?  → ".length - stringWidth(end + by));
  return `${paint("magenta", "?")} ${truncate(asks, room)} → ${paint("bold", end)}${paint("dim", by)}`;
}

export function renderPermissionLine(
  { tool, action, decision, decidedBy, reason }: PermissionDecision,
  { paint, width }: LineOptions,
): string {
  const because = reason === undefined ? "" : `: ${reason}`;
  const what = action === "deliver" ? `the result of ${tool}` : tool;
  const text = oneLine(`${what} ${decision} by ${describeDecider(decidedBy)}${because}`);
  return paint("dim", `  ${truncate(text, width - 2)}`);
}

function markOf(response: ToolCallResponse | undefined, paint: Paint): string {
  if (response === undefined) return paint("yellow", "…");
  return response.isError ? paint("red", "✗") : paint("green", "✓");
}

function describeArguments(parameters: JsonObject): string {
  return Object.entries(parameters)
    .map(([key, value]) => `${key}: ${jsonLine(value)}`)
    .join(", ");
}
