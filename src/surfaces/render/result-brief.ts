/** How much of the results of jp's own tools matters to a person: the name of a file that was read, the end of a command. */
import type { ToolCallRequest, ToolCallResponse } from "../../record/conversation/index.ts";
import { formatSize, type JsonObject } from "../../util/index.ts";
import { pathText } from "./file-change.ts";

export interface ResultBrief {
  /** Shown instead of the call. */
  readonly title?: string;
  /** Shown after it. */
  readonly note?: string;
  /** How many lines of the result to show, unless the config says. */
  readonly most?: number;
  /** Its last lines say the most. */
  readonly isEndFirst?: boolean;
}

type Call = Pick<ToolCallRequest, "name" | "arguments">;

/** Only for a call of jp's own tool: another one may have the name. */
export function briefResult(
  { name, arguments: given }: Call,
  response: ToolCallResponse,
): ResultBrief {
  if (response.isError) return {};
  if (name === "fs_read_file") return briefRead(given, response);
  return name === "shell_run" ? { most: COMMAND_LINES, isEndFirst: true } : {};
}

const COMMAND_LINES = 3;

function briefRead(given: JsonObject, { content, added }: ToolCallResponse): ResultBrief {
  const { path, start_line: start, end_line: end, ...others } = given;
  const isKnown = typeof path === "string" && Object.keys(others).length === 0;
  if (!isKnown || !isLine(start) || !isLine(end)) return {};
  const whole = content.slice(added?.before ?? 0, content.length - (added?.after ?? 0));
  // What the tool says of lines that it left out is not part of the file.
  const text = whole.replace(/\[(?:Showing only|The file is empty)[^\n]*\]$/, "");
  const count = text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
  const from = start === undefined && end === undefined ? "" : ` from line ${start ?? 1}`;
  return {
    title: `Read ${pathText(path)}${from}`,
    note: `${count} ${count === 1 ? "line" : "lines"}, ${formatSize(Buffer.byteLength(text))}`,
    most: 0,
  };
}

function isLine(value: unknown): value is number | undefined {
  return value === undefined || typeof value === "number";
}
