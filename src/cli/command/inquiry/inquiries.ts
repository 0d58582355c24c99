/** All inquiries of some conversations, one after the other, without holding a record in memory. */
import { InquiryLog } from "../../../conversation/index.ts";
import type { InquiryRow } from "../../../render/index.ts";
import { warn } from "../../warnings.ts";
import type { CommandContext } from "../../compose.ts";
import { readPieces } from "../../read-pieces.ts";
import { resolveTargets } from "../../target.ts";

export interface InquiryFlags {
  readonly conversation?: readonly string[];
  readonly format?: "text" | "json";
}

/** Oldest conversation first, in the order of its record. */
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
    const log = new InquiryLog();
    for await (const entries of readPieces(id, context)) {
      for (const inquiry of log.read(entries)) yield { conversation: id, ...inquiry };
    }
    for (const inquiry of log.end()) yield { conversation: id, ...inquiry };
    for (const { message } of log.unreadable)
      warn(`${id}: an inquiry cannot be read: ${message}`, output);
  }
}
