/**
 * `jp tool ls` only reads config and starts no server; `jp tool show` starts the tool's own server, if it has one.
 */
import {
  offeringServers,
  type QuestionSettings,
  resolveTools,
  type ToolSettings,
  type ToolSource,
} from "../../../settings/config/index.ts";
import type { ToolDescription } from "../../../reach/executor/index.ts";
import { type Cell, renderTable } from "../../../surfaces/render/index.ts";
import { findTool, machineOf, openTools, warnWithheld } from "../../../assemble/index.ts";
import type { Output } from "../../../surfaces/terminal/index.ts";
import { asksByItself } from "../../asking-tools.ts";
import type { Call } from "../../define.ts";
import { effectiveConfig } from "../../load-config.ts";
import { assertTrusted } from "../../../settings/trust/index.ts";
import { firstLine, jsonLine, neutralize, oneLine } from "../../../util/index.ts";
import { trustedConfig } from "../../trust.ts";
import type { LIST_TOOLS, SHOW_TOOL } from "./options.ts";

export async function listTools({
  args,
  options,
  context,
}: Call<typeof LIST_TOOLS>): Promise<void> {
  const { output } = context;
  const [wanted] = args;
  const config = await effectiveConfig(context, options);
  const all = resolveTools(config);
  const settings = wanted === undefined ? [...all.values()] : findTools(all, wanted);
  if (options.format === "json") {
    for (const tool of settings) output.print(jsonLine(toJson(tool)));
    return;
  }
  const columns = [
    { title: "" },
    { title: "TOOL" },
    { title: "GROUP" },
    { title: "SOURCE" },
    { title: "RUN" },
    { title: "SUMMARY", shrinks: true },
  ];
  const rows = settings.map((tool): Cell[] => [
    { text: tool.isEnabled ? "on" : "off", style: tool.isEnabled ? "green" : "dim" },
    { text: oneLine(tool.name), style: "cyan" },
    { text: oneLine(tool.group ?? ""), style: "dim" },
    { text: sourceText(tool.source), style: "dim" },
    { text: asksByItself(tool, config.conversation?.mode) ? ASKS : tool.run, style: "dim" },
    { text: firstLine(tool.summary ?? tool.description ?? "") },
  ]);
  const { paint, lineWidth: width } = output;
  for (const line of renderTable({ columns, rows, paint, width })) output.print(line);
  const names = wanted === undefined ? offeringServers(config).join(", ") : "";
  if (names !== "")
    output.notice(oneLine(`All tools of ${names} are on too. To list them: jp mcp tools`));
}

/** Shown instead of `unattended` for a file tool that shows its change and asks. */
const ASKS = "asks";

/** A tool, or the tools of a group. Throws `unknown_tool`. */
function findTools(all: ReadonlyMap<string, ToolSettings>, name: string): readonly ToolSettings[] {
  const ofGroup = [...all.values()].filter(({ group }) => group === name);
  return all.has(name) || ofGroup.length === 0 ? [findTool(all, name)] : ofGroup;
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

export async function showTool({
  args: words,
  options,
  context,
}: Call<typeof SHOW_TOOL>): Promise<void> {
  const [name = ""] = words;
  const trusted = await trustedConfig(context, options);
  const known = resolveTools(trusted.config);
  const isGroup = !known.has(name) && [...known.values()].some(({ group }) => group === name);
  if (isGroup) return listTools({ args: [name], options, context });
  assertTrusted(name, trusted);
  warnWithheld(trusted, context);
  await using tools = openTools(machineOf(context), trusted.config);
  const { description } = await tools.open(name, new AbortController().signal);
  const settings = findTool(tools.settings, name);
  if (options.format === "json") context.output.print(jsonLine({ ...description }));
  else print(settings, description, context.output);
}

function print(settings: ToolSettings, description: ToolDescription, output: Output): void {
  const { isEnabled, allowToggle, run, result, timeoutMs } = settings;
  const facts = {
    Tool: description.name,
    Source: sourceText(settings.source),
    Enabled: `${isEnabled ? "yes" : "no"} (toggle: ${allowToggle})`,
    Run: run,
    Result: result,
    Timeout: timeoutMs === undefined ? "none" : `${timeoutMs / 1000} s`,
    Questions: [...settings.questions]
      .map(([id, question]) => `${id} (${questionText(question)})`)
      .join(", "),
    Summary: description.summary,
  };
  for (const [name, value] of Object.entries(facts)) {
    if (value !== "") output.print(`${output.paint("bold", name.padEnd(10))}  ${oneLine(value)}`);
  }
  section("Description", description.description, output);
  section("Examples", description.examples, output);
  section("Parameters", JSON.stringify(description.parameters, null, 2), output);
}

function questionText({ target, answer, exclusive }: QuestionSettings): string {
  if (answer !== undefined) return "answered by config";
  const asked = `asks ${target.type}`;
  if (exclusive === undefined) return asked;
  return `${asked}, ${exclusive ? "exclusive" : "not exclusive"}`;
}

function section(title: string, text: string | undefined, output: Output): void {
  if (text === undefined || text.trim() === "") return;
  output.print(output.paint("bold", title));
  for (const line of neutralize(text.trimEnd()).split("\n")) output.print(`  ${line}`.trimEnd());
}
