/** From a tool's settings to a tool that can be called, whatever its source is. */
import type { ToolSettings } from "../config/index.ts";
import { toParametersSchema } from "../json-schema/index.ts";
import type { McpServers } from "../mcp/index.ts";
import { CodedError, type JsonObject } from "../util/index.ts";
import { createBuiltinExecutor } from "./builtin/builtin-executor.ts";
import type { ShippedTool } from "./builtin/shipped-tool.ts";
import { createLocalExecutor, type LocalEnvironment } from "./local/local-executor.ts";
import { createMcpTool } from "./mcp/create-mcp-tool.ts";
import type { RunnableTool, ToolDescription } from "./port.ts";

/** What tools are made of. */
export interface ToolParts {
  readonly shipped: readonly ShippedTool[];
  readonly local: LocalEnvironment;
  readonly servers: McpServers;
  readonly signal: AbortSignal;
}

/** A tool that can be run. Throws `unknown_builtin`, and what a server throws that does not start. */
export async function createTool(settings: ToolSettings, parts: ToolParts): Promise<RunnableTool> {
  const { source } = settings;
  switch (source.type) {
    case "local": {
      const description = describe(settings, toParametersSchema(settings.parameters));
      return { description, executor: createLocalExecutor(settings, parts.local) };
    }
    case "builtin": {
      const wanted = source.tool ?? settings.name;
      const shipped = parts.shipped.find(({ tool }) => tool.name === wanted);
      if (shipped === undefined) throw unknownBuiltin(settings.name, wanted);
      const { tool } = shipped;
      const schema =
        Object.keys(settings.parameters).length === 0
          ? tool.parameters
          : toParametersSchema(settings.parameters);
      return {
        description: describe(settings, schema),
        executor: createBuiltinExecutor(tool, settings.name),
      };
    }
    case "mcp": {
      const { servers, signal } = parts;
      const tool = await createMcpTool({ settings, servers, signal });
      if ("warning" in tool) throw tool.warning;
      return tool;
    }
    default:
      return source satisfies never;
  }
}

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

function unknownBuiltin(name: string, wanted: string): CodedError {
  return new CodedError(
    "unknown_builtin",
    `The tool ${name} wants the builtin ${wanted}: there is none.`,
    {
      hint: "`jp tool ls` lists the tools that there are.",
    },
  );
}
