/** `fs_modify_file`: replaces pieces of a file after a person has seen the difference. */
import { defineTool, type ToolContext } from "../../../tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import type { WritingToolOptions } from "./create-file-tool.ts";
import { notThere, Refusal } from "./file-error.ts";
import { fileToolConfig } from "./file-tool-config.ts";
import { findVersion, parseText, replaceFile, toBody, toBytes } from "./files.ts";
import { findWritableTarget } from "./place.ts";
import { unifiedDiff } from "./unified-diff.ts";

interface ModifyFileArguments {
  readonly path: string;
  readonly patterns: readonly Pattern[];
}

const NAME = "fs_modify_file";
const DESCRIPTION =
  "Replaces old by new for each pattern, in their order: a pattern sees what those before it made. " +
  "old is plain text, white space included, and must occur exactly once, unless replace_all is true. " +
  "All patterns are applied or none. The user sees a diff and is asked first; the result says whether " +
  "the file was changed or the user declined. Line ends, byte order mark and mode are kept: write line " +
  "breaks as \\n. Errors: a pattern was not found or occurs more than once; the file does not exist, " +
  "is binary, a hard link, outside the workspace or protected (.git, .jp), or changed meanwhile. Then nothing was " +
  "written: read the file again and correct the patterns.";

const PARAMETERS = {
  type: "object",
  properties: {
    path: { type: "string", description: "the file, relative to the workspace's root" },
    patterns: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        properties: {
          old: {
            type: "string",
            minLength: 1,
            description: "the exact text to replace; occurs exactly once, unless replace_all",
          },
          new: { type: "string", description: "what takes its place; empty to remove it" },
          replace_all: { type: "boolean", description: "replace every occurrence" },
        },
        required: ["old", "new"],
        additionalProperties: false,
      },
    },
  },
  required: ["path", "patterns"],
  additionalProperties: false,
} as const;

export function createModifyFileTool(options: WritingToolOptions): ShippedTool {
  const tool = defineTool<ModifyFileArguments>({
    name: NAME,
    description: DESCRIPTION,
    parameters: PARAMETERS,
    run: (args, context) => modifyFile(options, args, context),
  });
  const summary = "Replace exact pieces of text in a file of the workspace, if the user agrees.";
  // It changes nothing before its own question, with the diff, is answered: the call need not ask.
  return { tool, config: fileToolConfig({ summary, description: DESCRIPTION }) };
}

async function modifyFile(
  { root, consent }: WritingToolOptions,
  { path, patterns }: ModifyFileArguments,
  context: ToolContext,
): Promise<string> {
  if (!patterns.every((pattern) => pattern.new.isWellFormed())) {
    throw new Refusal("The new text is not valid Unicode text.");
  }
  const target = await findWritableTarget(root, path);
  const { shown, asked } = target;
  const before = await findVersion(target);
  if (before === undefined) throw notThere(shown);
  const old = parseText(before.bytes);
  if (old === undefined) {
    throw new Refusal(`${shown} is a binary file, or not in UTF-8: it cannot be changed as text.`);
  }
  const { body, format } = old;
  const { text, replacements } = applyPatterns(
    body,
    patterns.map((pattern) => ({
      ...pattern,
      old: toBody(pattern.old, format),
      new: toBody(pattern.new, format),
    })),
  );
  const bytes = toBytes({ body: text, format });
  const diff = unifiedDiff({ path: shown, before: body, after: text });
  const isAgreed = await consent.ask(context, {
    call: [NAME, { path, patterns: JSON.stringify(patterns) }],
    shown,
    change: [before.bytes, bytes],
    question: {
      id: "apply_changes",
      text: `Apply these changes to ${asked}?`,
      context: diff,
      default: true,
    },
  });
  if (!isAgreed) return `The user declined the changes to ${shown}. Nothing was changed.`;
  await replaceFile({ target, bytes, before, signal: context.signal });
  return `Changed ${shown}: ${replacements} ${replacements === 1 ? "replacement" : "replacements"}.`;
}

export interface Pattern {
  readonly old: string;
  readonly new: string;
  readonly replace_all?: boolean;
}

export interface PatchedText {
  readonly text: string;
  readonly replacements: number;
}

/** One after the other: a pattern sees what those before it made. Throws a refusal. */
export function applyPatterns(text: string, patterns: readonly Pattern[]): PatchedText {
  let patched: PatchedText = { text, replacements: 0 };
  for (const [index, pattern] of patterns.entries()) {
    const { text: next, replacements } = applyPattern(patched.text, pattern, index);
    patched = { text: next, replacements: patched.replacements + replacements };
  }
  if (patched.text === text) throw new Refusal("The patterns together change nothing.");
  return patched;
}

function applyPattern(text: string, pattern: Pattern, index: number): PatchedText {
  const name = `patterns[${index}].old`;
  if (pattern.old === "") throw new Refusal(`${name} is empty. fs_create_file writes whole files.`);
  const found = occurrences(text, pattern.old);
  const [at] = found;
  if (at === undefined) {
    throw new Refusal(
      `${name} was not found, so nothing was changed. It must be the exact text of the file, ` +
        "white space included, after the patterns before it were applied. Read the file again.",
    );
  }
  if (pattern.replace_all === true) {
    const pieces = text.split(pattern.old);
    return { text: pieces.join(pattern.new), replacements: pieces.length - 1 };
  }
  if (found.length > 1) {
    throw new Refusal(
      `${name} occurs more than once (${linesOf(text, found)}), so nothing was changed. ` +
        "Add the text around it until it is unique, or set replace_all.",
    );
  }
  const after = text.slice(at + pattern.old.length);
  return { text: text.slice(0, at) + pattern.new + after, replacements: 1 };
}

/** Overlapping ones too: there it is just as open which one is meant. The first few are enough. */
function occurrences(text: string, piece: string): readonly number[] {
  const found: number[] = [];
  for (let at = text.indexOf(piece); at >= 0 && found.length < 6;) {
    found.push(at);
    at = text.indexOf(piece, at + 1);
  }
  return found;
}

function linesOf(text: string, found: readonly number[]): string {
  const lines = found.slice(0, 5).map((at) => text.slice(0, at).split("\n").length);
  return `lines ${lines.join(", ")}${found.length > 5 ? " and more" : ""}`;
}
