/** `jp mcp serve`: an MCP server for other agents. Standard output carries only the protocol. */
import { randomBytes } from "node:crypto";
import { matchesInquiryFilter } from "../../../surfaces/render/index.ts";
import {
  configForNewConversation,
  loadRecordingParts,
  machineOf,
  openTools,
  warnWithheld,
} from "../../../assemble/index.ts";
import {
  type InquiryFilter,
  serveHttp,
  type ServeSetup,
  serveStdio,
} from "../../../surfaces/serve-mcp/index.ts";
import { abortable, type JsonObject } from "../../../util/index.ts";
import { type CommandContext, untilSignal, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { findPrompter, noTerminal } from "../../prompter.ts";
import { trustedConfig } from "../../trust.ts";
import { createToJson, readInquiries } from "../inquiry.ts";
import type { SERVE_MCP } from "./options.ts";
import type { FlagsOf } from "../../options.ts";

export async function serveMcp({ options, context }: Call<typeof SERVE_MCP>): Promise<void> {
  const { http = false } = options;
  if (!http && (options.port !== undefined || options.tokenEnv !== undefined)) {
    throw usageError("--port and --token-env need --http.");
  }
  const { conversations } = context.workspace;
  const trusted = await trustedConfig(context, options);
  warnWithheld(trusted, context);
  const { config } = trusted;
  await using tools = openTools(machineOf(context), config);
  const setup: ServeSetup = {
    version: context.version,
    conversations,
    newConversation: {
      ...configForNewConversation(config, context.clock),
      isLocal: config.conversation?.start_local ?? false,
    },
    tools: tools.toolbox,
    readInquiries: (filter) => readMatching(filter, context),
    // Over stdio, the terminal belongs to the client that started us.
    person:
      (http ? findPrompter(context, config, { ...options, sendsWords: false }) : undefined) ??
      noTerminal,
    clock: context.clock,
    onProblem: (message) => warn(message, context.output),
  };
  using stop = untilSignal(context);
  void loadRecordingParts(); // A client may take days to ask.
  await (http
    ? listen(setup, { options, context }, stop.signal)
    : talk(setup, context, stop.signal));
}

async function talk(
  setup: ServeSetup,
  { host: { stdin, stdout }, output }: CommandContext,
  signal: AbortSignal,
): Promise<void> {
  if (stdin.isTTY === true)
    output.notice("Waiting for an MCP client on standard input. Press Ctrl-C to stop; see --help.");
  // If the client disconnects, close its questions in the record before exiting.
  stdout.removeAllListeners("error");
  await serveStdio(setup, { input: stdin, output: stdout }, signal);
  stdin.destroy();
}

async function listen(
  setup: ServeSetup,
  { options, context }: Pick<Call<typeof SERVE_MCP>, "options" | "context">,
  signal: AbortSignal,
): Promise<void> {
  const { output } = context;
  const token = findToken(options, context);
  const service = await serveHttp(setup, { port: options.port ?? 0, token: token.value });
  output.notice(`Listening on ${service.url}`);
  output.notice(`Authorization: Bearer ${token.shown}`);
  output.notice("Clients must send that header. Press Ctrl-C to stop the server.");
  await abortable(new Promise(() => undefined), signal).catch(() => undefined);
  await service.close();
}

const MIN_TOKEN_LENGTH = 16;

/** Never from the command line, which every user of the machine can read. */
function findToken({ tokenEnv }: FlagsOf<typeof SERVE_MCP>, { environment }: CommandContext) {
  if (tokenEnv === undefined) {
    const value = randomBytes(32).toString("base64url");
    return { value, shown: value };
  }
  const value = environment.variables[tokenEnv] ?? "";
  if (value.length >= MIN_TOKEN_LENGTH) return { value, shown: `(the value of ${tokenEnv})` };
  throw usageError(
    `${tokenEnv} is not set to a token.`,
    `Set it to at least ${MIN_TOKEN_LENGTH} random characters.`,
  );
}

async function* readMatching(
  filter: InquiryFilter,
  context: CommandContext,
): AsyncGenerator<JsonObject> {
  const { conversation } = filter;
  const wanted = conversation === undefined ? {} : { conversation };
  const toJson = createToJson(context);
  for await (const row of readInquiries(wanted, context)) {
    if (!matchesInquiryFilter(row, filter)) continue;
    // The user may have withheld a result from models, and the client is one.
    const { result: _result, edited_content: _edited, ...json } = await toJson(row);
    yield json;
  }
}
