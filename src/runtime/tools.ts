/** Tools that are ready to be called, as config declares them. `own-tools.ts` has those of a program. */
import type { CallableTool, Toolbox } from "../agent/index.ts";
import {
  type PartialConfig,
  resolveMcpServers,
  resolveTools,
  type ToolSettings,
} from "../config/index.ts";
import type { ConversationId } from "../conversation/index.ts";
import {
  createTool,
  type FindDescription,
  type RunnableTool,
  type ToolParts,
  toRefusedQuestions,
} from "../executor/index.ts";
import { McpServers, type UnscopedQuestion } from "../mcp/index.ts";
import type { ToolSchema } from "../provider/index.ts";
import { JpError, findClosest, messageOf } from "../util/index.ts";
import type { Machine } from "./machine.ts";
import { listServers, withServerTools } from "./server-tools.ts";
import { createShippedTools } from "./shipped-tools.ts";

/** The MCP servers that config declares. None starts before it is needed. */
export function openConfiguredServers(machine: Machine, config: PartialConfig): McpServers {
  const { root, variables, version, onWarning } = machine;
  return new McpServers(resolveMcpServers(config), {
    variables,
    cwd: root,
    clientInfo: { name: "jp", version },
    onUnscopedQuestion: (stray) => onWarning(describeUnscoped(stray)),
  });
}

/** What tools may be told of, and share. */
export interface OpenToolsOptions {
  /** Which conversation local tools run for. */
  readonly conversation?: ConversationId;
  /** Servers that are open already. They are closed with the tools. */
  readonly servers?: McpServers;
}

/** The tools that config declares, ready to be called. */
export interface Tools extends AsyncDisposable {
  readonly settings: ReadonlyMap<string, ToolSettings>;
  /** Throws `unknown_tool`, and why a tool is unavailable. */
  open(name: string, signal: AbortSignal): Promise<RunnableTool>;
  /** The enabled ones. */
  readonly toolbox: Toolbox;
}

/** Those that config declares. */
export function openTools(
  machine: Machine,
  config: PartialConfig,
  { conversation, servers = openConfiguredServers(machine, config) }: OpenToolsOptions = {},
): Tools {
  const { root, workspaceId, variables, onWarning } = machine;
  const settings = resolveTools(config);
  const serverSettings = resolveMcpServers(config);
  const { signal: untilDone } = new AbortController();
  const describe: FindDescription = async (name) => {
    if (!settings.has(name)) return undefined;
    const tool = await open(name, untilDone).catch(() => undefined);
    return tool?.description;
  };
  const shipped = createShippedTools({ root, describe });
  const conversationId = conversation ?? "";
  const local = { workspaceRoot: root, workspaceId, conversationId, variables };
  const sources = { shipped, local, servers };
  const names = [...serverSettings.values()]
    .filter(({ offersAllTools }) => offersAllTools === true)
    .map(({ name }) => name);
  let listed: ReturnType<typeof listServers> | undefined;
  const list = async (signal: AbortSignal) => {
    if (names.length === 0) return settings;
    listed ??= listServers({ servers, names, onWarning }, signal); // Once, as for a turn of a program.
    try {
      return withServerTools(config, (await listed).offered);
    } catch (error) {
      listed = undefined;
      throw error;
    }
  };
  const open = (name: string, signal: AbortSignal) =>
    createTool(findTool(settings, name), { ...sources, signal });
  return {
    settings,
    open,
    toolbox: createToolbox({ sources, list, onWarning }),
    [Symbol.asyncDispose]: () => servers.close(),
  };
}

export function describeUnscoped({ server, tool, message }: UnscopedQuestion): string {
  const when = tool === undefined ? "outside of a call" : `after its call of ${tool} had ended`;
  return `${server} asked ${when}, and was refused: ${message}`;
}

/** What needs a person waits for one, whatever the config does without one. */
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

interface ToolboxParts extends Pick<Machine, "onWarning"> {
  /** Where the tools come from. */
  readonly sources: Omit<ToolParts, "signal" | "caller">;
  /** The tools by name, once it is known which there are. */
  readonly list: (signal: AbortSignal) => Promise<ReadonlyMap<string, ToolSettings>>;
}

/** The enabled ones. A turn continues without those whose server is optional and unavailable. */
export function createToolbox({ sources, list, onWarning }: ToolboxParts): Toolbox {
  const { servers } = sources;
  const caller = {};
  const parts = { ...sources, caller };
  const isOptional = ({ source }: ToolSettings) =>
    source.type === "mcp" && servers.isOptional(source.server);
  return {
    schemas: async (signal) => {
      const all = [...(await list(signal)).values()];
      const opened = all.map(async (tool) => {
        if (!tool.isEnabled) return [];
        try {
          return [toSchema(await createTool(tool, { ...parts, signal }))];
        } catch (error) {
          if (!isOptional(tool) || signal.aborted) throw error;
          onWarning(messageOf(error));
          return [];
        }
      });
      return (await Promise.all(opened)).flat();
    },
    find: async (name, signal): Promise<CallableTool | undefined> => {
      const all = await list(signal);
      const settings = all.get(name);
      if (settings?.isEnabled !== true) return undefined;
      const tool = await createTool(settings, { ...parts, signal });
      const { isIdempotent = tool.isIdempotent ?? false } = settings;
      const hasDetails = all.get("describe_tools")?.isEnabled === true;
      const description = { ...tool.description, hasDetails };
      return { ...tool, description, isIdempotent, settings };
    },
    onUnscopedQuestions: (listener) =>
      servers.onUnscopedQuestion(caller, (stray) => listener(toRefusedQuestions(stray))),
  };
}

/** Throws `unknown_tool`. */
export function findTool(settings: ReadonlyMap<string, ToolSettings>, name: string): ToolSettings {
  const found = settings.get(name);
  if (found === undefined) throw unknownTool([...settings.keys()], name);
  return found;
}

/** The hint is for a name that is not similar to any other. */
export function unknownTool(
  names: readonly string[],
  name: string,
  { where = name, hint = "`jp tool ls` lists the tools." } = {},
): JpError {
  const close = findClosest(name, names);
  return new JpError("unknown_tool", `Unknown tool: ${where}`, {
    hint: close === undefined ? hint : `Did you mean ${close}?`,
  });
}

/** What every request says of a tool; `describe_tools` gives the rest. */
function toSchema({ description }: RunnableTool): ToolSchema {
  const { name, summary, parameters, isAuxiliary } = description;
  const auxiliary = isAuxiliary === true && { isAuxiliary };
  return { name, description: summary, parameters, ...auxiliary };
}
