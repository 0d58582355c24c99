/** `describe_tools`: gives the model details of a tool that are not sent with every request. */
import { defineTool } from "../../../record/tool/index.ts";
import type { ParameterConfig } from "../../../settings/config/index.ts";
import { isJsonObject, type JsonObject } from "../../../util/index.ts";
import type { ToolDescription } from "../port.ts";
import type { ShippedTool } from "./builtin-executor.ts";

/** Undefined for a tool that is unknown or unavailable. Must not throw. */
export type FindDescription = (name: string) => Promise<ToolDescription | undefined>;

/** Calls `find` when the tool runs, so that it sees the tools available then. */
export function createDescribeTools(find: FindDescription): ShippedTool {
  const tool = defineTool<{ readonly tools: readonly string[] }>({
    name: "describe_tools",
    description: "Get detailed descriptions and usage examples for one or more tools.",
    parameters: {
      type: "object",
      properties: {
        tools: {
          type: "array",
          items: { type: "string" },
          minItems: 1,
          description: "the names of the tools",
        },
      },
      required: ["tools"],
      additionalProperties: false,
    },
    run: ({ tools }) => describeAll(tools, find),
  });
  const { description } = tool;
  const tools: ParameterConfig = {
    type: "array",
    items: { type: "string" },
    required: true,
    description: "the names of the tools",
  };
  return {
    tool,
    isReadOnly: true,
    config: {
      source: "builtin",
      enable: { state: true, allow_toggle: "never" },
      run: "unattended",
      result: "unattended",
      description,
      parameters: { tools },
      style: { hidden: true, inline_results: "off", parameters: "off" },
    },
  };
}

async function describeAll(names: readonly string[], find: FindDescription): Promise<string> {
  const found = await Promise.all(names.map(find));
  const sections = found.filter((tool) => tool !== undefined).map(describe);
  const unknown = names.filter((_name, index) => found[index] === undefined);
  if (unknown.length > 0) {
    sections.push(`No additional documentation available for: ${unknown.join(", ")}`);
  }
  return sections.join("\n\n---\n\n");
}

function describe({ name, summary, description, examples, parameters }: ToolDescription): string {
  const parts = [`## ${name}`, summary];
  if (description !== undefined && description !== summary) parts.push(description);
  if (examples !== undefined) parts.push(`### Examples\n\n${examples}`);
  const described = describeParameters(parameters);
  if (described.length > 0) parts.push("### Parameters", ...described);
  return parts.join("\n\n");
}

function describeParameters({ properties, required }: JsonObject): readonly string[] {
  if (!isJsonObject(properties)) return [];
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, schema]) => {
    const text = isJsonObject(schema) ? schema["description"] : undefined;
    const mark = needed.includes(name) ? " (required)" : "";
    const about = typeof text === "string" ? `\n\n${text}` : "";
    return `#### \`${name}\`${mark}${about}\n\n\`\`\`json\n${JSON.stringify(schema)}\n\`\`\``;
  });
}
