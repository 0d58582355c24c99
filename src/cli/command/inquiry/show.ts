/** `jp inquiry show`. */
import {
  describeDecider,
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
  const { conversation, turn, request, response } = row;
  const { question } = request;
  const decider = deciderOf(row);
  const facts: Record<string, string | undefined> = {
    ID: request.id,
    Conversation: `${conversation}, turn ${turn + 1}`,
    "Asked by": `${describeSource(request.source)} (${request.source.source})`,
    "Tool call": request.toolCallId,
    Question: firstLine(question.text),
    Kind: kindOf(row),
    Default: question.default === undefined ? undefined : jsonLine(question.default),
    "Asked at": request.timestamp,
    Outcome: response === undefined ? "unanswered" : describeOutcome(response),
    "Decided by": decider && describeDecider(decider),
    "Closed at": response?.timestamp,
  };
  for (const [name, value] of Object.entries(facts)) {
    if (value !== undefined)
      output.print(`${output.paint("bold", name.padEnd(12))}  ${oneLine(value)}`);
  }
  // Older tools put into the text what now stands in the context.
  const context = question.context ?? (question.text.includes("\n") ? question.text : undefined);
  if (context === undefined) return;
  output.print(output.paint("bold", "Context"));
  for (const line of neutralize(context.trimEnd()).split("\n")) output.print(`  ${line}`);
}

function kindOf({ request }: InquiryRow): string {
  const { answerType, exclusive, persistence } = request.question;
  const options =
    answerType.type === "select"
      ? ` of ${answerType.options.map(({ value }) => jsonLine(value)).join(", ")}`
      : "";
  const notes = [
    ...(exclusive ? ["for a person only"] : []),
    ...(persistence === "none" ? ["asked every time"] : []),
  ];
  return [`${answerType.type}${options}`, ...notes].join("; ");
}
