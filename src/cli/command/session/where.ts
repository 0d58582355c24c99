/** A session's first line: the folder, the model, the mode, and what models may do. */
import { shippedConfig } from "../../../assemble/index.ts";
import {
  type Mode,
  type PartialConfig,
  resolveAssistant,
  resolveTools,
  type ToolSettings,
} from "../../../settings/config/index.ts";
import { asksByItself } from "../../asking-tools.ts";
import { textWidth, truncate } from "../../../surfaces/render/index.ts";
import { isJpError, oneLine } from "../../../util/index.ts";

export interface Where {
  readonly folder: string;
  readonly home: string;
  readonly config: PartialConfig;
  readonly mode: Mode;
  /** jp asks what models may do before the first message is sent. */
  readonly isUndecided: boolean;
}

const SEPARATOR = " · ";
/** A folder is still recognized by so much of its end. */
const MIN_FOLDER_WIDTH = 12;

/** To fit, the folder is shortened first, then the model. The mode and what is allowed stay whole. */
export function describeWhere(
  { folder, home, config, mode, isUndecided }: Where,
  width: number,
): string {
  const allowed = isUndecided ? UNDECIDED : describeAllowed(config, mode);
  const end = `mode ${mode}: ${allowed}`;
  const room = width - textWidth(end) - 2 * SEPARATOR.length;
  const path = oneLine(withTilde(folder, home));
  const [id, name] = modelOf(config);
  const minFolder = Math.min(textWidth(path), MIN_FOLDER_WIDTH);
  const model = [id, name].find((each) => textWidth(each) + minFolder <= room);
  const shown = model ?? truncate(name, Math.max(1, room - minFolder));
  const start = shortenPath(path, Math.max(1, room - textWidth(shown)));
  return truncate([start, shown, end].join(SEPARATOR), width);
}

const UNDECIDED = "jp asks first what it may do";

/** With its provider, and without. The first message may find a model that is not configured. */
function modelOf(config: PartialConfig): readonly [string, string] {
  try {
    const { provider, name } = resolveAssistant(config).model;
    return [oneLine(`${provider}/${name}`), oneLine(name)];
  } catch (error) {
    if (!isJpError(error)) throw error;
    return ["no model chosen", "no model"];
  }
}

function withTilde(folder: string, home: string): string {
  if (folder === home) return "~";
  return home !== "" && folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder;
}

/** Keeps the end. */
function shortenPath(path: string, width: number): string {
  if (textWidth(path) <= width) return path;
  const parts = path.split("/");
  const ends = parts.slice(1).map((_, index) => `…/${parts.slice(index + 1).join("/")}`);
  return ends.find((end) => textWidth(end) <= width) ?? truncate(ends.at(-1) ?? path, width);
}

/** Says in a few words what models may do with jp's tools for files and commands. Rules may allow more, or less. */
export function describeAllowed(config: PartialConfig, mode: Mode): string {
  const enabled = [...resolveTools(config).values()].filter(({ isEnabled }) => isEnabled);
  const { readOnlyTools } = shippedConfig();
  const files = enabled.filter(({ group, source }) => group === "fs" && source.type === "builtin");
  const reads = files.some(({ name }) => readOnlyTools.includes(name));
  if (mode === "plan") return reads ? "only reads files" : "changes nothing";
  const edits = files.filter(({ name }) => !readOnlyTools.includes(name));
  const commands = enabled.filter(({ group }) => group === "shell");
  const asks = (tool: ToolSettings) => tool.run !== "unattended" || asksByItself(tool, mode);
  const asksToEdit = mode !== "edits" && edits.some(asks);
  const asksToRun = mode !== "sandbox" && commands.some(asks);
  const free = [
    ...(edits.length > 0 && !asksToEdit ? ["edits files"] : []),
    ...(commands.length > 0 && !asksToRun ? ["runs commands"] : []),
  ];
  const asked = [
    ...(asksToEdit ? ["edit"] : []),
    ...(asksToRun ? [asksToEdit ? "run" : "run commands"] : []),
  ];
  const parts = [
    ...(free.length === 0 && reads ? ["reads files"] : free),
    ...(asked.length === 0 ? [] : [`asks to ${asked.join(" or ")}`]),
  ];
  return parts.length === 0 ? "no tools for files or commands" : parts.join(", ");
}
