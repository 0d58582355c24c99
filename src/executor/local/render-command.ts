/** From a command in the config to a program and its arguments, templates rendered. */
import { findProgram, quoteWord } from "../../util/index.ts";
import type { CommandConfig } from "../../config/index.ts";
import { ShellValues } from "./shell-values.ts";
import { renderTemplate, type TemplateContext } from "./template.ts";

export interface RenderedCommand {
  readonly program: string;
  readonly args: readonly string[];
}

/** Each part is rendered by itself, so a value never becomes two arguments. Throws `TemplateError`. */
export async function renderCommand(
  command: CommandConfig,
  context: TemplateContext,
): Promise<RenderedCommand> {
  const args: string[] = [];
  for (const [index, source] of command.args.entries()) {
    args.push(await renderTemplate({ name: `argument ${index + 1}`, source }, context));
  }
  if (command.shell) {
    const text = await renderShellProgram(command.program, context);
    // Not one that the workspace brings, if PATH leads there.
    const program = findProgram("sh") ?? "sh";
    return { program, args: ["-c", [text, ...args.map(quoteWord)].join(" ")] };
  }
  const program = await renderTemplate({ name: "the program", source: command.program }, context);
  return { program, args };
}

async function renderShellProgram(source: string, context: TemplateContext): Promise<string> {
  const values = new ShellValues(source + JSON.stringify(context.document));
  const text = await renderTemplate({ name: "the program", source }, context, (value) =>
    values.add(value),
  );
  return values.completeProgram(text);
}
