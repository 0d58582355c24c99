/** The tools of MCP servers, for turns that offer all of them. */
import {
  applyDirectives,
  mergeConfig,
  offeringServers,
  type PartialConfig,
  type PartialToolConfig,
  resolveTools,
  type ToolDirective,
  type ToolSettings,
} from "../settings/config/index.ts";
import type { McpServers } from "../reach/mcp/index.ts";
import { JpError } from "../util/index.ts";

/** An offered tool: its name, its owner, and its config without the program's. */
export interface OfferedTool {
  readonly name: string;
  readonly owner: string;
  readonly config: PartialToolConfig;
  /** The server of the tool. */
  readonly server?: string;
}

interface ListedServers {
  readonly servers: McpServers;
  /** Whether a turn fails without this server; by default, none is required. */
  readonly isRequired?: (name: string) => boolean;
  readonly names: readonly string[];
  readonly onWarning: (message: string) => void;
}

interface OfferedTools {
  readonly offered: readonly OfferedTool[];
  /** Why optional servers are unavailable. */
  readonly absent: readonly Error[];
}

/** Connects to all servers concurrently. Throws if a required server is unavailable. */
export async function listServers(
  { servers, isRequired = () => false, names, onWarning }: ListedServers,
  signal: AbortSignal,
): Promise<OfferedTools> {
  servers.allowRestart();
  const reached = await Promise.all(
    names.map(async (name) => ({ name, ...(await servers.get(name, signal, isRequired(name))) })),
  );
  const absent: Error[] = [];
  const offered = reached.flatMap((each): readonly OfferedTool[] => {
    if (each.type === "absent") {
      absent.push(each.warning);
      onWarning(each.warning.message);
      return [];
    }
    const { name: server, tools } = each;
    const owner = `the MCP server "${server}"`;
    return tools.map((tool) => {
      const name = toToolName(each.server.toolPrefix + tool.name);
      return { name, owner, server, config: { source: `mcp.${server}.${tool.name}` } };
    });
  });
  return { offered, absent };
}

const MAX_NAME_LENGTH = 64;

/** Converts it to a name that all providers accept. */
function toToolName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").slice(0, MAX_NAME_LENGTH);
}

/** Why none of the tools with a name is available, by name: one would get the calls of another. */
export type Clashes = ReadonlyMap<string, JpError>;

/** The hint is for tools of two owners. */
export function findClashes(
  offered: readonly OfferedTool[],
  hint: (first: OfferedTool, second: OfferedTool) => string,
): Clashes {
  const byName = new Map<string, OfferedTool>();
  const clashes = new Map<string, JpError>();
  for (const tool of offered) {
    const { name, owner } = tool;
    const other = byName.get(name);
    byName.set(name, other ?? tool);
    if (other === undefined || clashes.has(name)) continue;
    const isSame = other.owner === owner;
    const message = isSame
      ? `Two tools of ${owner} are named ${name}.`
      : `Two tools are named ${name}: one of ${other.owner}, and one of ${owner}.`;
    const hints = isSame ? {} : { hint: hint(other, tool) };
    clashes.set(name, new JpError("tool_name_clash", message, hints));
  }
  return clashes;
}

/**
 * The configured tools, and those of servers that offer all their tools. A configured tool keeps its name, and
 * replaces the server tool that it names.
 */
export function withServerTools(
  config: PartialConfig,
  offered: readonly OfferedTool[],
): { readonly tools: ReadonlyMap<string, ToolSettings>; readonly clashes: Clashes } {
  const { added, clashes } = addOffered(config, offered);
  return { tools: resolveTools(added), clashes };
}

function addOffered(config: PartialConfig, offered: readonly OfferedTool[]) {
  const { "*": _defaults, ...tools } = config.conversation?.tools ?? {};
  const configured = new Set(Object.values(tools).map(({ source }) => source));
  const free = offered.filter(
    ({ name, config: { source } }) => tools[name] === undefined && !configured.has(source),
  );
  const clashes = findClashes(free, ({ name, config: first }, { server, config: second }) => {
    const sources = `"${first.source}" or "${second.source}"`;
    return (
      `Set providers.mcp.${server}.all_tools to a prefix, for example "${server}_". Or choose one: ` +
      `set conversation.tools.${name}.source to ${sources}.`
    );
  });
  const added = free.filter(({ name }) => !clashes.has(name));
  const entries = added.map(({ name, config: own }): [string, PartialToolConfig] => [
    name,
    // The model has no other way to see the rest of a server's description.
    { summary: "{{description}}", ...own },
  ]);
  const merged = mergeConfig({ conversation: { tools: Object.fromEntries(entries) } }, config);
  return { added: merged, clashes };
}

/** A name that several tools of servers have, so that models are offered none of them. */
interface ServerClash {
  readonly message: string;
  readonly hint?: string | undefined;
  /** The tools, such as `mcp.files.read`. */
  readonly sources: readonly (string | undefined)[];
}

/** Among the servers that are listed and offer all their tools. Starts them. */
export async function findServerClashes(
  config: PartialConfig,
  { servers, isListed }: { servers: McpServers; isListed: (name: string) => boolean },
  signal: AbortSignal,
): Promise<readonly ServerClash[]> {
  const names = offeringServers(config).filter(isListed);
  const { offered } = await listServers({ servers, names, onWarning: () => {} }, signal);
  return Array.from(withServerTools(config, offered).clashes, ([name, { message, hint }]) => ({
    message,
    hint,
    sources: offered.filter((tool) => tool.name === name).map((tool) => tool.config.source),
  }));
}

/**
 * Applies `-t` and `-T` to server tools, which only the servers know. Each tool switched on or off becomes part of
 * the config. Throws `unknown_tool`, `tool_locked`, `tool_name_clash`, and why a server is unavailable.
 */
export async function switchServerTools(
  config: PartialConfig,
  { directives, servers }: { directives: readonly ToolDirective[]; servers: McpServers },
): Promise<PartialConfig> {
  const names = offeringServers(config);
  if (directives.length === 0 || names.length === 0) return config;
  const { signal } = new AbortController();
  // No warnings here: the turn lists them again, and warns.
  const quietly = { servers, names, onWarning: () => {} };
  const { offered, absent } = await listServers(quietly, signal);
  const { added: before, clashes } = addOffered(config, offered);
  for (const { name } of directives) {
    const clash = name === undefined ? undefined : clashes.get(name);
    if (clash !== undefined) throw clash;
  }
  const after = applyDirectives(before, directives, absent.length > 0);
  const known = resolveTools(before);
  const changed = [...resolveTools(after).values()]
    .filter(({ name, isEnabled }) => known.get(name)?.isEnabled !== isEnabled)
    .map(({ name }) => [name, after.conversation?.tools?.[name] ?? {}] as const);
  return mergeConfig(config, { conversation: { tools: Object.fromEntries(changed) } });
}
