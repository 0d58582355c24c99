/** Tools of jp's own that run without asking, and ask by themselves before they change a file. */
import { shippedConfig } from "../assemble/index.ts";
import { MODE_VERDICTS } from "../core/policy/index.ts";
import type { Mode, ToolSettings } from "../settings/config/index.ts";

/** Whether a tool is one of them, and neither the mode nor the config answers its questions. */
export function asksByItself(
  { name, source, run, questions }: ToolSettings,
  mode: Mode = "ask",
): boolean {
  if (run !== "unattended" || source.type !== "builtin") return false;
  const { builtins, questionIds } = shippedConfig();
  const shipped = source.tool ?? name;
  const isFileTool = builtins.conversation?.tools?.[shipped]?.group === "fs";
  const asked = isFileTool ? (questionIds[shipped] ?? []) : [];
  const answered: readonly string[] = mode === "edits" ? MODE_VERDICTS.edits.answers : [];
  return asked.some((id) => !answered.includes(id) && questions.get(id)?.answer === undefined);
}
