/** `fs_edit`: changes and creates several files at once, after showing you one diff of all of them. */
import path from "node:path";
import { defineTool, type ToolContext } from "../../../../record/tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import { askConsent, fileOf, withNote } from "./consent.ts";
import type { WritingToolOptions } from "./create-file-tool.ts";
import { FileError, type FileTarget, resolveTarget } from "../../../files/index.ts";
import {
  APPLY_CHANGES,
  describeReplacements,
  type Pattern,
  PATTERN_PARAMETERS,
  planPatterns,
} from "./modify-file-tool.ts";
import { type FileWrite, findSnapshot, saveFiles } from "./save-file.ts";
import { unifiedDiff } from "./unified-diff.ts";

interface EditedFile {
  readonly path: string;
  readonly patterns?: readonly Pattern[];
  readonly content?: string;
}

interface EditArguments {
  readonly files: readonly EditedFile[];
}

/** Each file holds a folder open while it is written. */
const MAX_FILES = 100;

const DESCRIPTION =
  "Changes and creates files in one step, with one question to the user that shows the diff of all of " +
  "them. Prefer it to fs_modify_file and fs_create_file whenever a change touches more than one file " +
  "or place. Give each file once: with patterns to change an existing file, or with content to create " +
  "a new one. Patterns work as in fs_modify_file: each replaces old, which is plain text and must " +
  "occur exactly once unless replace_all is true, with new, and applies to the result of the previous " +
  "ones. Applies everything or nothing: if one pattern is not found, one new file exists already, or " +
  "one file is binary, a hard link, outside the workspace, protected (.git, .jp) or changed in the " +
  "meantime, no file is written. The result says what was changed, or that the user declined. Cannot " +
  "delete files or overwrite whole ones.";

const PARAMETERS = {
  type: "object",
  properties: {
    files: {
      type: "array",
      minItems: 1,
      maxItems: MAX_FILES,
      items: {
        type: "object",
        properties: {
          path: { type: "string", description: "the file, relative to the workspace root" },
          patterns: {
            ...PATTERN_PARAMETERS,
            description: "the replacements in an existing file; leave out content then",
          },
          content: {
            type: "string",
            description: "the complete text of a new file; leave out patterns then",
          },
        },
        required: ["path"],
        additionalProperties: false,
      },
    },
  },
  required: ["files"],
  additionalProperties: false,
} as const;

export function createEditTool(options: WritingToolOptions): ShippedTool {
  const tool = defineTool({
    name: "fs_edit",
    description: DESCRIPTION,
    parameters: PARAMETERS,
    questions: APPLY_CHANGES,
    run: async (args: EditArguments, context) =>
      withNote(await editFiles(options, args, context), context),
  });
  return {
    tool,
    config: {
      summary:
        "Change and create files in one step, if the user agrees. Best for several files or places.",
    },
    effect: "edits",
    argumentKinds: { "/files/path": "path" },
  };
}

async function editFiles(
  { root, changes }: WritingToolOptions,
  { files }: EditArguments,
  context: ToolContext<typeof APPLY_CHANGES>,
): Promise<string> {
  const edits = await planEdits(root, files);
  const names = edits.map(({ target }) => target.questionPath);
  const isAgreed = await askConsent(context.ask.apply_changes, context, {
    changes: edits.map(({ target, bytes, before }) => ({
      target,
      before: before?.bytes,
      after: bytes,
    })),
    text: `Apply these changes to ${listNames(names)}?`,
    context: edits.map(({ diff }) => diff).join(""),
  });
  if (!isAgreed) return "The user declined the changes. Nothing was changed.";
  await saveFiles(edits, context.signal, changes);
  return edits.map(({ done }) => done).join("\n");
}

/** A question names at most this many files. The diff names all. */
const MAX_NAMES = 3;

function listNames(names: readonly string[]): string {
  if (names.length > MAX_NAMES) return `${names.length} files`;
  return [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" and ");
}

interface PlannedEdit extends FileWrite {
  /** Names the file itself, even if the path leads through a link. */
  readonly diff: string;
  /** The result for the model. */
  readonly done: string;
}

/** Writes nothing. Throws a `FileError` that lists all problems. */
async function planEdits(
  root: string,
  files: readonly EditedFile[],
): Promise<readonly PlannedEdit[]> {
  const edits: PlannedEdit[] = [];
  const problems: string[] = [];
  for (const [index, file] of files.entries()) {
    try {
      const edit = await planEdit(root, file);
      const other = edits.findIndex((earlier) => overlap(earlier, edit));
      if (other >= 0) {
        throw new FileError(
          `${edit.target.displayPath} and ${edits[other]?.target.displayPath ?? ""} are the same ` +
            "file, or need the same place. Give each file once, with all its patterns.",
        );
      }
      edits.push(edit);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      problems.push(files.length === 1 ? error.message : `files[${index}]: ${error.message}`);
    }
  }
  if (problems.length > 0) throw new FileError(problems.join("\n"));
  return edits;
}

async function planEdit(root: string, { path: file, ...edit }: EditedFile): Promise<PlannedEdit> {
  const { patterns = [], content } = edit;
  const target = await resolveTarget(root, file);
  if (patterns.length === 0 && content !== undefined) return planNewFile(target, content);
  // Some models fill in every field, and leave the unused one empty.
  if (patterns.length > 0 && (content ?? "") === "") return planChange(target, patterns);
  throw new FileError(
    `${target.displayPath} has ${patterns.length === 0 ? "neither patterns nor" : "both patterns and"} ` +
      "content. Give patterns to change an existing file, or content to create a new one.",
  );
}

async function planChange(target: FileTarget, patterns: readonly Pattern[]): Promise<PlannedEdit> {
  const { before, bytes, body, text, replacements } = await planPatterns(target, patterns);
  const diff = await unifiedDiff({ path: target.realDisplayPath, before: body, after: text });
  return {
    target,
    bytes,
    before,
    diff,
    done: describeReplacements(target.displayPath, replacements),
  };
}

async function planNewFile(target: FileTarget, content: string): Promise<PlannedEdit> {
  const { displayPath, realDisplayPath } = target;
  if (!content.isWellFormed()) throw new FileError("The content is not valid Unicode text.");
  if ((await findSnapshot(target)) !== undefined) {
    throw new FileError(
      `${displayPath} exists already. Change it with patterns, or overwrite it with fs_create_file.`,
    );
  }
  const diff = await unifiedDiff({ path: realDisplayPath, before: undefined, after: content });
  return {
    target,
    bytes: Buffer.from(content),
    before: undefined,
    // For an empty file, the diff is only its heading.
    diff: diff === "" ? `--- /dev/null\n+++ b/${realDisplayPath}\n` : diff,
    done: `Created ${displayPath}.`,
  };
}

/** Whether they are the same file, or one needs a folder where the other is a file. */
function overlap(one: FileWrite, two: FileWrite): boolean {
  const [here, there] = [fileOf(one.target), fileOf(two.target)];
  if (here === there) return true;
  if (one.before !== undefined && two.before !== undefined) {
    return (
      one.before.stats.dev === two.before.stats.dev && one.before.stats.ino === two.before.stats.ino
    );
  }
  if (one.before !== undefined || two.before !== undefined) return false;
  // Many file systems ignore case and Unicode forms.
  const [first = "", second = ""] = [here, there].map(
    (file) => file.normalize("NFC").toLowerCase() + path.sep,
  );
  return first.startsWith(second) || second.startsWith(first);
}
