/** Tools declared in config, ready to be called. Programs' tools are in `own-tools.ts`. */
import type { CallableTool, Toolbox } from "../core/agent/index.ts";
import {
  ConfigError,
  offeringServers,
  type PartialConfig,
  resolveMcpServers,
  resolveShell,
  resolveTools,
  type ToolSettings,
} from "../settings/config/index.ts";
import type { ConversationId } from "../record/conversation/index.ts";
import {
  createTool,
  describeAddress,
  type FindDescription,
  type RefusedQuestions,
  type RunnableTool,
  type ShellPlace,
  type ToolParts,
  type ServerQuestions,
  toRefusedQuestions,
  toServerQuestions,
} from "../reach/executor/index.ts";
import {
  McpError,
  McpServers,
  type ServerLogins,
  type SharedQuestion,
  type UnscopedQuestion,
} from "../reach/mcp/index.ts";
import {
  assertRules,
  createPolicy,
  findOutsideFiles,
  openSavedRules,
  type OpenSavedRules,
  type Policy,
  type PolicyOptions,
} from "../core/policy/index.ts";
import type { ToolSchema } from "../reach/provider/index.ts";
import { userDataFolder } from "../stores/index.ts";
import type { ToolSource } from "../record/tool/index.ts";
import type { ChangeKeeper } from "../reach/undo/index.ts";
import { type Clock, JpError, findClosest, loaderOf, messageOf } from "../util/index.ts";
import type { Machine } from "./place.ts";
import { type Clashes, listServers, withServerTools } from "./server-tools.ts";
import { createShippedTools } from "./shipped-tools.ts";

const loadLogins = loaderOf(() => import("../reach/login/index.ts"));

/** Few servers need one. */
async function findLogins(dataFolder: string, clock: Clock): Promise<ServerLogins> {
  const { laterLogins, loginFolder } = await loadLogins();
  return laterLogins({ folder: loginFolder(dataFolder), clock });
}

/** The MCP servers declared in config. Each starts when it is first needed. */
export function openConfiguredServers(machine: Machine, config: PartialConfig): McpServers {
  const { root, variables, version, clock, dataFolder, onWarning } = machine;
  return new McpServers(resolveMcpServers(config), {
    variables,
    cwd: root,
    clientInfo: { name: "jp", version },
    ...(dataFolder !== undefined && { findLogins: () => findLogins(dataFolder, clock) }),
    onRefusal: (refusal) => {
      if (refusal.isCall) onWarning(refusal.error.message);
      machine.onRefusal?.(refusal);
    },
    onUnscopedQuestion: (stray) => onWarning(describeUnscoped(stray)),
  });
}

/** Servers for a turn. Disposing closes them, unless they are shared with other turns. */
export interface OpenServers extends AsyncDisposable {
  readonly servers: McpServers;
}

/** The configured servers: the session's shared ones, updated to this config, or else the turn's own. */
export async function serversForTurn(
  machine: Machine,
  config: PartialConfig,
  shared?: McpServers,
): Promise<OpenServers> {
  if (shared === undefined) {
    const servers = openConfiguredServers(machine, config);
    return { servers, [Symbol.asyncDispose]: () => servers.close() };
  }
  await shared.configure(resolveMcpServers(config));
  shared.allowRestart();
  return { servers: shared, [Symbol.asyncDispose]: async () => undefined };
}

/** Where commands run, and what is hidden from them. */
function shellPlace(
  { root, variables }: Machine,
  config: PartialConfig,
  mode = modeIn(config),
): ShellPlace {
  const home = variables["HOME"] ?? process.getBuiltinModule("node:os").homedir();
  const dataFolder = userDataFolder({ variables, home, platform: process.platform });
  const isReadOnly = () => mode() === "plan";
  return { root, home, dataFolder, variables, settings: resolveShell(config), isReadOnly };
}

/** The context that tools get, and the connections that they share. */
export interface OpenToolsOptions {
  /** Which conversation local tools run for. */
  readonly conversation?: ConversationId;
  /** Keeps the shipped tools' changes, for undo. */
  readonly changes?: ChangeKeeper | undefined;
  /** Servers that are already open, and stay open. Without them, servers are closed with the tools. */
  readonly servers?: McpServers;
  /** The current mode, if a person may change it during the turn. Defaults to the configured one. */
  readonly mode?: PolicyOptions["mode"];
}

/** The tools declared in config, ready to be called. */
export interface Tools extends AsyncDisposable {
  /** Includes the server tools once the toolbox has listed them. */
  readonly settings: ReadonlyMap<string, ToolSettings>;
  /** Starts nothing: assumes that a name missing from config is a tool of a server that offers all its tools. */
  findOffline(name: string): ToolSettings | undefined;
  /** The source of a server's tool, as far as config says. Starts nothing. */
  describeOffline(tool: ToolSettings): ToolSource;
  /** Throws `unknown_tool`, and why a tool is unavailable. */
  open(name: string, signal: AbortSignal): Promise<RunnableTool>;
  /** The enabled tools. */
  readonly toolbox: Toolbox;
  /** Decides about calls by config and saved rules. */
  readonly policy: Policy;
  /** Absent if rules cannot be saved. */
  readonly saved?: OpenSavedRules;
}

/** Opens the tools declared in config. */
export function openTools(
  machine: Machine,
  config: PartialConfig,
  { conversation, changes, servers: given, mode }: OpenToolsOptions = {},
): Tools {
  const servers = given ?? openConfiguredServers(machine, config);
  const { root, workspaceId, variables, dataFolder, onWarning } = machine;
  const saved = savedRulesOn(machine);
  const settings = resolveTools(config);
  const describe: FindDescription = async (name) => {
    const tool = await open(name, new AbortController().signal).catch(() => undefined);
    return tool?.description;
  };
  const own = shippedOptions(machine, config, mode);
  const shipped = createShippedTools({ describe, changes, ...own });
  const ids = { workspaceId, conversationId: conversation ?? "" };
  const local = { workspaceRoot: root, ...ids, variables, dataFolder };
  const sources = { shipped, local, servers };
  const names = offeringServers(config);
  const warn = warningOnce(onWarning);
  let listed: ReturnType<typeof listServers> | undefined;
  let known = settings;
  const list = async (signal: AbortSignal): Promise<ListedTools> => {
    if (names.length === 0) return { tools: settings, absent: [] };
    listed ??= listServers({ servers, names, onWarning: warn }, signal); // Once, as in a program's turn.
    try {
      const { offered, absent } = await listed;
      const { tools, clashes } = withServerTools(config, offered);
      for (const { message, hint } of clashes.values())
        warn(`${message} Neither is available. ${hint ?? ""}`.trim());
      return { tools: (known = tools), absent, clashes };
    } catch (error) {
      listed = undefined;
      throw error;
    }
  };
  const findOffline = (name: string) => settings.get(name) ?? findOffered(name, config);
  const open = async (name: string, signal: AbortSignal) => {
    const create = (tool: ToolSettings) => createToolIn(root, tool, { ...sources, signal });
    if (settings.has(name)) return create(findTool(settings, name));
    const { tools, ...missing } = await list(signal);
    if (!tools.has(name)) assertKnown(name, missing);
    return create(findTool(tools, name));
  };
  return {
    get settings() {
      return known;
    },
    findOffline,
    describeOffline: (tool) => describeOffline(servers, tool),
    open,
    toolbox: createToolbox({ root, sources, list, onWarning: warn, ...FROM_SERVERS }),
    policy: createPolicy({ root, ...policyIn(config, mode), ...saved?.options }),
    ...(saved !== undefined && { saved }),
    [Symbol.asyncDispose]: async () => {
      await saved?.[Symbol.asyncDispose]();
      if (given === undefined) await servers.close();
    },
  };
}

/** Assumes a tool of a server that offers all its tools. */
function findOffered(name: string, config: PartialConfig): ToolSettings | undefined {
  const [server] = offeringServers(config);
  if (server === undefined) return undefined;
  const tool = { name, owner: server, config: { source: `mcp.${server}.${name}` } };
  return withServerTools(config, [tool]).tools.get(name);
}

function savedRulesOn({ dataFolder, root, clock, onWarning }: Machine): OpenSavedRules | undefined {
  if (dataFolder === undefined) return undefined;
  return openSavedRules({ dataFolder, root, clock, onWarning: warningOnce(onWarning) });
}

function modeIn({ conversation }: PartialConfig): NonNullable<PolicyOptions["mode"]> {
  return () => conversation?.mode ?? "ask";
}

/** The settings that decide if no rule does. */
export function policyIn(
  config: PartialConfig,
  mode: PolicyOptions["mode"] = modeIn(config),
): Pick<PolicyOptions, "mode" | "allowsUnsandboxed"> {
  return { mode, allowsUnsandboxed: resolveShell(config).unsandboxed === "unattended" };
}

function shippedOptions(machine: Machine, config: PartialConfig, mode?: PolicyOptions["mode"]) {
  const { root, variables, dataFolder } = machine;
  return {
    root,
    searchPath: variables["PATH"],
    dataFolder,
    privateHosts: config.web?.private_hosts,
    shell: shellPlace(machine, config, mode),
  };
}

/** How questions of servers that belong to no single call become those of a turn. */
interface FromServers {
  readonly toRefusedQuestions: (stray: UnscopedQuestion) => RefusedQuestions;
  readonly toServerQuestions: (shared: SharedQuestion) => ServerQuestions;
}

/** The command loads this code only when such a question arises. */
const FROM_SERVERS: FromServers = {
  toRefusedQuestions: (stray) => toRefusedQuestions(stray),
  toServerQuestions: (shared) => toServerQuestions(shared),
};

function describeOffline(servers: McpServers, { name, source }: ToolSettings): ToolSource {
  const server = source.type === "mcp" ? source.server : "";
  const address = servers.findAddress(server) ?? { type: "http", url: "" };
  return describeAddress(address, { server, tool: source.tool ?? name });
}

export function describeUnscoped({ server, tool, message }: UnscopedQuestion): string {
  const when = tool === undefined ? "outside of a call" : `after its call of ${tool} had ended`;
  return `${server} asked ${when}, and was refused: ${message}`;
}

/** Defers every decision that needs a person, whatever the config does in a non-interactive run. */
export function deferring(toolbox: Toolbox): Toolbox {
  const detached = { run: "defer", deliver: "defer", tool: "defer" } as const;
  return {
    ...toolbox,
    find: async (name, signal) => {
      const tool = await toolbox.find(name, signal);
      return tool && { ...tool, settings: { ...tool.settings, detached } };
    },
  };
}

/** Warns once per reason: several tools of a server may be missing for the same one. */
function warningOnce(onWarning: Machine["onWarning"]): Machine["onWarning"] {
  const given = new Set<string>();
  return (message) => {
    if (given.has(message)) return;
    given.add(message);
    onWarning(message);
  };
}

/** The tools by name, and why others are missing. */
export interface ListedTools {
  readonly tools: ReadonlyMap<string, ToolSettings>;
  readonly absent: readonly Error[];
  readonly clashes?: Clashes;
}

/** Throws the reason why the tool is unavailable, if it may be one of an unavailable server. */
function assertKnown(name: string, { absent, clashes }: Omit<ListedTools, "tools">): void {
  const reason = clashes?.get(name) ?? absent[0];
  if (reason !== undefined) throw reason;
}

interface ToolboxParts extends Pick<Machine, "onWarning">, Partial<FromServers> {
  /** The workspace that path rules refer to. */
  readonly root?: string;
  /** Where the tools come from. */
  readonly sources: Omit<ToolParts, "signal" | "caller">;
  /** Resolves once the tools are known. */
  readonly list: (signal: AbortSignal) => Promise<ListedTools>;
  /** Whether a turn fails without this server; by default, none is required. */
  readonly isRequired?: (server: string) => boolean;
}

/**
 * A toolbox of the enabled tools. A turn continues without the tools of an unavailable server, unless it is required.
 */
export function createToolbox(toolbox: ToolboxParts): Toolbox {
  const { sources, root = ".", list, isRequired = () => false, onWarning } = toolbox;
  const { servers } = sources;
  const { toRefusedQuestions: toRefused, toServerQuestions: toAsked } = toolbox;
  const caller = {};
  const parts = { ...sources, caller };
  const isMissing = ({ source }: ToolSettings, error: unknown) =>
    source.type === "mcp" &&
    !isRequired(source.server) &&
    // The server's tools may have changed since a rule for them was written.
    (error instanceof ConfigError ||
      // An unknown server is a mistake in the config.
      (error instanceof McpError && error.code !== "mcp_unknown_server"));
  return {
    schemas: async (signal) => {
      const all = [...(await list(signal)).tools.values()];
      const opened = all.map(async (tool) => {
        if (!tool.isEnabled) return [];
        try {
          const created = await createTool(tool, { ...parts, signal });
          await assertRules({ ...created, settings: tool }, root);
          return [toSchema(created)];
        } catch (error) {
          if (!isMissing(tool, error) || signal.aborted) throw error;
          onWarning(messageOf(error));
          return [];
        }
      });
      return (await Promise.all(opened)).flat();
    },
    find: async (name, signal): Promise<CallableTool | undefined> => {
      const { tools: all, ...missing } = await list(signal);
      const settings = all.get(name);
      if (settings === undefined) assertKnown(name, missing);
      if (settings?.isEnabled !== true) return undefined;
      const tool = await createToolIn(root, settings, { ...parts, signal });
      await assertRules({ ...tool, settings }, root);
      const { isIdempotent = tool.isIdempotent ?? false } = settings;
      const hasDetails = all.get("describe_tools")?.isEnabled === true;
      const description = { ...tool.description, hasDetails };
      return { ...tool, description, isIdempotent, settings };
    },
    ...(servers !== undefined &&
      toRefused !== undefined && {
        onUnscopedQuestions: (listener) =>
          servers.onUnscopedQuestion(caller, (stray) => listener(toRefused(stray))),
      }),
    ...(servers !== undefined &&
      toAsked !== undefined && {
        onServerQuestions: (responder) =>
          servers.onSharedQuestion(caller, (shared) => responder(toAsked(shared))),
      }),
  };
}

/**
 * Includes the files outside the workspace that a call's arguments name. jp's own file tools open none. Throws like
 * `createTool`.
 */
async function createToolIn(
  root: string,
  settings: ToolSettings,
  parts: ToolParts,
): Promise<RunnableTool> {
  const tool = await createTool(settings, parts);
  const hasPaths = Object.values(tool.argumentKinds ?? {}).includes("path");
  if (settings.source.type === "builtin" || !hasPaths) return tool;
  return {
    ...tool,
    describeSource: async (args, options) => {
      const source = await tool.describeSource(args, options);
      return { ...source, outside: await findOutsideFiles({ tool, arguments: args }, root) };
    },
  };
}

/** Throws `unknown_tool`. */
export function findTool(settings: ReadonlyMap<string, ToolSettings>, name: string): ToolSettings {
  const found = settings.get(name);
  if (found === undefined) throw unknownTool([...settings.keys()], name);
  return found;
}

/** The hint is for a name that resembles no other. */
export function unknownTool(
  names: readonly string[],
  name: string,
  { where = name, hint }: { readonly where?: string; readonly hint?: string } = {},
): JpError {
  const close = findClosest(name, names);
  const otherwise =
    hint === undefined ? { commandHint: "`jp tool ls` lists the tools." } : { hint };
  return new JpError("unknown_tool", `Unknown tool: ${where}`, {
    ...(close === undefined ? otherwise : { hint: `Did you mean ${close}?` }),
  });
}

/** The part of a tool's description in every request; `describe_tools` returns the rest. */
function toSchema({ description }: RunnableTool): ToolSchema {
  const { name, summary, parameters, isAuxiliary } = description;
  const auxiliary = isAuxiliary === true && { isAuxiliary };
  return { name, description: summary, parameters, ...auxiliary };
}
