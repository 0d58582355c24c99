/** `fs_list_files`: which files there are. */
import { defineTool, type ToolContext } from "../../../tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import { fileToolConfig } from "./file-tool-config.ts";
import { findPlace } from "./place.ts";
import { walkFiles } from "./walk-files.ts";

interface ListFilesArguments {
  readonly path?: string;
  readonly extension?: string;
}

/** What one call gives at most. */
const MOST_FILES = 1000;
const PROGRESS_FILES = 1000;

const DESCRIPTION =
  "Lists files below a folder and its folders, one per line, relative to the workspace's root. Left " +
  "out are .git, .jp and .jp.*, which cannot be read, and node_modules and what the .gitignore at the " +
  "root names; give one of these as path to see what is in it. Symbolic links are marked and not " +
  "followed. At most 1000 files per call: a notice in square brackets says so; then give a path or an " +
  "extension. Errors: the path does not exist, is outside the workspace or is protected (.git, .jp).";

export function createListFilesTool({ root }: { readonly root: string }): ShippedTool {
  const tool = defineTool<ListFilesArguments>({
    name: "fs_list_files",
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "the folder; the workspace's root if absent" },
        extension: { type: "string", minLength: 1, description: 'only such files, e.g. "ts"' },
      },
      additionalProperties: false,
    },
    run: (args, context) => listFiles(root, args, context),
  });
  const summary = "List the files of the workspace, or of one folder, at any depth.";
  return { tool, config: fileToolConfig({ summary, description: DESCRIPTION }), isReadOnly: true };
}

async function listFiles(
  root: string,
  { path = ".", extension }: ListFilesArguments,
  context: ToolContext,
): Promise<string> {
  const { signal } = context;
  const place = await findPlace(root, path);
  const ending = extension === undefined ? "" : `.${extension.replace(/^\*?\./, "")}`.toLowerCase();
  const lines: string[] = [];
  const unreadable: string[] = [];
  const onUnreadable = (shown: string) => void unreadable.push(shown);
  let seen = 0;
  for await (const { shown, name, isLink } of walkFiles(place, { signal, onUnreadable })) {
    seen += 1;
    if (seen % PROGRESS_FILES === 0) {
      signal.throwIfAborted();
      context.progress(`${seen} files seen`);
    }
    if (!name.toLowerCase().endsWith(ending)) continue;
    if (lines.length === MOST_FILES) {
      lines.push(`[Only the first ${MOST_FILES} files are listed. Give a path or an extension.]`);
      break;
    }
    lines.push(isLink ? `${shown} (symbolic link)` : shown);
  }
  if (lines.length === 0) lines.push("[There are no such files.]");
  if (unreadable.length > 0) lines.push(`[Folders that cannot be read: ${unreadable.join(", ")}]`);
  return lines.join("\n");
}
