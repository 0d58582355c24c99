/** `jp tool show`: the tool as a model sees it. A server that it comes from is started for that. */
import type { QuestionSettings, ToolSettings } from "../../../config/index.ts";
import type { ToolDescription } from "../../../executor/index.ts";
import { jsonLine, neutralize, oneLine } from "../../../render/index.ts";
import type { Output } from "../../../terminal/index.ts";
import type { Call } from "../../define.ts";
import type { ConfigFlags } from "../../load-config.ts";
import { findTool, openTools } from "../../tools.ts";
import { refuseUntrusted, tellWithheld, trustedConfig } from "../../trust.ts";
import { sourceText } from "./ls.ts";

export interface ShowToolFlags extends ConfigFlags {
  readonly format?: "text" | "json";
}

export async function showTool({
  args: words,
  options,
  context,
}: Call<ShowToolFlags>): Promise<void> {
  const [name = ""] = words;
  const trusted = await trustedConfig(context, options);
  refuseUntrusted(name, trusted);
  tellWithheld(trusted, context);
  await using tools = openTools(context, trusted.config);
  const settings = findTool(tools.settings, name);
  const { description } = await tools.open(name, new AbortController().signal);
  if (options.format === "json") context.output.print(jsonLine({ ...description }));
  else print(settings, description, context.output);
}

function print(settings: ToolSettings, description: ToolDescription, output: Output): void {
  const { isEnabled, allowToggle, run, result, timeoutMs } = settings;
  const facts = {
    Tool: description.name,
    Source: sourceText(settings.source),
    Enabled: `${isEnabled ? "yes" : "no"} (may be changed: ${allowToggle})`,
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
