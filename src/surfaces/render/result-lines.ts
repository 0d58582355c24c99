/** A call's result in a few lines: the first lines of its output, or the last of a command or before it failed. */
import { isForUserAlone, type ToolCallResponse } from "../../record/conversation/index.ts";
import { type ContentBlock, isFor, textOfBlocks } from "../../record/tool/index.ts";
import { isJsonObject, neutralize, oneLine } from "../../util/index.ts";
import type { LineOptions } from "./call-lines.ts";
import { moreLines, truncate } from "./wrap.ts";

/** The number of lines to show per audience. */
export interface LinesByAudience {
  readonly user: number;
  readonly assistant: number;
  /** Blocks for the user alone are shown elsewhere. */
  readonly isChat: boolean;
}

export interface ResultLineOptions extends LineOptions {
  /** A single number applies to what is addressed to the user. */
  readonly resultLines: number | LinesByAudience;
  /** Shows the last lines, and not that a command has succeeded. */
  readonly isEndFirst?: boolean | undefined;
  /** Said of lines that are left out. */
  readonly moreNote?: string | undefined;
}

/** The non-blank lines of a result. */
export function renderResultLines(
  response: ToolCallResponse,
  { resultLines, isEndFirst = false, ...options }: ResultLineOptions,
): readonly string[] {
  const { content, blocks } = response;
  const isTail = response.isError || isEndFirst;
  const lines =
    typeof resultLines === "number"
      ? { user: resultLines, assistant: 0, isChat: false }
      : resultLines;
  if (blocks === undefined) {
    const text = findFailure(response)?.text ?? content;
    const shown = isEndFirst ? text.replace(SUCCESS, "") : text;
    return someLines(shown, { most: linesFor(BOTH, lines), isTail, ...options });
  }
  const groups = Map.groupBy(blocks, (block) => linesFor(block, lines));
  return [...groups].flatMap(([most, group]) =>
    someLines(textOfBlocks(group), { most, isTail, ...options }),
  );
}

/** `exit status 1`, if the tool failed like that; otherwise empty. */
export function failureNote(response: ToolCallResponse): string {
  return findFailure(response)?.note ?? "";
}

/** The end of what a command's result says. */
const SUCCESS = /\n?\[Exit status 0\.\](?=(?:\n\[.*\])*$)/;

const BOTH: ContentBlock = { type: "text", text: "" };

/** A block for both is shown if either audience gets lines. */
function linesFor(block: ContentBlock, { user, assistant, isChat }: LinesByAudience): number {
  if (isForUserAlone(block)) return isChat ? 0 : user;
  return isFor("user", block) ? Math.max(user, assistant) : assistant;
}

interface Failure {
  readonly note: string;
  readonly text: string;
}

/** A program that gave no outcome, in the model's format. Undefined for any other result. */
function findFailure({ content, isError, added }: ToolCallResponse): Failure | undefined {
  if (!isError || !content.startsWith('{"message":')) return undefined;
  const own = content.slice(0, content.length - (added?.after ?? 0));
  let parsed: unknown;
  try {
    parsed = JSON.parse(own);
  } catch {
    return undefined; // Too long to be recorded whole, or not such a result.
  }
  if (!isJsonObject(parsed)) return undefined;
  const { message, status, signal, stderr, stdout } = parsed;
  if (typeof message !== "string" || typeof stderr !== "string" || typeof stdout !== "string") {
    return undefined;
  }
  const note =
    typeof status === "number"
      ? `exit status ${status}`
      : typeof signal === "string"
        ? `ended by ${oneLine(signal)}`
        : "";
  const output = [stdout, stderr].filter((text) => text.trim() !== "");
  // The exit status shows that it failed. Without one, the message says why, and comes last.
  const said = note === "" || output.length === 0 ? [message] : [];
  return { note, text: [...output, ...said].join("\n") };
}

interface SomeLines extends LineOptions {
  readonly most: number;
  readonly isTail: boolean;
  readonly moreNote?: string | undefined;
}

function someLines(
  text: string,
  { most, isTail, moreNote = "", paint, width }: SomeLines,
): readonly string[] {
  if (most === 0) return [];
  const body = neutralize(text)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const hidden = body.length - most;
  const more = hidden > 0 ? [`${moreLines(hidden)}${moreNote}`] : [];
  const shown = (isTail && hidden > 0 ? body.slice(hidden) : body.slice(0, most)).map((line) =>
    truncate(line, width - 4),
  );
  return (isTail ? [...more, ...shown] : [...shown, ...more]).map((line) =>
    paint("dim", `  │ ${line}`),
  );
}
