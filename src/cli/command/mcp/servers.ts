/** `jp mcp add`, `ls`, `tools` and `rm`: manage the config's MCP servers. */
import { existsSync } from "node:fs";
import {
  explainLayers,
  foldLayers,
  type Layer,
  parseConfigOrThrow,
  type PartialConfig,
  readConfigFile,
  resolveMcpServers,
  type McpServerSettings,
  valueAt,
} from "../../../settings/config/index.ts";
import { quoteCommand } from "../../../reach/process/index.ts";
import type { LoginState } from "../../../reach/login/index.ts";
import { usesLogins, variablesIn } from "../../../reach/mcp/index.ts";
import { type Cell, renderTable } from "../../../surfaces/render/index.ts";
import {
  findServerClashes,
  findWorkspace,
  machineOf,
  openConfiguredServers,
  warnWithheld,
  workspaceTrust,
} from "../../../assemble/index.ts";
import { findClaims, isClaimWithin, TRUST_HINT } from "../../../settings/trust/index.ts";
import {
  firstLine,
  isDeepEqual,
  JpError,
  jsonLine,
  type JsonObject,
  messageOf,
  neutralize,
  oneLine,
} from "../../../util/index.ts";
import { type CommandContext, untilSignal, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { ExitStatus, usageError } from "../../exit-status.ts";
import { loadConfig } from "../../load-config.ts";
import { describeLogin, openOwnLogins } from "../../logins.ts";
import { trustedConfig } from "../../trust.ts";

import { type ConfigFilePlace, editConfigFile, fileFor } from "../config.ts";
import type { ADD_SERVER, LIST_SERVERS, REMOVE_SERVER } from "./options.ts";
import type { FlagsOf } from "../../options.ts";

const PATH = ["providers", "mcp"];

export async function addServer({
  args,
  options,
  context,
}: Call<typeof ADD_SERVER>): Promise<void> {
  const [name = "", target = "", ...rest] = args;
  if (!/^[\w-]+$/.test(name))
    throw usageError("A server's name may contain only letters, digits, - and _.");
  const server = serverConfig(target, rest, options);
  const keys = [...PATH, name];
  const added = parseConfigOrThrow("jp mcp add", { providers: { mcp: { [name]: server } } });
  const place = options.in;
  if (options.force !== true && (await isIn(await fileFor(place, context), keys))) {
    const hint = "Choose another name, or replace it with --force.";
    throw new JpError("server_exists", `A server named ${name} already exists.`, { hint });
  }
  const file = await editConfigFile(place, [{ keys, value: server }], context);
  if (place === "workspace") await trustServer(name, added, context);
  context.output.notice(neutralize(`Added ${name} to ${file}`));
  context.output.notice(`To see its tools: jp mcp tools ${name}`);
}

function serverConfig(
  target: string,
  args: readonly string[],
  { env = [], header = [], optional, tools }: FlagsOf<typeof ADD_SERVER>,
): JsonObject {
  const isAddress = /^https?:\/\//i.test(target);
  if (!isAddress && /^[a-z][\w+.-]*:\/\//i.test(target)) {
    throw usageError("A server's URL starts with http:// or https://.");
  }
  if (isAddress && (args.length > 0 || env.length > 0)) {
    throw usageError("A server with a URL takes no arguments and no --env.");
  }
  if (!isAddress && header.length > 0) throw usageError("--header is for servers with a URL.");
  return {
    ...(isAddress ? { url: target } : { command: target }),
    ...(args.length > 0 && { arguments: [...args] }),
    ...(env.length > 0 && { variables: [...env] }),
    ...(header.length > 0 && { headers: Object.fromEntries(header.map(parseHeader)) }),
    ...(optional === true && { optional }),
    ...(tools && { all_tools: true }),
  };
}

function parseHeader(text: string): readonly [string, string] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw usageError(
      "--header has the form 'Name: value'.",
      "For example: --header 'Authorization: Bearer $TOKEN'",
    );
  }
  return [name, value];
}

async function isIn(file: string, keys: readonly string[]): Promise<boolean> {
  return existsSync(file) && valueAt((await readConfigFile(file)).value, keys) !== undefined;
}

/**
 * Trusts what the user has just written. Settings that other workspace files add to it are not the user's and still
 * need trust.
 */
async function trustServer(
  name: string,
  added: PartialConfig,
  context: CommandContext,
): Promise<void> {
  const claims = findClaims(await loadConfig(context, {})).filter(
    (claim) => claim.kind === "mcp" && claim.name === name,
  );
  const own = claims.filter((claim) => isClaimWithin(added, claim));
  await workspaceTrust(context, context.workspace).trust(own);
  if (own.length < claims.length)
    warn(`another file changes ${name}, and is not trusted. ${TRUST_HINT}`, context.output);
}

export async function listServers({ options, context }: Call<typeof LIST_SERVERS>): Promise<void> {
  const { output } = context;
  const layers = await loadConfig(context, options);
  const servers = [...resolveMcpServers(foldLayers(layers)).values()];
  const untrusted = await untrustedServers(layers, context);
  const findLogin = await loginsOf(servers, context);
  const listed = servers.map((server) => ({
    name: server.name,
    needs: needsOf(server, context),
    ...findLogin(server),
    type: server.type,
    target: targetOf(server),
    tools: server.offersAllTools === true ? "all" : "configured",
    trusted: !untrusted.has(server.name),
    from: originOf(server.name, layers),
  }));
  if (options.format === "json") {
    for (const server of listed) output.print(jsonLine(server));
    return;
  }
  if (listed.length === 0)
    return output.notice("No MCP servers yet. To add one: jp mcp add <name> <command or URL>");
  const hasStates = listed.some(({ needs, login }) => needs.length > 0 || login != null);
  const columns = [
    { title: "SERVER" },
    { title: "TOOLS" },
    ...(hasStates ? [{ title: "STATE", shrinks: true }] : []),
    { title: "COMMAND OR URL", shrinks: true },
    { title: "FROM", shrinks: true },
  ];
  const rows = listed.map(({ name, tools, target, from, trusted, needs, login }): Cell[] => [
    { text: oneLine(name), style: "cyan" },
    { text: trusted ? tools : "not trusted", style: trusted ? "dim" : "yellow" },
    ...(hasStates ? [stateCell(needs, login)] : []),
    { text: oneLine(target) },
    { text: oneLine(from), style: "dim" },
  ]);
  const { paint, lineWidth: width } = output;
  for (const line of renderTable({ columns, rows, paint, width })) output.print(line);
}

/** Names missing variables rather than the login: without them, the server cannot be used. */
function stateCell(needs: readonly string[], login: LoginState | null | undefined): Cell {
  if (needs.length > 0) return { text: oneLine(`needs ${needs.join(", ")}`), style: "yellow" };
  if (login == null) return { text: "" };
  return { text: describeLogin(login), style: login.hasEnded ? "yellow" : "dim" };
}

/** The environment variables that the server needs, and that are not set. */
function needsOf(
  server: McpServerSettings,
  { environment: { variables } }: CommandContext,
): readonly string[] {
  const names = server.type === "stdio" ? server.variables : variablesIn(server.headers);
  return names.filter((name) => variables[name] === undefined).map((name) => `$${name}`);
}

/** Reads the logins of servers that can have one. Asks no one. */
async function loginsOf(servers: readonly McpServerSettings[], context: CommandContext) {
  const logins = servers.some(usesLogins) ? await openOwnLogins(context) : undefined;
  return (server: McpServerSettings): { readonly login?: LoginState | null } => {
    if (logins === undefined || !usesLogins(server)) return {};
    try {
      return { login: logins.findState(server) ?? null };
    } catch (error) {
      warn(messageOf(error), context.output);
      return { login: null };
    }
  };
}

function targetOf(server: McpServerSettings): string {
  return server.type === "http" ? server.url : quoteCommand([server.command, ...server.arguments]);
}

function originOf(name: string, layers: readonly Layer[]): string {
  const value = explainLayers(layers).find(({ path }) =>
    [...PATH, name].every((key, depth) => path[depth] === key),
  );
  return value?.layers[0] ?? "";
}

async function untrustedServers(
  layers: readonly Layer[],
  context: CommandContext,
): Promise<ReadonlySet<string>> {
  const workspace = findWorkspace(context);
  if (workspace === undefined) return new Set();
  const claims = await workspaceTrust(context, workspace).findUntrusted(layers);
  return new Set(
    claims.flatMap(({ path: keys }) =>
      isDeepEqual(keys.slice(0, -1), PATH) ? keys.slice(-1) : [],
    ),
  );
}

/** Starts the servers and stops them again. */
export async function listServerTools({
  args,
  options,
  context,
}: Call<typeof LIST_SERVERS>): Promise<void> {
  const [wanted] = args;
  const { output } = context;
  const trusted = await trustedConfig(context, options, {});
  warnWithheld(trusted, context);
  using stop = untilSignal(context);
  await using servers = openConfiguredServers(machineOf(context), trusted.config);
  const names = wanted === undefined ? servers.names : [wanted];
  servers.start(names);
  const reached = await Promise.allSettled(names.map((name) => servers.get(name, stop.signal)));
  const tools = reached.flatMap((result, index) => {
    if (result.status === "rejected" && wanted !== undefined) throw result.reason;
    if (result.status === "rejected") warn(messageOf(result.reason), output);
    else if (result.value.type === "absent") warn(result.value.warning.message, output);
    const found =
      result.status === "fulfilled" && result.value.type === "ready" ? result.value.tools : [];
    const server = names[index] ?? "";
    return found.map(({ name, description = "" }): ServerTool => ({ server, name, description }));
  });
  const isListed = (name: string) => names.includes(name);
  const clashes = await findServerClashes(trusted.config, { servers, isListed }, stop.signal);
  for (const { message, hint = "", sources } of clashes) {
    warn(`${message} Neither is available. ${hint}`.trim(), output);
    for (const tool of tools) {
      if (sources.includes(`mcp.${tool.server}.${tool.name}`)) tool.unavailable = message;
    }
  }
  if (options.format === "json") for (const tool of tools) output.print(jsonLine(tool));
  else printTools(tools, context);
  const isComplete = reached.every(
    (one) => one.status === "fulfilled" && one.value.type === "ready",
  );
  if (!isComplete) throw new ExitStatus(1);
}

interface ServerTool {
  readonly server: string;
  readonly name: string;
  readonly description: string;
  /** Why models are not offered it. */
  unavailable?: string;
}

function printTools(tools: readonly ServerTool[], { output }: CommandContext): void {
  if (tools.length === 0) return output.notice("No tools.");
  const columns = [{ title: "SERVER" }, { title: "TOOL" }, { title: "DESCRIPTION", shrinks: true }];
  const rows = tools.map(({ server, name, description }): Cell[] => [
    { text: oneLine(server), style: "dim" },
    { text: oneLine(name), style: "cyan" },
    { text: firstLine(description) },
  ]);
  const { paint, lineWidth: width } = output;
  for (const line of renderTable({ columns, rows, paint, width })) output.print(line);
}

/** Without `--in`, removes it from the only file that has it. */
export async function removeServer({
  args,
  options,
  context,
}: Call<typeof REMOVE_SERVER>): Promise<void> {
  const [name = ""] = args;
  const keys = [...PATH, name];
  const workspace = findWorkspace(context);
  const ofWorkspace = workspace?.isPlainFolder === false ? (["workspace"] as const) : [];
  const places: readonly ConfigFilePlace[] =
    options.in !== undefined
      ? [options.in]
      : [...(["user", "local"] as const).slice(0, workspace === undefined ? 1 : 2), ...ofWorkspace];
  const found: ConfigFilePlace[] = [];
  for (const place of places)
    if (await isIn(await fileFor(place, context), keys)) found.push(place);
  const [place] = found;
  if (place === undefined) {
    const hint = "`jp mcp ls` lists the servers, and where they come from.";
    throw new JpError("server_not_found", `Your config files have no server named ${name}.`, {
      hint,
    });
  }
  if (found.length > 1) {
    throw usageError(
      `Several files have ${name}.`,
      `Choose one: ${found.map((one) => `--in ${one}`).join(", ")}`,
    );
  }
  const servers = resolveMcpServers(foldLayers(await loadConfig(context, {})));
  const file = await editConfigFile(place, [{ keys }], context);
  context.output.notice(neutralize(`Removed ${name} from ${file}`));
  await tellOfLogin(servers.get(name), context);
}

/** A login stays: another config may name the server, too. */
async function tellOfLogin(
  server: McpServerSettings | undefined,
  context: CommandContext,
): Promise<void> {
  if (server === undefined || !usesLogins(server)) return;
  const { login } = (await loginsOf([server], context))(server);
  if (login != null)
    context.output.notice(
      neutralize(`You are still logged in. To end that: jp mcp logout ${server.url}`),
    );
}
