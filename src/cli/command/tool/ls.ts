/** `jp tool ls`: from the config alone; no server is started. */
import { resolveTools, type ToolSettings, type ToolSource } from "../../../config/index.ts";
import { type Cell, jsonLine, oneLine, renderTable } from "../../../render/index.ts";
import type { Call } from "../../define.ts";
import { type ConfigFlags, effectiveConfig } from "../../load-config.ts";

export interface ListToolsFlags extends ConfigFlags {
  readonly format?: "text" | "json";
}

export async function listTools({ options, context }: Call<ListToolsFlags>): Promise<void> {
  const { output } = context;
  const config = await effectiveConfig(context, options);
  const settings = [...resolveTools(config).values()];
  if (options.format === "json") {
    for (const tool of settings) output.print(jsonLine(toJson(tool)));
    return;
  }
  const columns = [
    { title: "" },
    { title: "TOOL" },
    { title: "SOURCE" },
    { title: "RUN" },
    { title: "SUMMARY", shrinks: true },
  ];
  const rows = settings.map((tool): Cell[] => [
    { text: tool.isEnabled ? "on" : "off", style: tool.isEnabled ? "green" : "dim" },
    { text: oneLine(tool.name), style: "cyan" },
    { text: sourceText(tool.source), style: "dim" },
    { text: tool.run, style: "dim" },
    { text: oneLine(tool.summary ?? tool.description ?? "") },
  ]);
  const { paint, lineWidth: width } = output;
  for (const line of renderTable({ columns, rows, paint, width })) output.print(line);
}

export function sourceText(source: ToolSource): string {
  const parts =
    source.type === "mcp" ? [source.type, source.server, source.tool] : [source.type, source.tool];
  return oneLine(parts.filter((part) => part !== undefined).join("."));
}

function toJson(tool: ToolSettings) {
  const { name, source, group, isEnabled, allowToggle, run, result, summary, description } = tool;
  return {
    name,
    source: sourceText(source),
    group,
    enabled: isEnabled,
    allow_toggle: allowToggle,
    run,
    result,
    summary: summary ?? description,
  };
}
