/** The tools of this workspace, ready to be called. */
import {
  applyDirectives,
  foldLayers,
  nearest,
  resolveMcpServers,
  resolveTools,
  type ToolSettings,
} from "../config/index.ts";
import { createTool, type FindDescription, type RunnableTool } from "../executor/index.ts";
import { McpServers } from "../mcp/index.ts";
import { CodedError } from "../util/index.ts";
import type { CommandContext } from "./compose.ts";
import { type ConfigFlags, findWorkspace, loadConfig } from "./load-config.ts";
import { createShippedTools } from "./shipped-tools.ts";

export interface Tools extends AsyncDisposable {
  readonly settings: ReadonlyMap<string, ToolSettings>;
  /** Throws `unknown_tool`, and why a tool cannot be had. */
  open(name: string, signal: AbortSignal): Promise<RunnableTool>;
}

export async function openTools(context: CommandContext, flags: ConfigFlags): Promise<Tools> {
  const config = applyDirectives(
    foldLayers(await loadConfig(context, flags)),
    flags.directives ?? [],
  );
  const settings = resolveTools(config);
  const workspace = findWorkspace(context);
  const root = workspace?.root ?? context.cwd;
  const { variables } = context.environment;
  const servers = new McpServers(resolveMcpServers(config), {
    variables,
    cwd: root,
    clientInfo: { name: "jp", version: context.version },
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
    conversationId: "",
    variables,
  };
  const open = (name: string, signal: AbortSignal) =>
    createTool(findTool(settings, name), { shipped, local, servers, signal });
  return {
    settings,
    open,
    [Symbol.asyncDispose]: () => servers.close(),
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
