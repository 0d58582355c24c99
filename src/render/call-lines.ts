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
import { type CallEnd, markOf, wordFor } from "./call-end.ts";
import { describeDecider, describeOutcome, describeSource } from "./inquiry.ts";
import { firstLine, neutralize, oneLine, valueLine } from "./neutralize.ts";
import type { Paint } from "./style.ts";
import { truncate } from "./table.ts";

export interface LineOptions {
  readonly paint: Paint;
  readonly width: number;
}

/** Columns of a question that say what it is about. */
const LEAST_QUESTION = 20;

/** `note` stands behind a call that was run: how long it took, for example. */
export function renderCallLine(
  request: ToolCallRequest,
  end: CallEnd,
  { paint, width, note = "" }: LineOptions & { readonly note?: string },
): string {
  const said = wordFor(end) || note;
  const behind = said === "" ? "" : ` ${said}`;
  const room = Math.max(1, width - 2 - stringWidth(behind));
  const call = truncate(describeCall(request), room);
  return `${markOf(end, paint)} ${paint("cyan", call)}${paint("dim", behind)}`;
}

/** A call on one line, made harmless: `deploy(where: "test")`. */
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

/** The question and its end, folded to a line; to two, each cut, where that would leave too little. */
export function renderInquiryLines(
  event: InquiryRequest,
  response: InquiryResponse | undefined,
  { paint, width }: LineOptions,
): readonly string[] {
  const end = response === undefined ? "unanswered" : oneLine(describeOutcome(response));
  const answeredBy = response?.outcome === "cancelled" ? undefined : response?.answeredBy;
  const by = answeredBy === undefined ? "" : ` by ${oneLine(describeDecider(answeredBy))}`;
  const asks = `${oneLine(describeSource(event.source))} asks: ${firstLine(event.question.text)}`;
  const mark = paint("magenta", "?");
  const room = width - "?  → ".length - stringWidth(end + by);
  if (room >= Math.min(stringWidth(asks), LEAST_QUESTION)) {
    return [`${mark} ${truncate(asks, room)} → ${paint("bold", end)}${paint("dim", by)}`];
  }
  const shown = truncate(end + by, width - 4);
  const [answer, decider] = [shown.slice(0, end.length), shown.slice(end.length)];
  return [
    `${mark} ${truncate(asks, width - 2)}`,
    `  → ${paint("bold", answer)}${paint("dim", decider)}`,
  ];
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

function describeArguments(parameters: JsonObject): string {
  return Object.entries(parameters)
    .map(([key, value]) => `${key}: ${valueLine(value)}`)
    .join(", ");
}
