/** The inquiries of this workspace that a client wants to see, as `jp inquiry ls` prints them. */
import { inquiryToJson } from "../../../render/index.ts";
import type { InquiryFilter } from "../../../serve-mcp/index.ts";
import type { JsonObject } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { matchesFilter, readInquiries } from "../inquiry.ts";

export async function* readMatching(
  filter: InquiryFilter,
  context: CommandContext,
): AsyncGenerator<JsonObject> {
  const { conversation } = filter;
  const wanted = conversation === undefined ? {} : { conversation };
  for await (const row of readInquiries(wanted, context)) {
    if (matchesFilter(row, filter)) yield inquiryToJson(row);
  }
}
