/** Creates a runnable tool from its settings, for any source. */
import type { ToolSettings } from "../../settings/config/index.ts";
import { findPaths, toParametersSchema } from "./parameters-schema.ts";
import type { McpServers } from "../mcp/index.ts";
import type { Confinement } from "../../record/tool/index.ts";
import { JpError, type JsonObject, loadModule } from "../../util/index.ts";
import {
  createBuiltinExecutor,
  declaredIds,
  type ShippedTool,
} from "./builtin/builtin-executor.ts";
import type { LocalEnvironment } from "./local/local-executor.ts";
import type { RunnableTool, ToolDescription } from "./port.ts";

/** Dependencies of the tool sources. */
export interface ToolParts {
  readonly shipped: readonly ShippedTool[];
  /** Absent if there are no local tools. */
  readonly local?: LocalEnvironment;
  /** Absent if no tool comes from a server. */
  readonly servers?: McpServers | undefined;
  readonly signal: AbortSignal;
  /** Identifies the caller, if several share the servers. */
  readonly caller?: object;
}

/** Throws `unknown_builtin`, or the error of an MCP server that does not start. */
export async function createTool(settings: ToolSettings, parts: ToolParts): Promise<RunnableTool> {
  const { source } = settings;
  switch (source.type) {
    case "local": {
      if (parts.local === undefined) throw new Error(`${settings.name} has no place to run`);
      const description = describe(settings, toParametersSchema(settings.parameters));
      const { local } = parts;
      const { createLocalExecutor, describeLocalSource } = await loadLocalTools();
      return {
        description,
        argumentKinds: findPaths(settings.parameters),
        executor: createLocalExecutor(settings, local),
        describeSource: (_args, options) => describeLocalSource(settings, local, options),
      };
    }
    case "builtin": {
      const wanted = source.tool ?? settings.name;
      const shipped = parts.shipped.find(({ tool }) => tool.name === wanted);
      if (shipped === undefined) throw unknownBuiltinError(settings.name, wanted);
      const { tool, isReadOnly = false, isOwn = false, describeCall } = shipped;
      const effect = isReadOnly ? "reads" : shipped.effect;
      const schema =
        Object.keys(settings.parameters).length === 0
          ? tool.parameters
          : toParametersSchema(settings.parameters);
      const isAuxiliary = AUXILIARY.has(wanted);
      const questionIds = declaredIds(shipped);
      return {
        description: { ...describe(settings, schema), ...(isAuxiliary && { isAuxiliary }) },
        executor: createBuiltinExecutor(tool, settings.name, settings),
        describeSource: async (args, options = {}) => {
          const described = (await describeCall?.(args, options)) ?? {};
          const { confinement, network, git, workspace, undo, ...call } = described;
          const shown = confinementOf({ confinement, network, git, workspace, undo });
          return {
            ...call,
            origin: isOwn ? { type: "program" } : { type: "builtin", ...shown },
            ...(wanted !== settings.name && { identity: wanted }),
          };
        },
        isIdempotent: isReadOnly || tool.isIdempotent === true,
        ...(questionIds !== undefined && { questionIds }),
        ...(effect !== undefined && { effect }),
        ...(shipped.argumentKinds !== undefined && { argumentKinds: shipped.argumentKinds }),
      };
    }
    case "mcp": {
      const { servers } = parts;
      if (servers === undefined) throw new Error(`${settings.name} has no server`);
      const { createMcpTool } = await loadMcpTools();
      const tool = await createMcpTool({ settings, ...parts, servers });
      if ("warning" in tool) throw tool.warning;
      return tool;
    }
    default:
      return source satisfies never;
  }
}

/** Leaves out unknown fields: the record and the digest have no empty ones. */
function confinementOf({ confinement, network, git, workspace, undo }: Described): Confinement {
  if (confinement === undefined) return {};
  const opened = { ...(network && { network }), ...(git && { git }) };
  const closed = { ...(workspace && { workspace }) };
  return { confinement, ...opened, ...closed, ...(undo !== undefined && { undo }) };
}

type Described = { readonly [Key in keyof Confinement]: Confinement[Key] | undefined };

function loadLocalTools() {
  return loadModule(() => import("./local/local-tools.ts"));
}

/** Throws `module_not_loaded`. */
export function loadMcpTools() {
  return loadModule(() => import("./mcp/mcp-tools.ts"));
}

/** Every conversation has them. */
const AUXILIARY = new Set(["ask_user", "tell_user", "describe_tools"]);

function describe(settings: ToolSettings, parameters: JsonObject): ToolDescription {
  const { name, summary, description, examples } = settings;
  return {
    name,
    summary: summary ?? description ?? "",
    ...(description !== undefined && { description }),
    ...(examples !== undefined && { examples }),
    parameters,
  };
}

function unknownBuiltinError(name: string, wanted: string): JpError {
  return new JpError(
    "unknown_builtin",
    `The tool ${name} uses the builtin ${wanted}, which does not exist.`,
    { commandHint: "List the available tools: jp tool ls" },
  );
}
