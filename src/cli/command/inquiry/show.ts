/** `jp inquiry show`. */
import {
  describeDecider,
  describeEdited,
  describeOutcome,
  describeSource,
  firstLine,
  type InquiryRow,
  inquiryToJson,
  jsonLine,
  neutralize,
  oneLine,
} from "../../../render/index.ts";
import type { Output } from "../../../terminal/index.ts";
import type { InquirySource, SelectOption } from "../../../tool/index.ts";
import { CodedError } from "../../../util/index.ts";
import type { Call } from "../../define.ts";
import { type InquiryFlags, readInquiries } from "./inquiries.ts";
import { deciderOf } from "./ls.ts";

export async function showInquiry({ words, options, context }: Call<InquiryFlags>): Promise<void> {
  const [id = ""] = words;
  const { output } = context;
  let count = 0;
  for await (const row of readInquiries(options, context)) {
    if (row.request.id !== id) continue;
    count += 1;
    if (options.format === "json") {
      output.print(jsonLine(inquiryToJson(row)));
    } else {
      if (count > 1) output.print("");
      printInquiry(row, output);
    }
  }
  if (count > 0) return;
  throw new CodedError("inquiry_not_found", `No question has the id ${oneLine(id)}.`, {
    hint: "`jp inquiry ls` lists them all.",
  });
}

function printInquiry(row: InquiryRow, output: Output): void {
  const { conversation, turn, request, response, edited } = row;
  const { question } = request;
  const decider = deciderOf(row);
  const facts: Record<string, string | undefined> = {
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
    Outcome: response === undefined ? "unanswered" : describeOutcome(response),
    "Decided by": decider && describeDecider(decider),
    "Closed at": response && `${response.timestamp} UTC`,
  };
  for (const [name, value] of Object.entries(facts)) {
    if (value !== undefined)
      output.print(`${output.paint("bold", name.padEnd(12))}  ${oneLine(value)}`);
  }
  if (question.answerType.type === "select") printOptions(question.answerType.options, output);
  // Older tools put into the text what now stands in the context.
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
    ...(exclusive ? ["for a person only"] : []),
    ...(persistence === "none" ? ["asked every time"] : []),
  ];
  return [answerType.type, ...notes].join("; ");
}
