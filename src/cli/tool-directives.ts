/** `-t` and `-T` on a command line: which tools to switch on and off, in the order they were given. */
import type { Command } from "commander";
import type { ToolDirective } from "../config/index.ts";

const given = new WeakMap<Command, ToolDirective[]>();

/** Both may stand alone, for all tools, or name a tool or a group. */
export function withDirectives(definition: Command): Command {
  const directives: ToolDirective[] = [];
  given.set(definition, directives);
  const add = (isEnabled: boolean) => (name: unknown) => {
    directives.push({ isEnabled, ...(typeof name === "string" && { name }) });
  };
  return definition
    .option("-t, --tool [name]", "switch a tool or a group on, or all that may be")
    .option("-T, --no-tool [name]", "switch a tool or a group off, or all that may be")
    .on("option:tool", add(true))
    .on("option:no-tool", add(false));
}

export function directivesOf(definition: Command): readonly ToolDirective[] {
  return given.get(definition) ?? [];
}
