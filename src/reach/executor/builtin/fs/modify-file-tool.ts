/** `fs_modify_file`: replaces exact pieces of text in a file, after showing you a diff. */
import { defineTool, type ToolContext } from "../../../../record/tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import { ALL_EDITS, askConsent, consentQuestion, withNote } from "./consent.ts";
import type { WritingToolOptions } from "./create-file-tool.ts";
import {
  FileError,
  type FileTarget,
  notFoundError,
  parseText,
  toBody,
  toBytes,
  resolveTarget,
} from "../../../files/index.ts";
import { type FileSnapshot, findSnapshot, saveFiles } from "./save-file.ts";
import { unifiedDiff } from "./unified-diff.ts";

export interface Pattern {
  readonly old: string;
  readonly new: string;
  readonly replace_all?: boolean;
}

interface ModifyFileArguments {
  readonly path: string;
  readonly patterns: readonly Pattern[];
}

const NAME = "fs_modify_file";
const DESCRIPTION =
  "Replaces old with new for each pattern in turn; each pattern applies to the result of the previous " +
  "ones. old is plain text, whitespace included, and must occur exactly once unless replace_all is " +
  "true. Applies all patterns or none. Asks the user first, showing a diff; the result says whether " +
  "the file was changed or the user declined. Keeps line endings, byte order mark and mode: write " +
  "line breaks as \\n. Fails if a pattern is not found or occurs more than once, or if the file does " +
  "not exist, is binary, is a hard link, is outside the workspace or protected (.git, .jp), or changed " +
  "in the meantime. Nothing is written then: read the file again and correct the patterns. To change " +
  "several files, use fs_edit.";

export const PATTERN_PARAMETERS = {
  type: "array",
  items: {
    type: "object",
    properties: {
      old: {
        type: "string",
        minLength: 1,
        description: "the exact text to replace; must be unique unless replace_all is true",
      },
      new: { type: "string", description: "the replacement; empty to remove the text" },
      replace_all: { type: "boolean", description: "replace every occurrence" },
    },
    required: ["old", "new"],
    additionalProperties: false,
  },
} as const;

const PARAMETERS = {
  type: "object",
  properties: {
    path: { type: "string", description: "the file, relative to the workspace root" },
    patterns: { ...PATTERN_PARAMETERS, minItems: 1 },
  },
  required: ["path", "patterns"],
  additionalProperties: false,
} as const;

/** The question that tools ask before changing files. */
export const APPLY_CHANGES = {
  apply_changes: consentQuestion("apply_changes", "Apply these changes?", {
    default: true,
    rememberAs: ALL_EDITS,
  }),
};

export function createModifyFileTool(options: WritingToolOptions): ShippedTool {
  const tool = defineTool({
    name: NAME,
    description: DESCRIPTION,
    parameters: PARAMETERS,
    questions: APPLY_CHANGES,
    run: async (args: ModifyFileArguments, context) =>
      withNote(await modifyFile(options, args, context), context),
  });
  return {
    tool,
    config: { summary: "Replace exact pieces of text in a workspace file, if the user agrees." },
    effect: "edits",
    argumentKinds: { "/path": "path" },
  };
}

async function modifyFile(
  { root, changes }: WritingToolOptions,
  { path, patterns }: ModifyFileArguments,
  context: ToolContext<typeof APPLY_CHANGES>,
): Promise<string> {
  const target = await resolveTarget(root, path);
  const { displayPath, questionPath } = target;
  const { before, bytes, body, text, replacements } = await planPatterns(target, patterns);
  const isAgreed = await askConsent(context.ask.apply_changes, context, {
    changes: [{ target, before: before.bytes, after: bytes }],
    text: `Apply these changes to ${questionPath}?`,
    context: await unifiedDiff({ path: displayPath, before: body, after: text }),
  });
  if (!isAgreed) return `The user declined the changes to ${displayPath}. Nothing was changed.`;
  await saveFiles([{ target, bytes, before }], context.signal, changes);
  return describeReplacements(displayPath, replacements);
}

export function describeReplacements(displayPath: string, count: number): string {
  return `Changed ${displayPath}: ${count} ${count === 1 ? "replacement" : "replacements"}.`;
}

/** A file, and its content with the patterns applied. */
interface PlannedPatterns extends PatchedText {
  readonly before: FileSnapshot;
  /** The current text. */
  readonly body: string;
  /** The new content. */
  readonly bytes: Buffer;
}

/** Reads the file and applies the patterns. Writes nothing. Throws a `FileError`. */
export async function planPatterns(
  target: FileTarget,
  patterns: readonly Pattern[],
): Promise<PlannedPatterns> {
  const { displayPath } = target;
  if (!patterns.every((pattern) => pattern.new.isWellFormed())) {
    throw new FileError("The new text is not valid Unicode text.");
  }
  const before = await findSnapshot(target);
  if (before === undefined) throw notFoundError(displayPath);
  const old = parseText(before.bytes);
  if (old === undefined) {
    throw new FileError(`${displayPath} cannot be changed: it is binary, or not UTF-8 text.`);
  }
  const { body, format } = old;
  const patched = applyPatterns(
    body,
    patterns.map((pattern) => ({
      ...pattern,
      old: toBody(pattern.old, format),
      new: toBody(pattern.new, format),
    })),
  );
  return { ...patched, before, body, bytes: toBytes({ body: patched.text, format }) };
}

interface PatchedText {
  readonly text: string;
  readonly replacements: number;
}

/** Applies all patterns in turn, or throws a `FileError`. */
export function applyPatterns(text: string, patterns: readonly Pattern[]): PatchedText {
  let patched: PatchedText = { text, replacements: 0 };
  for (const [index, pattern] of patterns.entries()) {
    const { text: next, replacements } = applyPattern(patched.text, pattern, index);
    patched = { text: next, replacements: patched.replacements + replacements };
  }
  if (patched.text === text) throw new FileError("The patterns change nothing.");
  return patched;
}

function applyPattern(text: string, pattern: Pattern, index: number): PatchedText {
  const name = `patterns[${index}].old`;
  if (pattern.old === "") {
    throw new FileError(`${name} is empty. To write a whole file, use fs_create_file.`);
  }
  const found = findOccurrences(text, pattern.old);
  const [at] = found;
  if (at === undefined) {
    throw new FileError(
      `${name} was not found, so nothing was changed. It must match the file exactly, whitespace ` +
        "included, after the previous patterns were applied. Read the file again.",
    );
  }
  if (pattern.replace_all === true) {
    const pieces = text.split(pattern.old);
    return { text: pieces.join(pattern.new), replacements: pieces.length - 1 };
  }
  if (found.length > 1) {
    const lines = found
      .slice(0, MAX_LISTED_LINES)
      .map((position) => text.slice(0, position).split("\n").length);
    const more = found.length > MAX_LISTED_LINES ? " and more" : "";
    throw new FileError(
      `${name} occurs more than once (lines ${lines.join(", ")}${more}), so nothing was changed. ` +
        "Add surrounding text until it is unique, or set replace_all.",
    );
  }
  const after = text.slice(at + pattern.old.length);
  return { text: text.slice(0, at) + pattern.new + after, replacements: 1 };
}

const MAX_LISTED_LINES = 5;

/** Includes overlapping ones, which are just as ambiguous. Finds one more than it lists. */
function findOccurrences(text: string, wanted: string): readonly number[] {
  const found: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0 && found.length <= MAX_LISTED_LINES;) {
    found.push(at);
    at = text.indexOf(wanted, at + 1);
  }
  return found;
}
