/** An embedding program's tools: its own, those of MCP servers, `ask_user` and `tell_user`. */
import type { Observer, Toolbox } from "../core/agent/index.ts";
import {
  findUnknownQuestions,
  listDeclared,
  loadConfigParser,
  type PartialConfig,
  type PartialToolConfig,
  resolveTools,
  type SharedToolConfig,
  type ToolConfig,
  type ToolSettings,
} from "../settings/config/index.ts";
import {
  createAskUser,
  createTellUser,
  declaredIds,
  loadMcpTools,
  type ShippedTool,
} from "../reach/executor/index.ts";
import {
  isOwnServers,
  LaterServers,
  type McpServerConfigs,
  type McpServers,
  type McpServersOptions,
  type SharedMcpServers,
} from "../reach/mcp/index.ts";
import type { Tool } from "../record/tool/index.ts";
import { JpError, pathToText } from "../util/index.ts";
import { findClashes, listServers, type OfferedTool } from "./server-tools.ts";
import {
  createToolbox,
  describeUnscoped,
  type ListedTools,
  type OpenServers,
  unknownTool,
} from "./tools.ts";

/**
 * Config by tool name, like `conversation.tools.<name>` in a config file. If all tool names are known at compile
 * time, others are type errors.
 */
export type ToolConfigs<Name extends string = string> = {
  readonly [Key in Name | "ask_user" | "tell_user"]?: ToolConfig;
} & { readonly "*"?: SharedToolConfig };

interface OwnTools {
  readonly tools?: readonly Tool[];
  readonly askUser?: boolean;
  readonly tellUser?: boolean;
  readonly mcpServers?: McpServers | undefined;
  readonly toolConfig?: ToolConfigs;
  /** Notified if an optional server is unavailable. */
  readonly observer?: Observer;
}

/**
 * Throws `config_invalid`, `unknown_question`, `unknown_tool` and `tool_name_clash`: at once, or once the servers
 * respond.
 */
export async function createOwnToolbox(options: OwnTools): Promise<Toolbox> {
  const { tools = [], askUser = false, tellUser = false, mcpServers: servers } = options;
  const given = await readToolConfig(options.toolConfig);
  const shipped = [
    ...tools.map((tool): ShippedTool => ({
      tool,
      config: ownConfig(tool, given.config),
      isOwn: true,
    })),
    ...(askUser ? [createAskUser()] : []),
    ...(tellUser ? [createTellUser()] : []),
  ];
  assertQuestions(shipped, given.config);
  const own = shipped.map(({ tool: { name }, config }): OfferedTool => {
    return { name, owner: "your program", config };
  });
  const onWarning = (message: string) => options.observer?.observe({ type: "notice", message });
  if (servers === undefined || servers.names.length === 0) {
    const listed = { tools: resolveOffered(own, given, true), absent: [] };
    return createToolbox({ sources: { shipped }, list: async () => listed, onWarning });
  }
  const { toRefusedQuestions, toServerQuestions } = await loadMcpTools();
  // A program's servers are required by default.
  const isRequired = (name: string) => !servers.isOptional(name);
  let listed: Promise<ListedTools> | undefined;
  const listAll = async (signal: AbortSignal) => {
    const { offered, absent } = await listServers(
      { servers, isRequired, names: servers.names, onWarning },
      signal,
    );
    return { tools: resolveOffered([...own, ...offered], given, absent.length === 0), absent };
  };
  const list = async (signal: AbortSignal) => {
    // Listed once per turn, so that a server cannot add a tool that takes another's name in between.
    listed ??= listAll(signal);
    try {
      return await listed;
    } catch (error) {
      listed = undefined;
      throw error;
    }
  };
  const sources = { shipped, servers };
  const fromServers = { toRefusedQuestions, toServerQuestions };
  return createToolbox({ sources, isRequired, list, onWarning, ...fromServers });
}

/** The program's config, and a function that applies it over defaults. */
interface GivenConfig {
  readonly config: PartialConfig;
  readonly over: (defaults: PartialConfig) => PartialConfig;
}

/** Loads the schema only if there is something to check. Throws `config_invalid`, `module_not_loaded`. */
async function readToolConfig(tools: ToolConfigs = {}): Promise<GivenConfig> {
  if (Object.keys(tools).length === 0) return { config: {}, over: (defaults) => defaults };
  const { mergeConfig, parseConfigOrThrow } = await loadConfigParser();
  const config = parseConfigOrThrow("toolConfig", { conversation: { tools } });
  return { config, over: (defaults) => mergeConfig(defaults, config) };
}

/**
 * Settings for a question that is never asked would be ignored, perhaps including who may answer it. Throws
 * `unknown_question`.
 */
function assertQuestions(shipped: readonly ShippedTool[], { conversation }: PartialConfig): void {
  for (const each of shipped) {
    const { name } = each.tool;
    const declared = declaredIds(each);
    const { [name]: given = {} } = conversation?.tools ?? {};
    const [unknown] = declared === undefined ? [] : findUnknownQuestions(given, declared);
    if (declared === undefined || unknown === undefined) continue;
    const { id, meant } = unknown;
    const key = pathToText([name, "questions", id]);
    const hint =
      meant === undefined ? `${listDeclared(name, declared)}.` : `Did you mean ${meant}?`;
    throw new JpError("unknown_question", `Unknown question: ${key} in toolConfig`, { hint });
  }
}

/** By default, a program's own tools run without permission. */
function ownConfig({ name, description }: Tool, given: PartialConfig): PartialToolConfig {
  const { [name]: own, "*": shared } = given.conversation?.tools ?? {};
  return {
    source: "builtin",
    summary: own?.description ?? description,
    run: shared?.run ?? "unattended",
  };
}

/** Applies the program's config. A name in it is only known to be unknown if the list is complete. */
function resolveOffered(
  offered: readonly OfferedTool[],
  given: GivenConfig,
  isComplete: boolean,
): ReadonlyMap<string, ToolSettings> {
  // Server tools come last, so the second of two always has a server.
  const [clash] = findClashes(offered, (_, { server }) => {
    return `Set mcpServers.${server}.prefix, for example to "${server}_".`;
  }).values();
  if (clash !== undefined) throw clash;
  const names = offered.map(({ name }) => name);
  const { "*": _, ...own } = given.config.conversation?.tools ?? {};
  const unknown = Object.keys(own).find((name) => !names.includes(name));
  if (isComplete && unknown !== undefined) {
    const hint = "Its keys are the names of the turn's tools, or *.";
    throw unknownTool(names, unknown, { where: `${unknown} in toolConfig`, hint });
  }
  const defaults = offered.map(({ name, config, server }) => {
    // The model has no other way to see the rest of a server's description.
    const summary = own[name]?.description ?? "{{description}}";
    return [name, { ...(server !== undefined && { summary }), ...config }] as const;
  });
  const merged = given.over(toConfig(defaults)).conversation?.tools ?? {};
  // The program's config cannot change a tool's source.
  const all = offered.map(({ name, config: { source } }) => {
    return [name, { ...merged[name], ...(source !== undefined && { source }) }] as const;
  });
  const { "*": shared = {} } = merged;
  const resolved = resolveTools(toConfig([...all, ["*", shared]]));
  return new Map(
    [...resolved].map(([name, settings]) => {
      const { tool = shared.detached?.tool ?? "unset" } = merged[name]?.detached ?? {};
      return [name, { ...settings, detached: { ...settings.detached, tool } }] as const;
    }),
  );
}

function toConfig(tools: readonly (readonly [string, PartialToolConfig])[]): PartialConfig {
  return { conversation: { tools: Object.fromEntries(tools) } };
}

/** Opens servers for one turn. Disposing closes those it opened. Throws `config_invalid`, `module_not_loaded`. */
export async function openServers(
  given: SharedMcpServers | McpServerConfigs | undefined,
  { variables, observer }: Pick<McpServersOptions, "variables"> & Pick<OwnTools, "observer">,
): Promise<OpenServers | undefined> {
  if (given === undefined) return undefined;
  if (given instanceof LaterServers) {
    return { servers: await given.open(), [Symbol.asyncDispose]: async () => undefined };
  }
  if (isOpen(given)) return { servers: given, [Symbol.asyncDispose]: async () => undefined };
  if (isShared(given)) throw new TypeError("mcpServers were not made with openMcpServers");
  const later = new LaterServers(given, {
    ...(variables !== undefined && { variables }),
    onUnscopedQuestion: (stray) =>
      observer?.observe({ type: "notice", message: describeUnscoped(stray) }),
  });
  return { servers: await later.open(), [Symbol.asyncDispose]: () => later.close() };
}

function isOpen(given: SharedMcpServers | McpServerConfigs): given is McpServers {
  return isOwnServers(given);
}

/** Checks for a method, not the class: the servers may come from another copy of this library. */
function isShared(given: SharedMcpServers | McpServerConfigs = {}): given is SharedMcpServers {
  return Symbol.asyncDispose in given;
}
