/** Whether a person wants lines of text that can be heard, instead of something that is looked at. */
import type { PartialConfig } from "../config/index.ts";
import type { CommandContext } from "./compose.ts";

/** By a variable, else by the config, else where the terminal can do no more. */
export function isPlain({ environment }: CommandContext, config: PartialConfig): boolean {
  const { JP_PLAIN: wanted, TERM: terminal } = environment.variables;
  if (wanted === "1" || wanted === "0") return wanted === "1";
  const style = config.style?.prompt;
  return style === undefined ? terminal === "dumb" : style === "plain";
}
