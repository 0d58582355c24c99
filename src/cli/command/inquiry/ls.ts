/** `jp inquiry ls`. */
import { type Decider, timestampToMilliseconds } from "../../../conversation/index.ts";
import {
  describeDecider,
  describeEdited,
  describeOutcome,
  describeSource,
  firstLine,
  type InquiryRow,
  type InquiryState,
  inquiryState,
  inquiryToJson,
  jsonLine,
  oneLine,
  relativeTime,
  type StyleName,
  truncate,
  wrapProse,
} from "../../../render/index.ts";
import type { CommandContext } from "../../compose.ts";
import type { Call } from "../../define.ts";
import { type InquiryFlags, readInquiries } from "./inquiries.ts";

export interface ListInquiryFlags extends InquiryFlags {
  readonly outcome?: readonly InquiryState[];
  readonly by?: readonly Decider["kind"][];
}

export async function listInquiries({ options, context }: Call<ListInquiryFlags>): Promise<void> {
  const { output } = context;
  let count = 0;
  let conversation: string | undefined;
  for await (const row of readInquiries(options, context)) {
    if (!isWanted(row, options)) continue;
    count += 1;
    if (options.format === "json") {
      output.print(jsonLine(inquiryToJson(row)));
      continue;
    }
    if (row.conversation !== conversation) output.print(output.paint("bold", row.conversation));
    conversation = row.conversation;
    for (const line of inquiryLines(row, context)) output.print(line);
  }
  if (count > 0 || options.format === "json") return;
  const isFiltered = [options.outcome, options.by, options.conversation].some(Boolean);
  output.notice(isFiltered ? "No question fits." : "No question was asked here yet.");
}

export interface WantedInquiries {
  readonly outcome?: readonly string[] | undefined;
  readonly by?: readonly string[] | undefined;
}

export function isWanted(row: InquiryRow, { outcome, by }: WantedInquiries): boolean {
  if (outcome !== undefined && !outcome.includes(inquiryState(row))) return false;
  if (by === undefined) return true;
  const decider = deciderOf(row);
  return decider !== undefined && by.includes(decider.kind);
}

export function deciderOf({ response }: InquiryRow): Decider | undefined {
  return response === undefined || response.outcome === "cancelled"
    ? undefined
    : response.answeredBy;
}

const STYLES: Readonly<Record<InquiryState, StyleName>> = {
  answered: "green",
  redacted: "green",
  cancelled: "yellow",
  unanswered: "red",
};

const INDENT = "    ";
/** Where there are fewer columns for it, a question is in a line of its own. */
const LEAST_QUESTION = 20;

/** Who asked what, and below it what came of it. */
function inquiryLines(row: InquiryRow, { output, clock }: CommandContext): string[] {
  const { paint, lineWidth } = output;
  const { request, response, turn, edited } = row;
  const ago = relativeTime(timestampToMilliseconds(request.timestamp), clock.now().getTime());
  const decider = deciderOf(row);
  const who = oneLine(describeSource(request.source));
  const room = lineWidth - `  turn ${turn + 1}  ${who}: `.length;
  const head = `  ${paint("dim", `turn ${turn + 1}`)}  ${paint("cyan", who)}:`;
  const question = firstLine(request.question.text);
  const end = response === undefined ? "unanswered" : oneLine(describeOutcome(response));
  const by = decider === undefined ? "" : ` by ${oneLine(describeDecider(decider))}`;
  const result = `${paint(STYLES[inquiryState(row)], end)}${by}${paint("dim", `, ${ago}  ${oneLine(request.id)}`)}`;
  return [
    ...(room < LEAST_QUESTION
      ? [head, INDENT + truncate(question, lineWidth - INDENT.length)]
      : [`${head} ${truncate(question, room)}`]),
    ...(edited === undefined
      ? []
      : wrapProse(`ran with ${describeEdited(edited)}`, lineWidth - INDENT.length).map(
          (line) => INDENT + line,
        )),
    ...wrapProse(result, lineWidth - INDENT.length).map((line) => INDENT + line),
  ];
}
