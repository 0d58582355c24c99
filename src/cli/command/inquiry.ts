/** `jp inquiry ls` and `show`: the questions on record, with who asked and who answered. */
import {
  deadlineOf,
  type Decider,
  deciderOf,
  inquiriesIn,
  timestampToMilliseconds,
} from "../../conversation/index.ts";
import {
  describeEnd,
  describeEscalation,
  describeEdited,
  describeSource,
  firstLine,
  type InquiryRow,
  type InquiryState,
  inquiryState,
  inquiryToJson,
  jsonLine,
  matchesInquiryFilter,
  neutralize,
  oneLine,
  relativeTime,
  type StyleName,
  truncate,
  wrapProse,
} from "../../render/index.ts";
import type { Output } from "../../terminal/index.ts";
import type { InquirySource, SelectOption } from "../../tool/index.ts";
import { JpError } from "../../util/index.ts";
import { type CommandContext, printFields, warn } from "../context.ts";
import { readEntries, resolveTargets } from "../conversations.ts";
import type { Call } from "../define.ts";
import { usageError } from "../exit-status.ts";

export interface ListInquiryFlags extends InquiryFlags {
  readonly pending?: boolean;
  readonly all?: boolean;
  readonly outcome?: readonly InquiryState[];
  readonly by?: readonly Decider["kind"][];
}

export async function listInquiries(call: Call<ListInquiryFlags>): Promise<void> {
  const { options, context } = call;
  if (options.pending === true) return (await import("./pending.ts")).printPending(call);
  if (options.all === true) throw usageError("--all requires --pending.");
  const { output } = context;
  let count = 0;
  let conversation: string | undefined;
  for await (const row of readInquiries(options, context)) {
    if (!matchesInquiryFilter(row, options)) continue;
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
  output.notice(isFiltered ? "No matching questions." : "No questions yet.");
}

const STYLES: Readonly<Record<InquiryState, StyleName>> = {
  answered: "green",
  redacted: "green",
  cancelled: "yellow",
  unanswered: "red",
};

const INDENT = "    ";
/** With fewer columns left, the question moves to its own line. */
const MIN_QUESTION_WIDTH = 20;

/** Who asked what, then the outcome. */
function inquiryLines(row: InquiryRow, { output, clock }: CommandContext): string[] {
  const { paint, lineWidth } = output;
  const { request, turn, edited } = row;
  const ago = relativeTime(timestampToMilliseconds(request.timestamp), clock.now().getTime());
  const who = oneLine(describeSource(request.source));
  const room = lineWidth - `  turn ${turn + 1}  ${who}: `.length;
  const head = `  ${paint("dim", `turn ${turn + 1}`)}  ${paint("cyan", who)}:`;
  const question = firstLine(request.question.text);
  const end = oneLine(describeEnd(row, clock.now()));
  const result = `${paint(STYLES[inquiryState(row)], end)}${paint("dim", `, ${ago}  ${oneLine(request.id)}`)}`;
  return [
    ...(room < MIN_QUESTION_WIDTH
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

export async function showInquiry({ args, options, context }: Call<InquiryFlags>): Promise<void> {
  const [id = ""] = args;
  const { output } = context;
  let count = 0;
  for await (const row of readInquiries(options, context)) {
    if (row.request.id !== id) continue;
    count += 1;
    if (options.format === "json") {
      output.print(jsonLine(inquiryToJson(row)));
    } else {
      if (count > 1) output.print("");
      printInquiry(row, context);
    }
  }
  if (count > 0) return;
  throw new JpError("inquiry_not_found", `Question ${oneLine(id)} not found.`, {
    hint: "`jp inquiry ls` lists all questions.",
  });
}

function printInquiry(row: InquiryRow, { output, clock }: CommandContext): void {
  const { conversation, turn, request, response, escalation, edited } = row;
  const deadline = deadlineOf(row);
  const { question } = request;
  const decider = response && deciderOf(response);
  const fields = {
    ID: request.id,
    Conversation: `${conversation}, turn ${turn + 1}`,
    "Asked by": askerOf(request.source),
    "Tool call": request.toolCallId,
    "Ran with": edited === undefined ? undefined : describeEdited(edited),
    "Question id": request.questionId,
    Question: firstLine(question.text),
    Kind: kindOf(row),
    Default: question.default === undefined ? undefined : jsonLine(question.default),
    "Asked at": `${request.timestamp} UTC`,
    Deadline: deadline && `${deadline} UTC`,
    For: request.for,
    "Asked first": escalation && describeEscalation(escalation),
    Outcome: describeEnd(row, clock.now()),
    ...(decider?.kind === "remembered" && { "Remembered from": decider.from }),
    "Closed at": response && `${response.timestamp} UTC`,
  };
  printFields(fields, output);
  if (question.answerType.type === "select") printOptions(question.answerType.options, output);
  // Older tools put the context into the text.
  const context = question.context ?? question.text.trim().split("\n").slice(1).join("\n");
  if (context.trim() === "") return;
  output.print(output.paint("bold", "Context"));
  for (const line of neutralize(context.trimEnd()).split("\n")) output.print(`  ${line}`.trimEnd());
}

function printOptions(options: readonly SelectOption[], output: Output): void {
  output.print(output.paint("bold", "Options"));
  for (const { value, description } of options) {
    const about = description === undefined ? "" : `: ${description}`;
    output.print(`  ${oneLine(`${jsonLine(value)}${about}`)}`);
  }
}

function askerOf(source: InquirySource): string {
  return "name" in source ? `${describeSource(source)} (${source.source})` : source.source;
}

function kindOf({ request }: InquiryRow): string {
  const { answerType, exclusive, persistence } = request.question;
  const notes = [
    ...(exclusive ? ["only a person may answer"] : []),
    ...(persistence === "none" ? ["asked every time"] : []),
  ];
  return [answerType.type, ...notes].join("; ");
}

interface InquiryFlags {
  readonly conversation?: readonly string[];
  readonly format?: "text" | "json";
}

/** The inquiries of these conversations, or of all, oldest conversation first, without loading whole records. */
export async function* readInquiries(
  { conversation }: InquiryFlags,
  context: CommandContext,
): AsyncGenerator<InquiryRow> {
  const { workspace, output } = context;
  const summaries =
    conversation === undefined
      ? await workspace.conversations.list({ which: "all" })
      : await resolveTargets(context, conversation);
  for (const { id } of summaries.toSorted((left, right) => (left.id < right.id ? -1 : 1))) {
    const onUnreadable = ({ message }: Error) =>
      warn(`${id}: cannot read an inquiry: ${message}`, output);
    for await (const inquiry of inquiriesIn(readEntries(id, context), onUnreadable)) {
      yield { conversation: id, ...inquiry };
    }
  }
}
