/** The server that one connection, or one request, talks to: its list of tools, and what they do. */
import type { CallToolResult, Server, ServerContext, Tool } from "@modelcontextprotocol/server";
import type { InputRequiredResult } from "@modelcontextprotocol/server";
import { isCodedError, type JsonObject } from "../util/index.ts";
import { type Client, type Connection, clientOf } from "./client.ts";
import type { ClientRecord } from "./client-record.ts";
import { LIST_INQUIRIES, listInquiries } from "./list-inquiries.ts";
import type { QuestionDesk } from "./question-desk.ts";
import { ASK_USER, type ServeSetup } from "./setup.ts";

export interface ServerParts extends Omit<Connection, "server"> {
  readonly setup: ServeSetup;
  readonly desk: QuestionDesk;
  /** Where the questions of a client go. */
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
    const args = (params.arguments ?? {}) as JsonObject; // It came as JSON.
    try {
      return await callTool({ ...parts, server, context }, params.name, args);
    } catch (error) {
      if (!isCodedError(error)) throw error;
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
  // Parameters are always those of an object.
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
