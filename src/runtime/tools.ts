/** Tools that are ready to be called: those that config declares, or those that a program defines. */
import type { CallableTool, Toolbox } from "../agent/index.ts";
import {
  parseConfigOrThrow,
  type PartialConfig,
  resolveMcpServers,
  resolveTools,
  type ToolSettings,
} from "../config/index.ts";
import type { ConversationId } from "../conversation/index.ts";
import {
  createBuiltinExecutor,
  createTool,
  type FindDescription,
  type RefusedQuestions,
  type RunnableTool,
  toRefusedQuestions,
} from "../executor/index.ts";
import { McpServers } from "../mcp/index.ts";
import type { ToolSchema } from "../provider/index.ts";
import type { Tool } from "../tool/index.ts";
import { JpError, findClosest, type JsonObject, messageOf } from "../util/index.ts";
import type { Machine } from "./machine.ts";
import { createShippedTools } from "./shipped-tools.ts";

export interface Tools extends AsyncDisposable {
  readonly settings: ReadonlyMap<string, ToolSettings>;
  /** Throws `unknown_tool`, and why a tool is unavailable. */
  open(name: string, signal: AbortSignal): Promise<RunnableTool>;
  /** The enabled ones. */
  readonly toolbox: Toolbox;
}

/** Those that config declares. Local tools are told which conversation they run for, if any. */
export function openTools(
  machine: Machine,
  config: PartialConfig,
  conversation?: ConversationId,
): Tools {
  const { root, workspaceId, variables, version, onWarning } = machine;
  const settings = resolveTools(config);
  const mcp = resolveMcpServers(config);
  const listeners = new Set<(refused: RefusedQuestions) => void>();
  const servers = new McpServers(mcp, {
    variables,
    cwd: root,
    clientInfo: { name: "jp", version },
    onUnscopedQuestion: (stray) => {
      const { server, tool, message } = stray;
      const when = tool === undefined ? "outside of a call" : `after its call of ${tool} had ended`;
      onWarning(`${server} asked ${when}, and was refused: ${message}`);
      for (const listener of listeners) listener(toRefusedQuestions(stray));
    },
  });
  const { signal: untilDone } = new AbortController();
  const describe: FindDescription = async (name) => {
    if (!settings.has(name)) return undefined;
    const tool = await open(name, untilDone).catch(() => undefined);
    return tool?.description;
  };
  const shipped = createShippedTools({ root, describe });
  const conversationId = conversation ?? "";
  const local = { workspaceRoot: root, workspaceId, conversationId, variables };
  const open = (name: string, signal: AbortSignal) =>
    createTool(findTool(settings, name), { shipped, local, servers, signal });
  const isOptional = ({ source }: ToolSettings) =>
    source.type === "mcp" && mcp.get(source.server)?.isOptional === true;
  return {
    settings,
    open,
    toolbox: {
      ...createToolbox({ settings, open, isOptional, onWarning }),
      onUnscopedQuestions: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    [Symbol.asyncDispose]: () => servers.close(),
  };
}

/** By tool, as `conversation.tools.<name>` in a config file. */
export type ToolConfigs = Readonly<Record<string, JsonObject>>;

/**
 * Those that a program defines. They run unattended unless their config says otherwise: their own, or that of `*`,
 * which is for all of them. Throws `config_invalid`, `unknown_tool`.
 */
export function createOwnToolbox(tools: readonly Tool[], configs: ToolConfigs): Toolbox {
  const { "*": shared = {}, ...own } = configs;
  const names = tools.map(({ name }) => name);
  const unknown = Object.keys(own).find((name) => !names.includes(name));
  if (unknown !== undefined) throw unknownTool(names, unknown, `${unknown} in toolConfig`);
  const entries = tools.map(({ name, description }) => {
    return [name, { summary: description, ...own[name], source: "builtin" }] as const;
  });
  const all = { "*": { run: "unattended", ...shared }, ...Object.fromEntries(entries) };
  const config = { conversation: { tools: all } };
  const settings = resolveTools(parseConfigOrThrow("the config of tools", config));
  const open = async (name: string): Promise<RunnableTool> => {
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined) throw unknownTool(names, name);
    const { parameters, isIdempotent = false } = tool;
    const { summary = "" } = findTool(settings, name);
    return {
      description: { name, summary, parameters },
      executor: createBuiltinExecutor(tool, name),
      isIdempotent,
    };
  };
  return createToolbox({ settings, open, isOptional: () => false, onWarning: () => {} });
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

interface ToolboxParts extends Pick<Tools, "settings" | "open">, Pick<Machine, "onWarning"> {
  /** Whether a turn continues without the tool if it is unavailable. */
  readonly isOptional: (settings: ToolSettings) => boolean;
}

function createToolbox({ settings, open, isOptional, onWarning }: ToolboxParts): Toolbox {
  const enabled = [...settings.values()].filter(({ isEnabled }) => isEnabled);
  return {
    schemas: async (signal) => {
      const opened = enabled.map(async (tool) => {
        try {
          return [toSchema(await open(tool.name, signal))];
        } catch (error) {
          if (!isOptional(tool) || signal.aborted) throw error;
          onWarning(messageOf(error));
          return [];
        }
      });
      return (await Promise.all(opened)).flat();
    },
    find: async (name, signal): Promise<CallableTool | undefined> => {
      const found = enabled.find((tool) => tool.name === name);
      if (found === undefined) return undefined;
      const tool = await open(name, signal);
      const { isIdempotent = tool.isIdempotent ?? false } = found;
      return { ...tool, isIdempotent, settings: found };
    },
  };
}

/** Throws `unknown_tool`. */
export function findTool(settings: ReadonlyMap<string, ToolSettings>, name: string): ToolSettings {
  const found = settings.get(name);
  if (found === undefined) throw unknownTool([...settings.keys()], name);
  return found;
}

function unknownTool(names: readonly string[], name: string, where = name): JpError {
  const close = findClosest(name, names);
  return new JpError("unknown_tool", `Unknown tool: ${where}`, {
    hint: close === undefined ? "`jp tool ls` lists the tools." : `Did you mean ${close}?`,
  });
}

/** What every request says of a tool; `describe_tools` gives the rest. */
function toSchema({ description }: RunnableTool): ToolSchema {
  const { name, summary, parameters, isAuxiliary } = description;
  const auxiliary = isAuxiliary === true && { isAuxiliary };
  return { name, description: summary, parameters, ...auxiliary };
}
