/** `fs_list_files`: lists the files below a folder. */
import { defineTool, type ToolContext } from "../../../../record/tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import { resolvePath, walkFiles } from "../../../files/index.ts";

interface ListFilesArguments {
  readonly path?: string;
  readonly extension?: string;
}

/** Limit per call. */
const MAX_FILES = 1000;
const PROGRESS_FILES = 1000;

const DESCRIPTION =
  "Lists the files in a folder and all folders below it, one per line, relative to the workspace " +
  "root. Leaves out .git, .jp and .jp.*, which cannot be read. Also leaves out node_modules and what " +
  "a .gitignore excludes; to see these, pass one of them as path. Marks symbolic links and " +
  "does not follow them. Lists at most 1000 files per call; if there are more, a notice in square " +
  "brackets says so: then pass a path or an extension. Fails if the path does not exist, is outside " +
  "the workspace or is protected (.git, .jp).";

export function createListFilesTool({ root }: { readonly root: string }): ShippedTool {
  const tool = defineTool<ListFilesArguments>({
    name: "fs_list_files",
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "the folder; default: the workspace root" },
        extension: {
          type: "string",
          minLength: 1,
          description: 'list only files with this extension, such as "ts"',
        },
      },
      additionalProperties: false,
    },
    run: (args, context) => listFiles(root, args, context),
  });
  const summary = "List the files in the workspace, or in one folder, at any depth.";
  return { tool, config: { summary }, isReadOnly: true, argumentKinds: { "/path": "path" } };
}

async function listFiles(
  root: string,
  { path = ".", extension }: ListFilesArguments,
  context: ToolContext,
): Promise<string> {
  const { signal } = context;
  const start = await resolvePath(root, path);
  const ending = extension === undefined ? "" : `.${extension.replace(/^\*?\./, "")}`.toLowerCase();
  const lines: string[] = [];
  const unreadable: string[] = [];
  const onUnreadable = (folder: string) => void unreadable.push(folder);
  let seen = 0;
  for await (const { displayPath, name, isLink } of walkFiles(start, { signal, onUnreadable })) {
    seen += 1;
    if (seen % PROGRESS_FILES === 0) {
      signal.throwIfAborted();
      context.progress(`${seen} files seen`);
    }
    if (!name.toLowerCase().endsWith(ending)) continue;
    if (lines.length === MAX_FILES) {
      lines.push(`[Showing only the first ${MAX_FILES} files. Pass a path or an extension.]`);
      break;
    }
    lines.push(isLink ? `${displayPath} (symbolic link)` : displayPath);
  }
  if (lines.length === 0) lines.push("[No files found.]");
  if (unreadable.length > 0) lines.push(`[Cannot read these folders: ${unreadable.join(", ")}]`);
  return lines.join("\n");
}
