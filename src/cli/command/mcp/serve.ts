/** `jp mcp serve`: jp for other agents. Nothing but the protocol is written to standard output. */
import { randomBytes } from "node:crypto";
import { NOBODY } from "../../../agent/index.ts";
import { serveHttp, type ServeSetup, serveStdio } from "../../../serve-mcp/index.ts";
import { abortable } from "../../../util/index.ts";
import { type CommandContext, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import type { ConfigFlags } from "../../load-config.ts";
import { findPrompter, type InteractionFlags } from "../../prompter.ts";
import { configForNewConversation } from "../../remembered-config.ts";
import { openTools } from "../../tools.ts";
import { tellWithheld, trustedConfig } from "../../trust.ts";
import { readMatching } from "./matching-inquiries.ts";
import { untilSignal } from "./until-signal.ts";

export interface ServeFlags extends ConfigFlags, InteractionFlags {
  readonly http?: boolean;
  readonly port?: number;
  readonly tokenEnv?: string;
}

export async function serveMcp({ options, context }: Call<ServeFlags>): Promise<void> {
  const { http = false } = options;
  if (!http && (options.port !== undefined || options.tokenEnv !== undefined)) {
    throw usageError("--port and --token-env are for --http.");
  }
  const { conversations } = context.workspace;
  const trusted = await trustedConfig(context, options);
  tellWithheld(trusted, context);
  const { config } = trusted;
  await using tools = openTools(context, config);
  const setup: ServeSetup = {
    version: context.version,
    conversations,
    newConversation: {
      ...configForNewConversation(config, context.clock),
      isLocal: config.conversation?.start_local ?? false,
    },
    tools: tools.toolbox,
    readInquiries: (filter) => readMatching(filter, context),
    // A program that talks to its client over standard input was started by it, on its terminal.
    person: (http ? findPrompter(context, config, options) : undefined) ?? NOBODY,
    clock: context.clock,
    onProblem: (message) => warn(message, context.output),
  };
  using stop = untilSignal(context.host);
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
    output.notice("This talks to a program on standard input. Ctrl-C ends it; see --help.");
  // A client that is gone must not end us before its questions are closed in the record.
  stdout.removeAllListeners("error");
  await serveStdio(setup, { input: stdin, output: stdout }, signal);
  stdin.destroy();
}

async function listen(
  setup: ServeSetup,
  { options, context }: Pick<Call<ServeFlags>, "options" | "context">,
  signal: AbortSignal,
): Promise<void> {
  const { output } = context;
  const token = findToken(options, context);
  const service = await serveHttp(setup, { port: options.port ?? 0, token: token.value });
  output.notice(`Listening on ${service.url}`);
  output.notice(`Authorization: Bearer ${token.shown}`);
  output.notice("Clients need that header. Ctrl-C ends the server.");
  await abortable(new Promise(() => undefined), signal).catch(() => undefined);
  await service.close();
}

const SHORTEST_TOKEN = 16;

/** Never from the command line, where every user of the machine can read it. */
function findToken({ tokenEnv }: ServeFlags, { environment }: CommandContext) {
  if (tokenEnv === undefined) {
    const value = randomBytes(32).toString("base64url");
    return { value, shown: value };
  }
  const value = environment.variables[tokenEnv] ?? "";
  if (value.length >= SHORTEST_TOKEN) return { value, shown: `(what ${tokenEnv} holds)` };
  throw usageError(
    `The variable ${tokenEnv} holds no token.`,
    `Set it to at least ${SHORTEST_TOKEN} characters that nobody can guess.`,
  );
}
