/** `fs_grep_files`: which lines of which files hold a text, or match an expression. */
import { defineTool, type ToolContext } from "../../../tool/index.ts";
import type { ShippedTool } from "../shipped-tool.ts";
import { createExpressionSearch } from "./expression-search.ts";
import { fileToolConfig } from "./file-tool-config.ts";
import { grepFiles } from "./grep-files.ts";
import { createLiteralSearch, type LineSearch } from "./line-search.ts";
import { Refusal } from "./refusal.ts";

interface GrepFilesArguments {
  readonly pattern: string;
  readonly regex?: boolean;
  readonly paths?: readonly string[];
  readonly context?: number;
}

export interface GrepFilesOptions {
  readonly root: string;
  /** How long a regular expression may take for one file. */
  readonly timeLimitMs?: number;
}

const DESCRIPTION =
  "Searches line by line, with case, for the pattern as plain text, or as a JavaScript regular " +
  "expression if regex is true. Gives path:line:text for each line that matches and path-line-text " +
  "for context, groups apart by --. Looks at the same files as fs_list_files, without links, symbolic " +
  "or hard, binary files and files over 8 MiB. At most 200 matching lines per call: a notice in square brackets " +
  "says so; then narrow the pattern or the paths. Errors: the expression is not valid or takes too " +
  "long (5 seconds for a file), or a path does not exist, is outside the workspace or is protected.";

export function createGrepFilesTool({ root, timeLimitMs = 5000 }: GrepFilesOptions): ShippedTool {
  const tool = defineTool<GrepFilesArguments>({
    name: "fs_grep_files",
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        pattern: { type: "string", minLength: 1, maxLength: 1000, description: "what to find" },
        regex: { type: "boolean", description: "the pattern is a regular expression" },
        paths: {
          type: "array",
          items: { type: "string" },
          minItems: 1,
          description: "files and folders to look in; the whole workspace if absent",
        },
        context: {
          type: "integer",
          minimum: 0,
          maximum: 20,
          description: "lines to show before and after each match; 0 if absent",
        },
      },
      required: ["pattern"],
      additionalProperties: false,
    },
    run: (args, context) => grep(args, { root, timeLimitMs, context }),
  });
  const summary =
    "Find lines in the workspace's files that hold a text, or match a regular expression.";
  return { tool, config: fileToolConfig({ summary, description: DESCRIPTION }), isReadOnly: true };
}

interface Surroundings extends Required<GrepFilesOptions> {
  readonly context: ToolContext;
}

async function grep(args: GrepFilesArguments, around: Surroundings): Promise<string> {
  const { root, context } = around;
  const { paths = ["."], context: contextLines = 0 } = args;
  await using search = await createSearch(args, around);
  return await grepFiles(search, { root, paths, contextLines, context });
}

async function createSearch(
  { pattern, regex }: GrepFilesArguments,
  { timeLimitMs, context: { signal } }: Surroundings,
): Promise<LineSearch> {
  if (regex === true) return createExpressionSearch({ pattern, timeLimitMs, signal });
  if (/[\r\n]/.test(pattern)) {
    throw new Refusal("The pattern has a line break. Search for a text on one line.");
  }
  return createLiteralSearch(pattern);
}
