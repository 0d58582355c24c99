/** The MCP server of one connection or request, and its tools. */
import type {
  CallToolResult,
  InputRequiredResult,
  Server,
  ServerContext,
  Tool,
} from "@modelcontextprotocol/server";
import { DECIDERS, DECISION_KINDS } from "../../record/conversation/index.ts";
import { checkArguments } from "../../reach/executor/index.ts";
import { INQUIRY_STATES } from "../render/index.ts";
import { isJpError, jsonLine, type JsonObject } from "../../util/index.ts";
import type { ClientRecord } from "./client-record.ts";
import { type Client, clientOf, type Connection } from "./client.ts";
import type { ClientQuestions } from "./client-questions.ts";
import { ASK_USER, type InquiryFilter, type ServeSetup } from "./setup.ts";

export interface ServerParts extends Omit<Connection, "server"> {
  readonly setup: ServeSetup;
  readonly questions: ClientQuestions;
  /** The record of a client's questions. */
  readonly recordOf: (client: Client) => ClientRecord;
  /** Aborted when a request's connection closes. Absent if the server ends with its only one. */
  readonly connectionOf?: (request: Request | undefined) => AbortSignal | undefined;
}

/** Names no tool: the config may disable one. */
const INSTRUCTIONS =
  "Asks the user typed questions, and records each with its answer. Look into the record before you ask: the user may " +
  "have answered already. Ask only what you cannot find out otherwise, related questions together, and never for " +
  "secrets. A question that was declined or could not be asked has no answer: do not assume one.";

/** For both tools: some clients run only such tools without the user's permission. */
const CHANGES_NOTHING = { readOnlyHint: true, openWorldHint: false };

export function createServer(parts: ServerParts): Server {
  const { sdk, setup, questions } = parts;
  const server = new sdk.Server(
    { name: "jp", version: setup.version },
    {
      capabilities: { tools: {} },
      instructions: INSTRUCTIONS,
      requestState: questions.requestState,
    },
  );
  server.setRequestHandler("tools/list", async (_request, { mcpReq }) => ({
    tools: await listTools(setup, mcpReq.signal),
  }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const args = (params.arguments ?? {}) as JsonObject; // Parsed from JSON.
    try {
      return await callTool({ ...parts, server, context }, params.name, args);
    } catch (error) {
      if (!isJpError(error)) throw error;
      const text = error.hint === undefined ? error.message : `${error.message}\n${error.hint}`;
      return { content: [{ type: "text", text }], isError: true };
    }
  });
  return server;
}

async function listTools({ tools }: ServeSetup, signal: AbortSignal): Promise<Tool[]> {
  const askUser = await tools.find(ASK_USER, signal);
  if (askUser === undefined) return [LIST_INQUIRIES];
  const { name, summary, description = summary, parameters } = askUser.description;
  // Parameters always describe an object.
  const inputSchema = parameters as Tool["inputSchema"];
  const title = "Ask the user";
  return [{ name, title, description, inputSchema, annotations: CHANGES_NOTHING }, LIST_INQUIRIES];
}

interface Called extends ServerParts, Connection {
  readonly context: ServerContext;
}

async function callTool(
  called: Called,
  name: string,
  args: JsonObject,
): Promise<CallToolResult | InputRequiredResult> {
  const { sdk, setup, questions, context } = called;
  if (name === LIST_INQUIRIES.name) return listInquiries(setup, args);
  const isOffered =
    name === ASK_USER && (await setup.tools.find(name, context.mcpReq.signal)) !== undefined;
  if (!isOffered) {
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`);
  }
  const client = clientOf(called, context);
  return questions.ask({
    client,
    record: called.recordOf(client),
    arguments: args,
    context,
    connection: called.connectionOf?.(context.http?.req),
  });
}

const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 50;

const PARAMETERS = {
  type: "object" as const,
  properties: {
    conversation: listOf("only of these conversations, by id or part of the title"),
    kind: listOf("only these kinds", DECISION_KINDS),
    outcome: listOf(
      "only with these outcomes; answered includes approved, denied and edited",
      INQUIRY_STATES,
    ),
    by: listOf("only answered or decided by", DECIDERS),
    limit: {
      type: "integer",
      minimum: 1,
      maximum: MAX_LIMIT,
      default: DEFAULT_LIMIT,
      description: "how many to return at most, counted from the end",
    },
  },
  additionalProperties: false,
};

const LIST_INQUIRIES: Tool = {
  name: "list_inquiries",
  title: "List questions and decisions",
  description:
    "List the questions asked in this workspace, and the decisions about tool calls: who asked, who answered, and " +
    "how, or why there is no answer. One JSON object per line, in the order asked within each conversation. Secrets and the results of tools are never included.",
  inputSchema: PARAMETERS,
  annotations: CHANGES_NOTHING,
};

/** Throws what reading throws. */
async function listInquiries(
  { readInquiries }: Pick<ServeSetup, "readInquiries">,
  given: JsonObject,
): Promise<CallToolResult> {
  const description = { name: LIST_INQUIRIES.name, parameters: PARAMETERS };
  const checked = await checkArguments(description, given);
  if (!checked.ok) return { content: [{ type: "text", text: checked.message }], isError: true };
  // Just checked against the schema.
  const { limit = DEFAULT_LIMIT, ...filter } = checked.arguments as InquiryFilter & {
    limit?: number;
  };
  const last: string[] = [];
  for await (const inquiry of readInquiries(filter)) {
    last.push(jsonLine(inquiry));
    if (last.length > limit) last.shift();
  }
  return { content: [{ type: "text", text: last.join("\n") }] };
}

function listOf(description: string, values?: readonly string[]) {
  const items = { type: "string", ...(values !== undefined && { enum: [...values] }) };
  return { type: "array", items, description };
}
