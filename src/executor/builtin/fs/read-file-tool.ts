/** `fs_read_file`: the text of a file, or some lines of it, as it is. */
import { defineTool, type ToolContext } from "../../../tool/index.ts";
import type { ShippedTool } from "../shipped-tool.ts";
import { fileToolConfig } from "./file-tool-config.ts";
import { openFolder } from "./folder.ts";
import { openFile } from "./open-file.ts";
import { findPlace, toTarget } from "./place.ts";
import { type ReadLines, readLines } from "./read-lines.ts";
import { explainFailure, notThere, Refusal } from "./refusal.ts";
import { decodeUtf8 } from "./text-format.ts";

interface ReadFileArguments {
  readonly path: string;
  readonly start_line?: number;
  readonly end_line?: number;
}

/** What one call gives at most. */
const MOST_BYTES = 64 * 1024;

const DESCRIPTION =
  "Gives the text exactly as it is in the file, without line numbers; of a byte order mark at the " +
  "start nothing is shown. At most 64 KiB of whole lines per call: a notice in square brackets after " +
  "the text says so, and with which start_line to read on. Errors: the file does not exist, is a " +
  "folder or a hard link, is outside the workspace or protected (.git, .jp), or is not text in UTF-8; " +
  "none of them goes away by a retry.";

export function createReadFileTool({ root }: { readonly root: string }): ShippedTool {
  const tool = defineTool<ReadFileArguments>({
    name: "fs_read_file",
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "the file, relative to the workspace's root" },
        start_line: { type: "integer", minimum: 1, description: "the first line wanted, from 1" },
        end_line: { type: "integer", minimum: 1, description: "the last line wanted, included" },
      },
      required: ["path"],
      additionalProperties: false,
    },
    run: (args, context) => readText(root, args, context),
  });
  const summary = "Read a text file of the workspace, whole or from start_line to end_line.";
  return { tool, config: fileToolConfig({ summary, description: DESCRIPTION }), isReadOnly: true };
}

async function readText(
  root: string,
  { path, start_line: start = 1, end_line: end = Number.POSITIVE_INFINITY }: ReadFileArguments,
  context: ToolContext,
): Promise<string> {
  if (end < start) throw new Refusal(`end_line ${end} is before start_line ${start}.`);
  const place = await findPlace(root, path);
  const { shown, folder: parent, name } = toTarget(place);
  if (place.missing.length > 0) throw notThere(shown);
  try {
    await using folder = await openFolder(parent);
    await using handle = await openFile(folder, name, { shown, access: "read" });
    const onProgress = (bytes: number) => context.progress(`${shown}: ${bytes >> 20} MiB read`);
    const range = { start, end, mostBytes: MOST_BYTES, signal: context.signal, onProgress };
    return present(await readLines(handle, range), shown, start);
  } catch (error) {
    throw explainFailure("read", shown, error);
  }
}

function present({ bytes, last, state }: ReadLines, shown: string, start: number): string {
  if (last === 0 && start === 1) return "[The file is empty.]";
  if (last < start) {
    throw new Refusal(`${shown} has only ${last} ${last === 1 ? "line" : "lines"}.`);
  }
  const text = decodeUtf8(bytes, state === "cut");
  if (text === undefined) {
    throw new Refusal(`${shown} is a binary file, or not in UTF-8: it cannot be shown as text.`);
  }
  const body = start === 1 && text.startsWith("\uFEFF") ? text.slice(1) : text;
  if (state === "complete") return body;
  const next = `To read on: start_line ${last + 1}.`;
  if (state === "full") return `${body}[Only lines ${start} to ${last} are shown. ${next}]`;
  return (
    `${body}\n[Line ${start} is too long: only its first 64 KiB are shown. ` +
    `fs_grep_files finds what else is in it. ${next}]`
  );
}
