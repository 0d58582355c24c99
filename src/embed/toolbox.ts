/** The program's own tools, with what their config says. */
import type { CallableTool, Toolbox } from "../agent/index.ts";
import { parseConfigOrThrow, resolveTools } from "../config/index.ts";
import { createBuiltinExecutor } from "../executor/index.ts";
import type { ToolSchema } from "../provider/index.ts";
import type { BuiltinTool } from "../tool/index.ts";
import type { TurnOptions } from "./turn-options.ts";

export interface OwnToolbox extends Toolbox {
  /** What the model is told of them. */
  readonly described: readonly ToolSchema[];
}

/** Throws `config_invalid`. */
export function createToolbox({ tools = [], toolConfig = {} }: TurnOptions): OwnToolbox {
  const config = Object.fromEntries(
    tools.map(({ name }) => [name, { source: "builtin", run: "unattended", ...toolConfig[name] }]),
  );
  const settings = resolveTools(
    parseConfigOrThrow("the config of tools", { conversation: { tools: config } }),
  );
  const callable = tools.flatMap((tool): CallableTool[] => {
    const own = settings.get(tool.name);
    return own === undefined || !own.isEnabled
      ? []
      : [{ ...describe(tool), settings: own, executor: createBuiltinExecutor(tool, tool.name) }];
  });
  const described = callable.map(({ description: { name, summary, parameters } }) => ({
    name,
    description: summary,
    parameters,
  }));
  return {
    described,
    schemas: async () => described,
    find: async (name) => callable.find(({ description }) => description.name === name),
  };
}

function describe({ name, description, parameters }: BuiltinTool) {
  return { description: { name, summary: description, parameters } };
}
