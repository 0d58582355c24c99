/** `list_inquiries`: the record of questions, for a client to read. */
import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import { checkArguments } from "../executor/index.ts";
import { jsonLine } from "../render/index.ts";
import type { JsonObject } from "../util/index.ts";
import type { InquiryFilter, ServeSetup } from "./setup.ts";

const MOST = 1000;
const USUAL = 50;

const PARAMETERS = {
  type: "object" as const,
  properties: {
    conversation: listOf("only those of these conversations: ids, or parts of titles"),
    outcome: listOf("only those that ended so", [
      "answered",
      "redacted",
      "cancelled",
      "unanswered",
    ]),
    by: listOf("only those that were answered by", [
      "user",
      "assistant",
      "config",
      "remembered",
      "policy",
      "default",
    ]),
    limit: {
      type: "integer",
      minimum: 1,
      maximum: MOST,
      default: USUAL,
      description: "how many at most; of more, the last ones",
    },
  },
  additionalProperties: false,
};

export const LIST_INQUIRIES: Tool = {
  name: "list_inquiries",
  description:
    "List the questions that were asked in this workspace: who asked, what, who answered and how, " +
    "or why there is no answer. One JSON object a line, in the order in which they were asked within " +
    "each conversation. Secrets are never among the answers.",
  inputSchema: PARAMETERS,
  annotations: { readOnlyHint: true, openWorldHint: false },
};

/** Throws what reading throws. */
export async function listInquiries(
  { readInquiries }: Pick<ServeSetup, "readInquiries">,
  given: JsonObject,
): Promise<CallToolResult> {
  const description = { name: LIST_INQUIRIES.name, parameters: PARAMETERS };
  const checked = await checkArguments(description, given);
  if (!checked.ok) return { content: [{ type: "text", text: checked.message }], isError: true };
  // Of the types that the schema says: it was just checked.
  const { limit = USUAL, ...filter } = checked.arguments as InquiryFilter & { limit?: number };
  const last: string[] = [];
  for await (const inquiry of readInquiries(filter)) {
    last.push(jsonLine(inquiry));
    if (last.length > limit) last.shift();
  }
  return { content: [{ type: "text", text: last.join("\n") }] };
}

function listOf(description: string, values?: string[]) {
  const items = { type: "string", ...(values !== undefined && { enum: values }) };
  return { type: "array", items, description };
}
