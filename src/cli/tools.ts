/** The tools of this workspace, ready to be called. */
import type { CallableTool, Toolbox } from "../agent/index.ts";
import {
  nearest,
  type PartialConfig,
  resolveMcpServers,
  resolveTools,
  type ToolSettings,
} from "../config/index.ts";
import type { ConversationId } from "../conversation/index.ts";
import {
  createTool,
  type FindDescription,
  type RefusedQuestions,
  type RunnableTool,
  toRefusedQuestions,
} from "../executor/index.ts";
import { McpServers } from "../mcp/index.ts";
import type { ToolSchema } from "../provider/index.ts";
import type { Output } from "../terminal/index.ts";
import { CodedError, messageOf } from "../util/index.ts";
import { type CommandContext, warn } from "./context.ts";
import { findWorkspace } from "./load-config.ts";
import { createShippedTools } from "./shipped-tools.ts";

export interface Tools extends AsyncDisposable {
  readonly settings: ReadonlyMap<string, ToolSettings>;
  /** Throws `unknown_tool`, and why a tool cannot be had. */
  open(name: string, signal: AbortSignal): Promise<RunnableTool>;
  /** Those that are on. */
  readonly toolbox: Toolbox;
}

/** `conversation` is what a local tool is told it works for; there may be none. */
export function openTools(
  context: CommandContext,
  config: PartialConfig,
  conversation?: ConversationId,
): Tools {
  const settings = resolveTools(config);
  const workspace = findWorkspace(context);
  const root = workspace?.root ?? context.cwd;
  const { variables } = context.environment;
  const mcp = resolveMcpServers(config);
  const listeners = new Set<(refused: RefusedQuestions) => void>();
  const servers = new McpServers(mcp, {
    variables,
    cwd: root,
    clientInfo: { name: "jp", version: context.version },
    onStrayQuestion: (stray) => {
      const { server, tool, message } = stray;
      const when = tool === undefined ? "outside of a call" : `when its call of ${tool} was over`;
      warn(`${server} asked ${when}, and was refused: ${message}`, context.output);
      for (const tell of listeners) tell(toRefusedQuestions(stray));
    },
  });
  const { signal: untilDone } = new AbortController();
  const describe: FindDescription = async (name) => {
    if (!settings.has(name)) return undefined;
    const tool = await open(name, untilDone).catch(() => undefined);
    return tool?.description;
  };
  const shipped = createShippedTools({ root, describe });
  const local = {
    workspaceRoot: root,
    workspaceId: workspace?.findId() ?? "",
    conversationId: conversation ?? "",
    variables,
  };
  const open = (name: string, signal: AbortSignal) =>
    createTool(findTool(settings, name), { shipped, local, servers, signal });
  const isOptional = ({ source }: ToolSettings) =>
    source.type === "mcp" && mcp.get(source.server)?.isOptional === true;
  return {
    settings,
    open,
    toolbox: {
      ...createToolbox({ settings, open, isOptional, output: context.output }),
      listen: (onStray) => {
        listeners.add(onStray);
        return () => listeners.delete(onStray);
      },
    },
    [Symbol.asyncDispose]: () => servers.close(),
  };
}

interface ToolboxParts extends Pick<Tools, "settings" | "open"> {
  /** Whether everything goes on without the tool if it cannot be had. */
  readonly isOptional: (settings: ToolSettings) => boolean;
  readonly output: Output;
}

function createToolbox({ settings, open, isOptional, output }: ToolboxParts): Toolbox {
  const enabled = [...settings.values()].filter(({ isEnabled }) => isEnabled);
  return {
    schemas: async (signal) => {
      const opened = enabled.map(async (tool) => {
        try {
          return [toSchema(await open(tool.name, signal))];
        } catch (error) {
          if (!isOptional(tool) || signal.aborted) throw error;
          warn(messageOf(error), output);
          return [];
        }
      });
      return (await Promise.all(opened)).flat();
    },
    find: async (name, signal): Promise<CallableTool | undefined> => {
      const found = enabled.find((tool) => tool.name === name);
      return found && { ...(await open(name, signal)), settings: found };
    },
  };
}

/** Throws `unknown_tool`. */
export function findTool(settings: ReadonlyMap<string, ToolSettings>, name: string): ToolSettings {
  const found = settings.get(name);
  if (found !== undefined) return found;
  const close = nearest(name, [...settings.keys()]);
  throw new CodedError("unknown_tool", `There is no tool called ${name}.`, {
    hint: close === undefined ? "`jp tool ls` lists them." : `Did you mean ${close}?`,
  });
}

/** What every request tells of a tool; the rest is for those who ask. */
function toSchema({ description: { name, summary, parameters } }: RunnableTool): ToolSchema {
  return { name, description: summary, parameters };
}
