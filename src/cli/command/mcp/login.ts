/** `jp mcp login` and `logout`. */
import type { ClosingReason } from "../../../core/agent/index.ts";
import type { InquiryId } from "../../../record/conversation/index.ts";
import { booleanQuestion, textQuestion } from "../../../record/tool/index.ts";
import type { TerminalPrompter } from "../../../surfaces/terminal/index.ts";
import { findSystemProgram } from "../../../reach/process/index.ts";
import {
  foldLayers,
  type McpServerSettings,
  resolveMcpServers,
} from "../../../settings/config/index.ts";
import { findClaims } from "../../../settings/trust/index.ts";
import {
  loadLogIn,
  loadLogOut,
  loadRedirect,
  type Login,
  type Logins,
  type Redirect,
  type RedirectListener,
} from "../../../reach/login/index.ts";
import { type HttpServer, usesLogins } from "../../../reach/mcp/index.ts";
import { machineOf, openConfiguredServers, warnWithheld } from "../../../assemble/index.ts";
import { abortable, JpError, messageOf, neutralize, oneLine } from "../../../util/index.ts";
import { type CommandContext, untilSignal, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { ExitStatus, INTERRUPTED, usageError } from "../../exit-status.ts";
import { loadConfig } from "../../load-config.ts";
import { describeLogin, openOwnLogins } from "../../logins.ts";
import { findQuietPrompter } from "../../prompter.ts";
import { trustedConfig } from "../../trust.ts";
import type { FlagsOf } from "../../options.ts";
import type { LOG_IN, LOG_OUT } from "./options.ts";

type Remote = Extract<McpServerSettings, { readonly type: "http" }>;

export async function logInToServer({
  args: [name = ""],
  options,
  context,
}: Call<typeof LOG_IN>): Promise<void> {
  using stop = untilSignal(context);
  const person = findQuietPrompter(context, {}, {});
  try {
    await logInTo(name, { options, context, person, signal: stop.signal });
  } catch (error) {
    if (stop.signal.aborted) throw new ExitStatus(INTERRUPTED);
    throw error;
  }
}

/** Where a login happens: a command or a session. */
interface LoginPlace {
  readonly options: FlagsOf<typeof LOG_IN>;
  readonly context: CommandContext;
  /** Undefined without a terminal. */
  readonly person: TerminalPrompter | undefined;
  readonly signal: AbortSignal;
}

/** Throws `mcp_unknown_server`, `usage`, `mcp_login_failed`, `no_login_needed`, and the signal's reason. */
export async function logInTo(name: string, place: LoginPlace): Promise<void> {
  const { options, context, signal } = place;
  const { output, clock } = context;
  const trusted = await trustedConfig(context, options, {});
  warnWithheld(trusted, context);
  await using servers = openConfiguredServers(machineOf(context), trusted.config);
  const remote = assertRemote(name, resolveMcpServers(trusted.config).get(name), servers.names);
  const server: HttpServer = { name, url: remote.url };
  const logins = await openOwnLogins(context);
  const before = findEarlier(logins, server, output);
  const { oauth = {} } = remote;
  const { listenForRedirect } = await loadRedirect();
  const { logIn } = await loadLogIn();
  const listener = await listenForRedirect({ port: oauth.redirectPort, earlier: portOf(before) });
  try {
    const login = await logIn({
      server,
      settings: {
        clientId: oauth.clientId,
        clientSecret: secretFrom(options, context),
        authorizationServer: options.authorizationServer ?? oauth.authorizationServer,
        scopes: [...(oauth.scopes ?? []), ...(options.scope ?? [])],
      },
      before,
      redirectUrl: listener.url,
      approve: async (address) => {
        const where = `${name} (${remote.url}) asks you to log in at ${address.href}`;
        output.notice(neutralize(where));
        if (await isFromWorkspace(name, options, context)) await confirmPlace(address, place);
      },
      visit: (link, state) => {
        show(link, options, context);
        return receive(listener, state, place);
      },
      now: () => clock.now(),
      signal,
    });
    await logins.save(server, login);
  } finally {
    listener.close();
  }
  const state = logins.findState(server);
  output.notice(`You are now ${state === undefined ? "logged in" : describeLogin(state)}: ${name}`);
  await tryServer(name, servers, place);
}

/** From the browser, or pasted: whatever comes first. */
async function receive(
  listener: RedirectListener,
  state: string,
  { person, signal }: LoginPlace,
): Promise<Redirect> {
  const isOver = new AbortController();
  const until = AbortSignal.any([signal, isOver.signal]);
  const pasted = readPasted(person, { url: listener.url, state }, until);
  try {
    return await abortable(Promise.race([listener.receive(state), pasted]), signal);
  } finally {
    // The user did it themselves, in the browser.
    isOver.abort({ notice: "" } satisfies ClosingReason);
  }
}

function assertRemote(
  name: string,
  settings: McpServerSettings | undefined,
  known: readonly string[],
): Remote {
  if (settings === undefined) {
    const others =
      known.length === 0 ? "" : ` Configured servers: ${known.map(oneLine).join(", ")}.`;
    throw new JpError("mcp_unknown_server", `Unknown MCP server "${oneLine(name)}".`, {
      hint: `Add it with: jp mcp add ${oneLine(name)} <URL>.${others}`,
    });
  }
  if (settings.type !== "http") {
    throw usageError(`${name} is a program on this machine. Only servers with a URL have a login.`);
  }
  if (!usesLogins(settings)) {
    throw usageError(
      `providers.mcp.${name}.headers sets Authorization, which takes the place of a login.`,
      "Remove the header to log in.",
    );
  }
  return settings;
}

/** A damaged file is replaced by the new login. */
function findEarlier(
  logins: Logins,
  server: HttpServer,
  output: CommandContext["output"],
): Login | undefined {
  try {
    return logins.find(server);
  } catch (error) {
    warn(messageOf(error), output);
    logins.forget(server);
    return undefined;
  }
}

/** The port that the earlier login's client was registered with. */
function portOf(before: Login | undefined): number | undefined {
  const { client } = before ?? {};
  const [address] = client !== undefined && "redirect_uris" in client ? client.redirect_uris : [];
  const port = Number(URL.parse(address ?? "")?.port ?? "");
  return port === 0 ? undefined : port;
}

function secretFrom(
  { clientSecretEnv }: FlagsOf<typeof LOG_IN>,
  { environment }: CommandContext,
): string | undefined {
  if (clientSecretEnv === undefined) return undefined;
  const secret = environment.variables[clientSecretEnv] ?? "";
  if (secret !== "") return secret;
  throw usageError(`${oneLine(clientSecretEnv)} is not set.`);
}

/** Whether a file of the workspace configures the server, alone or with the user's own. */
async function isFromWorkspace(
  name: string,
  options: FlagsOf<typeof LOG_IN>,
  context: CommandContext,
): Promise<boolean> {
  const layers = await loadConfig(context, options);
  return findClaims(layers).some((claim) => claim.kind === "mcp" && claim.name === name);
}

/** A workspace may come from anyone, and so may the address. Throws `usage` without a terminal. */
async function confirmPlace({ href }: URL, { options, person, signal }: LoginPlace): Promise<void> {
  if (options.authorizationServer !== undefined) return;
  if (person?.canAsk() !== true) {
    throw usageError(
      "The server comes from this workspace's config, and no terminal is available to ask you about it.",
      `To accept the address: --authorization-server ${oneLine(href)}`,
    );
  }
  const text = "The server comes from this workspace's config. Log in there?";
  const question = booleanQuestion("place", text, { default: false });
  const result = await person.ask({ inquiryId: "login" as InquiryId, question, signal });
  if (result.type !== "answered" || result.answer !== true) throw new ExitStatus(1);
}

function show(link: URL, { browser }: FlagsOf<typeof LOG_IN>, context: CommandContext): void {
  const { output } = context;
  const isOpened = browser && openBrowser(link, context);
  output.notice(
    isOpened
      ? "Your browser opens. If it does not, open this link:"
      : "Open this link in a browser:",
  );
  output.notice(`\n  ${neutralize(link.href)}\n`);
}

/** Returns false where there is none. The link starts with https:// or http://, so it cannot pass for an option. */
function openBrowser(link: URL, { environment: { variables, platform } }: CommandContext): boolean {
  const hasScreen =
    platform === "darwin" || "DISPLAY" in variables || "WAYLAND_DISPLAY" in variables;
  const program = findSystemProgram(platform === "darwin" ? "open" : "xdg-open");
  if (!hasScreen || program === undefined || platform === "win32") return false;
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(program, [link.href], { stdio: "ignore", detached: true });
  child.on("error", () => undefined); // The link is printed too.
  child.unref();
  return true;
}

/** The address that the user pastes. Never settles without a terminal. Throws `ExitStatus` if the user gives up. */
async function readPasted(
  person: TerminalPrompter | undefined,
  { url, state }: { readonly url: string; readonly state: string },
  signal: AbortSignal,
): Promise<Redirect> {
  if (person?.canAsk() !== true) return new Promise(() => undefined);
  const { parseRedirect } = await loadRedirect();
  let context: string | undefined;
  for (;;) {
    const question = textQuestion(
      "redirect",
      "Or paste the address here at which the browser ends:",
      {
        ...(context !== undefined && { context }),
      },
    );
    const result = await person.ask({ inquiryId: "login" as InquiryId, question, signal });
    if (result.type !== "answered") throw new ExitStatus(INTERRUPTED);
    const { answer } = result;
    const redirect = typeof answer === "string" ? parseRedirect(answer, url, state) : undefined;
    if (redirect !== undefined) return redirect;
    context = `That is not the address of this login, which starts with ${url}`;
  }
}

/** Says at once if the server does not accept the login. */
async function tryServer(
  name: string,
  servers: ReturnType<typeof openConfiguredServers>,
  { context: { output }, signal }: LoginPlace,
): Promise<void> {
  const reached = await servers.get(name, signal, false);
  if (reached.type === "absent") {
    warn(reached.warning.message, output);
    throw new ExitStatus(1);
  }
  const count = reached.tools.length;
  output.notice(`It offers ${count} ${count === 1 ? "tool" : "tools"}: jp mcp tools ${name}`);
}

/** Takes the address of a server that is no longer configured, too. Throws `not_logged_in`. */
export async function logOutOfServer({
  args: [given = ""],
  options,
  context,
}: Call<typeof LOG_OUT>): Promise<void> {
  const { output } = context;
  const settings = resolveMcpServers(foldLayers(await loadConfig(context, options))).get(given);
  const url = settings?.type === "http" ? settings.url : given;
  const logins = await openOwnLogins(context);
  const login = await logins.remove({ name: given, url });
  if (login === undefined) {
    throw new JpError("not_logged_in", `You are not logged in to ${oneLine(given)}.`, {
      hint: "`jp mcp ls` lists the servers, and your logins.",
    });
  }
  const { revoke } = await loadLogOut();
  const end = await revoke(login);
  output.notice(`You are logged out of ${oneLine(given)}. The tokens are deleted.`);
  if (end.type === "revoked") return;
  const why =
    end.type === "failed" ? `could not be told: ${end.reason}` : "has no way to end a login early";
  warn(`${login.issuer} ${why}. What it has issued stays valid until it ends.`, output);
}
