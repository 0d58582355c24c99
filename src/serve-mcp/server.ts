/** The MCP server of one connection or request: its tools, and the client it talks to. */
import type {
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  Server,
  ServerContext,
  Tool,
} from "@modelcontextprotocol/server";
import { checkArguments } from "../executor/index.ts";
import { jsonLine, oneLine } from "../render/index.ts";
import { isJpError, isJsonObject, type JsonObject } from "../util/index.ts";
import type { ClientRecord } from "./client-record.ts";
import type { QuestionDesk } from "./desk.ts";
import { ASK_USER, type InquiryFilter, type Sdk, type ServeSetup } from "./setup.ts";

export interface ServerParts extends Omit<Connection, "server"> {
  readonly setup: ServeSetup;
  readonly desk: QuestionDesk;
  /** Where a client's questions are recorded. */
  readonly recordOf: (client: Client) => ClientRecord;
}

export function createServer(parts: ServerParts): Server {
  const { sdk, setup, desk } = parts;
  const server = new sdk.Server(
    { name: "jp", version: setup.version },
    { capabilities: { tools: {} }, requestState: desk.requestState },
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
  const { name, summary, parameters } = askUser.description;
  // Parameters always describe an object.
  const inputSchema = parameters as Tool["inputSchema"];
  return [{ name, description: summary, inputSchema }, LIST_INQUIRIES];
}

interface Called extends ServerParts, Connection {
  readonly context: ServerContext;
}

async function callTool(
  called: Called,
  name: string,
  args: JsonObject,
): Promise<CallToolResult | InputRequiredResult> {
  const { sdk, setup, desk, context } = called;
  if (name === LIST_INQUIRIES.name) return listInquiries(setup, args);
  const isOffered =
    name === ASK_USER && (await setup.tools.find(name, context.mcpReq.signal)) !== undefined;
  if (!isOffered) {
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`);
  }
  const client = clientOf(called, context);
  return desk.ask({ client, record: called.recordOf(client), arguments: args, context });
}

/** `modern`: the protocol since 2026-07-28, where a question is a result and its answer a new request. */
type Era = "legacy" | "modern";

export interface Client {
  /** One short line, safe to show. Chosen by the client, and not verified. */
  readonly name: string;
  readonly era: Era;
  /** It can show forms to its user. */
  readonly hasForms: boolean;
  /** It does not know titles for options, only `enumNames`. */
  readonly knowsEnumNamesOnly: boolean;
}

const MAX_NAME_LENGTH = 60;

interface Connection {
  readonly sdk: Sdk;
  readonly server: Server;
  readonly era: Era;
}

function clientOf({ sdk, server, era }: Connection, { mcpReq }: ServerContext): Client {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const info = era === "modern" ? envelope[sdk.CLIENT_INFO_META_KEY] : server.getClientVersion();
  const capabilities =
    era === "modern" ? envelope[sdk.CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities();
  return {
    name: nameOf(info),
    era,
    hasForms: hasForms(capabilities as ClientCapabilities | undefined), // Checked by the SDK.
    knowsEnumNamesOnly: server.getNegotiatedProtocolVersion() === "2025-06-18",
  };
}

function nameOf(info: unknown): string {
  const { name } = isJsonObject(info) ? info : {};
  const line = typeof name === "string" ? oneLine(name) : "";
  return line === "" ? "unnamed client" : line.slice(0, MAX_NAME_LENGTH).toWellFormed();
}

/** Forms are the older kind: a client that names no kind supports them. */
function hasForms(capabilities: ClientCapabilities | undefined): boolean {
  const { elicitation } = capabilities ?? {};
  if (elicitation === undefined) return false;
  return elicitation.form !== undefined || elicitation.url === undefined;
}

const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 50;

const PARAMETERS = {
  type: "object" as const,
  properties: {
    conversation: listOf("only questions of these conversations, by id or part of the title"),
    outcome: listOf("only questions with these outcomes", [
      "answered",
      "redacted",
      "cancelled",
      "unanswered",
    ]),
    by: listOf("only questions answered by", [
      "user",
      "assistant",
      "config",
      "remembered",
      "policy",
      "default",
      "answers_file",
    ]),
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
  description:
    "List the questions asked in this workspace: who asked, who answered, and how, or why there is no " +
    "answer. One JSON object per line, in the order asked within each conversation. Secrets are never included.",
  inputSchema: PARAMETERS,
  annotations: { readOnlyHint: true, openWorldHint: false },
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

function listOf(description: string, values?: string[]) {
  const items = { type: "string", ...(values !== undefined && { enum: values }) };
  return { type: "array", items, description };
}
