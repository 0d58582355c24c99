/** Calls of tools that do not run, for tests of decisions about them. */
import { settingsOf } from "../agent/tool-turn.fixture.ts";
import type { RunnableTool } from "../../reach/executor/index.ts";
import type { ToolSource } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { CallOfTool } from "./verdict.ts";

export interface ToolOptions extends Partial<Pick<RunnableTool, "effect" | "argumentKinds">> {
  readonly name?: string;
  readonly source?: ToolSource;
  readonly config?: JsonObject;
  /** The properties of the schema. Other properties stay allowed. */
  readonly properties?: JsonObject;
}

export function callOf(args: JsonObject, options: ToolOptions = {}): CallOfTool {
  const { name = "fs_modify_file", source, config, properties, ...tool } = options;
  const origin = source?.origin ?? { type: "builtin" };
  return {
    arguments: args,
    tool: {
      ...tool,
      settings: settingsOf(name, { source: "builtin", run: "ask", ...config }),
      description: {
        name,
        summary: "",
        parameters: { type: "object", ...(properties && { properties }) },
      },
      executor: { attempt: async () => ({ type: "cancelled" }) },
      describeSource: async () => source ?? { origin },
    },
  };
}

/** A local tool with its command and program. */
export function localSource(program = "one"): ToolSource {
  return { origin: { type: "local", command: "./deploy" }, program: { sha256: program } };
}
