/** The tools of a program that embeds jp: its own, those of MCP servers, `ask_user` and `tell_user`. */
import type { Observer, Toolbox } from "../agent/index.ts";
import {
  mergeConfig,
  parseConfigOrThrow,
  type PartialConfig,
  type PartialToolConfig,
  resolveTools,
  type ToolSettings,
} from "../config/index.ts";
import { createAskUser, createTellUser, type ShippedTool } from "../executor/index.ts";
import {
  type McpServerConfigs,
  McpServers,
  type McpServersOptions,
  createServers,
  type SharedMcpServers,
} from "../mcp/index.ts";
import type { Tool } from "../tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import { assertUniqueNames, listServers, type OfferedTool } from "./server-tools.ts";
import {
  createToolbox,
  describeUnscoped,
  type ListedTools,
  type OpenServers,
  unknownTool,
} from "./tools.ts";

/**
 * By tool, as `conversation.tools.<name>` in a config file. If the compiler knows the names of all tools, it takes no
 * others.
 */
export type ToolConfigs<Name extends string = string> = string extends Name
  ? Readonly<Record<string, JsonObject>>
  : { readonly [Key in Name | "ask_user" | "tell_user" | "*"]?: JsonObject };

interface OwnTools {
  readonly tools?: readonly Tool[];
  readonly askUser?: boolean;
  readonly tellUser?: boolean;
  readonly mcpServers?: McpServers;
  readonly toolConfig?: ToolConfigs;
  /** Gets a notice if an optional server is unavailable. */
  readonly observer?: Observer;
}

/** Throws `config_invalid`, `unknown_tool` and `tool_name_clash`: at once, or when the servers have been reached. */
export function createOwnToolbox(options: OwnTools): Toolbox {
  const { tools = [], askUser = false, tellUser = false } = options;
  const { mcpServers: servers = createServers({}) } = options;
  const given = parseConfigOrThrow("toolConfig", {
    conversation: { tools: options.toolConfig ?? {} },
  });
  const shipped = [
    ...tools.map((tool): ShippedTool => ({
      tool,
      config: ownConfig(tool, given),
      isOwn: true,
    })),
    ...(askUser ? [createAskUser()] : []),
    ...(tellUser ? [createTellUser()] : []),
  ];
  const own = shipped.map(({ tool: { name }, config }): OfferedTool => {
    return { name, owner: "your program", config };
  });
  const onWarning = (message: string) => options.observer?.observe({ type: "notice", message });
  const fixed = servers.names.length === 0 ? resolveOffered(own, given, true) : undefined;
  // A program counts on its servers, unless it says otherwise.
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
    if (fixed !== undefined) return { tools: fixed, absent: [] };
    // Once a turn: a server that adds a tool cannot take another one's name in the middle of it.
    listed ??= listAll(signal);
    try {
      return await listed;
    } catch (error) {
      listed = undefined;
      throw error;
    }
  };
  return createToolbox({ sources: { shipped, servers }, isRequired, list, onWarning });
}

/** A program may always run its own tools, unless it says otherwise. */
function ownConfig({ name, description }: Tool, given: PartialConfig): PartialToolConfig {
  const { [name]: own, "*": shared } = given.conversation?.tools ?? {};
  return {
    source: "builtin",
    summary: own?.description ?? description,
    run: shared?.run ?? "unattended",
  };
}

/** With the program's config. Only a complete list shows that a name in it is unknown. */
function resolveOffered(
  offered: readonly OfferedTool[],
  given: PartialConfig,
  isComplete: boolean,
): ReadonlyMap<string, ToolSettings> {
  // Tools of servers come last, so at least the second of two has a server.
  assertUniqueNames(offered, (_, { server }) => {
    return `Set mcpServers.${server}.prefix, for example to "${server}_".`;
  });
  const names = offered.map(({ name }) => name);
  const { "*": _, ...own } = given.conversation?.tools ?? {};
  const unknown = Object.keys(own).find((name) => !names.includes(name));
  if (isComplete && unknown !== undefined) {
    const hint = "Its keys are the names of the turn's tools, or *.";
    throw unknownTool(names, unknown, { where: `${unknown} in toolConfig`, hint });
  }
  const defaults = offered.map(({ name, config, server }) => {
    // Nothing else would tell the model the rest of a server's description.
    const summary = own[name]?.description ?? "{{description}}";
    return [name, { ...(server !== undefined && { summary }), ...config }] as const;
  });
  const merged = mergeConfig(toConfig(defaults), given).conversation?.tools ?? {};
  // The program's config does not change where a tool comes from.
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

/** For one turn, after which those that were opened for it are closed. Throws `config_invalid`. */
export function openServers(
  given: SharedMcpServers | McpServerConfigs | undefined,
  { variables, observer }: Pick<McpServersOptions, "variables"> & Pick<OwnTools, "observer">,
): OpenServers {
  if (given instanceof McpServers) {
    return { servers: given, [Symbol.asyncDispose]: async () => undefined };
  }
  if (isShared(given)) throw new TypeError("mcpServers were not made with openMcpServers");
  const servers = createServers(given ?? {}, {
    ...(variables !== undefined && { variables }),
    onUnscopedQuestion: (stray) =>
      observer?.observe({ type: "notice", message: describeUnscoped(stray) }),
  });
  return { servers, [Symbol.asyncDispose]: () => servers.close() };
}

/** Checks for a method, not the class: the servers may come from another copy of this library. */
function isShared(given: SharedMcpServers | McpServerConfigs = {}): given is SharedMcpServers {
  return Symbol.asyncDispose in given;
}
