/**
 * A call that changes files, as one block: the action, the files, the line counts and the diff. Only jp's own file
 * tools are shown like this, because the diff that they ask about is all that their arguments do.
 */
import type { ToolCallRequest } from "../../record/conversation/index.ts";
import type { ToolOrigin } from "../../record/tool/index.ts";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { verbatim } from "./verbatim.ts";

export interface FileChange {
  /** `Edit src/a.ts +1 −1` or `Edit 3 files +4 −2`: one line, verbatim. */
  readonly heading: string;
  /** Line counts over all diffs. */
  readonly added: number;
  readonly removed: number;
  /** At least one, in diff order. */
  readonly files: readonly [ChangedFile, ...ChangedFile[]];
  /** The arguments, or parts of them, that neither the headings nor the diffs show. */
  readonly others: readonly (readonly [name: string, value: Json])[];
}

/** A file that a call changes. */
export interface ChangedFile {
  readonly verb: string;
  readonly added: number;
  readonly removed: number;
  /** `Edit src/a.ts +1 −1`: one line, verbatim. */
  readonly heading: string;
  /** The tool's sentence about the file, or empty. */
  readonly about: string;
  /** The diff's lines, unchanged, without those that name the file. Empty if the call has not asked yet. */
  readonly diff: readonly string[];
}

type ChangingCall = Pick<ToolCallRequest, "name" | "arguments">;

/** A call's question, as recorded. */
export interface AskedChange {
  readonly origin?: ToolOrigin | undefined;
  readonly questionId?: string | undefined;
  readonly question?: { readonly context?: string | undefined } | undefined;
}

/** Keyed by the id of the question about the change. */
const VERBS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  apply_changes: { fs_modify_file: "Edit", fs_edit: "Edit" },
  create_file: { fs_create_file: "Create" },
  overwrite_file: { fs_create_file: "Overwrite" },
  delete_file: { fs_delete_file: "Delete" },
};

/** The tool that takes a list of files. */
const SEVERAL = "fs_edit";

/** The change a call asks about. Undefined for other tools' questions, even under the same name. */
export function findFileChange(
  { name, arguments: given }: ChangingCall,
  { origin, questionId = "", question }: AskedChange,
): FileChange | undefined {
  const known = Object.hasOwn(VERBS, questionId) ? VERBS[questionId] : undefined;
  const verb = known !== undefined && Object.hasOwn(known, name) ? known[name] : undefined;
  if (origin?.type !== "builtin" || verb === undefined) return undefined;
  const context = question?.context ?? "";
  if (name === SEVERAL) return findSeveral(given, context);
  const { path } = given;
  if (typeof path !== "string") return undefined;
  const { about, sections } = readContext(context);
  // Anything but a diff of this one file is shown unchanged.
  const [section = { file: path, isNew: false, hunks: [] }] = sections;
  const file = changedFile(verb, section, about);
  const others = Object.entries(given).flatMap(([key, value]) => missingIn(section, key, value));
  const { heading, added, removed } = file;
  return { heading, added, removed, files: [file], others };
}

/** For `fs_edit`: the diff has a section for each of the `files`, in order. */
function findSeveral(given: JsonObject, context: string): FileChange | undefined {
  const { files: listed, ...rest } = given;
  if (!isJsonArray(listed ?? null)) return undefined;
  const entries = listed as readonly Json[]; // Checked above.
  const { about, sections } = readContext(context);
  const [first, ...more] = sections.map((section) =>
    changedFile(
      section.isNew ? "Create" : "Edit",
      section,
      section.hunks.length === 0 ? EMPTY : "",
    ),
  );
  if (first === undefined || about !== "") return undefined;
  const files = [first, ...more] as const;
  const others = entries.flatMap((entry, index): (readonly [string, Json])[] => {
    const [name, section] = [`files[${index}]`, sections[index]];
    if (section === undefined || !isJsonObject(entry)) return [[name, entry]];
    return Object.entries(entry).flatMap(([key, value]) =>
      isBlank(key, value, entry)
        ? []
        : missingIn(section, key, value).map(([at, part]) => [`${name}.${at}`, part] as const),
    );
  });
  const [added, removed] = [sumOf(files, "added"), sumOf(files, "removed")];
  return {
    heading: more.length === 0 ? first.heading : `Edit ${files.length} files +${added} −${removed}`,
    added,
    removed,
    files: [first, ...more],
    others: [...others, ...Object.entries(rest)],
  };
}

const EMPTY = "An empty file.";

/** An empty field that a model filled in alongside the one it means. */
function isBlank(key: string, value: Json, { patterns = [], content = "" }: JsonObject): boolean {
  const hasPatterns = isJsonArray(patterns) && patterns.length > 0;
  if (key === "content") return value === "" && hasPatterns;
  return key === "patterns" && !hasPatterns && isJsonArray(value) && content !== "";
}

function sumOf(files: readonly ChangedFile[], key: "added" | "removed"): number {
  return files.reduce((sum, file) => sum + file[key], 0);
}

function changedFile(verb: string, { file, hunks }: DiffSection, about: string): ChangedFile {
  const [added, removed] = [count(hunks, "+"), count(hunks, "-")];
  const counts = [
    ...(hunks.length === 0 ? [] : [`+${added}`]),
    ...(hunks.length === 0 || verb === "Create" ? [] : [`−${removed}`]),
  ];
  return {
    verb,
    added,
    removed,
    heading: [verb, pathText(file), ...counts].join(" "),
    about,
    // A new file has a single hunk, from its first line to its last.
    diff: verb === "Create" ? hunks.slice(1) : hunks,
  };
}

/** `Edit src/a.ts`, for a call that has not asked yet. Undefined if the arguments do not match jp's file tools. */
export function changeTitle({ name, arguments: given }: ChangingCall): string | undefined {
  const tool = Object.hasOwn(TITLES, name) ? TITLES[name] : undefined;
  return tool?.(given);
}

const TITLES: Readonly<Record<string, (given: JsonObject) => string | undefined>> = {
  fs_modify_file: (given) => titleOf("Edit", given, { patterns: isJsonArray }),
  fs_create_file: (given) => titleOf("Create", given, { content: isText }),
  fs_delete_file: (given) => titleOf("Delete", given, {}),
  fs_edit: ({ files = null, ...rest }) => {
    if (!isJsonArray(files) || Object.keys(rest).length > 0) return undefined;
    const titles = files.map((file) => {
      if (!isJsonObject(file)) return undefined;
      const edit = titleOf("Edit", file, { patterns: isJsonArray });
      return edit ?? titleOf("Create", file, { content: isText });
    });
    if (titles.length === 0 || titles.includes(undefined)) return undefined;
    const hidden = titles.length - MAX_TITLES;
    const more = hidden > 0 ? [`${hidden} more`] : [];
    return [...titles.slice(0, MAX_TITLES), ...more].join(", ");
  },
};

/** The maximum number of files in a title. */
const MAX_TITLES = 3;

/** Undefined if there are other arguments. */
function titleOf(
  verb: string,
  { path, ...others }: JsonObject,
  expected: Readonly<Record<string, (value: Json) => boolean>>,
): string | undefined {
  if (typeof path !== "string") return undefined;
  const entries = Object.entries(others);
  if (entries.length !== Object.keys(expected).length) return undefined;
  const isOwn = entries.every(
    ([key, value]) => Object.hasOwn(expected, key) && expected[key]?.(value),
  );
  return isOwn ? `${verb} ${pathText(path)}` : undefined;
}

function isText(value: Json): boolean {
  return typeof value === "string";
}

/** Quoted unless it is one word, so that it cannot pass for a path with counts. */
export function pathText(file: string): string {
  const isQuoted = file.startsWith('"') && file.endsWith('"') && file.length > 1;
  return verbatim(isQuoted || /^[^\s"]\S*$/.test(file) ? file : JSON.stringify(file));
}

interface ReadContext {
  /** The lines before the first diff. */
  readonly about: string;
  readonly sections: readonly DiffSection[];
}

/** A diff's section for one file. */
interface DiffSection {
  /** The path in the diff. */
  readonly file: string;
  /** There is no old file. */
  readonly isNew: boolean;
  /** Starts at the first `@@`. */
  readonly hunks: readonly string[];
}

/**
 * Counts the lines of each hunk: a removed line that starts with `-- ` or an added one that starts with `++ ` looks
 * like another file's name.
 */
function readContext(context: string): ReadContext {
  const lines = context.replace(/\n$/, "").split("\n");
  const names = (at: number) =>
    lines[at]?.startsWith("--- ") === true && lines[at + 1]?.startsWith("+++ b/") === true;
  const start = lines.findIndex((_line, at) => names(at));
  if (start === -1) return { about: lines.join("\n"), sections: [] };
  const sections: DiffSection[] = [];
  for (let at = start; at < lines.length;) {
    const [isNew, file] = [
      lines[at] === "--- /dev/null",
      lines[at + 1]?.slice("+++ b/".length) ?? "",
    ];
    const first = at + 2;
    at = first;
    while (at < lines.length && !names(at)) at = afterHunk(lines, at);
    sections.push({ file, isNew, hunks: lines.slice(first, at) });
  }
  return { about: lines.slice(0, start).join("\n"), sections };
}

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/** The index after the hunk that starts here, or after this line if it starts none. */
function afterHunk(lines: readonly string[], start: number): number {
  const [isHunk, old = "1", fresh = "1"] = HUNK.exec(lines[start] ?? "") ?? [];
  if (isHunk === undefined) return start + 1;
  let [removed, added] = [Number(old), Number(fresh)];
  let at = start + 1;
  for (; at < lines.length && (removed > 0 || added > 0); at += 1) {
    const sign = lines[at]?.charAt(0) ?? "";
    if (!" -+\\".includes(sign) || sign === "") return at;
    if (sign === " " || sign === "-") removed -= 1;
    if (sign === " " || sign === "+") added -= 1;
  }
  return lines[at]?.startsWith("\\") === true ? at + 1 : at;
}

function count(hunks: readonly string[], sign: "+" | "-"): number {
  return hunks.filter((line) => line.startsWith(sign)).length;
}

/** The argument under its key, or its parts that are missing from the diff. Empty if all of it is there. */
function missingIn(
  { isNew, file, hunks }: DiffSection,
  key: string,
  value: Json,
): readonly [string, Json][] {
  if (key === "path" && value === file) return [];
  if (key === "content" && typeof value === "string") {
    const isShown = isNew ? isNewFile(hunks, value) : hasPieces(value, sidesOf(hunks, "+"));
    return isShown ? [] : [[key, value]];
  }
  if (key !== "patterns" || !isJsonArray(value)) return [[key, value]];
  const [before, after] = [sidesOf(hunks, "-"), sidesOf(hunks, "+")];
  return value.flatMap((pattern, index): [string, Json][] =>
    isPatternIn(pattern, before, after) ? [] : [[`${key}[${index}]`, pattern]],
  );
}

/** One side's lines, hunk by hunk. */
function sidesOf(hunks: readonly string[], sign: "-" | "+"): readonly string[] {
  const sides: string[][] = [];
  for (const line of hunks) {
    if (line.startsWith("@@")) sides.push([]);
    else if (line.startsWith(" ") || line.startsWith(sign)) sides.at(-1)?.push(line.slice(1));
  }
  return sides.map((lines) => lines.join("\n"));
}

/** Whether the hunks contain every line of the content and nothing else. */
function isNewFile(hunks: readonly string[], content: string): boolean {
  if (content === "") return hunks.length === 0;
  const lines = content.replace(/\n$/, "").split("\n");
  const end = content.endsWith("\n") ? [] : ["\\ No newline at end of file"];
  const expected = [...lines.map((line) => `+${line}`), ...end];
  const [, ...shown] = hunks;
  return shown.length === expected.length && shown.every((line, at) => line === expected[at]);
}

/** Whether the content contains the pieces in order: the rest is unchanged. An empty content needs none. */
function hasPieces(content: string, pieces: readonly string[]): boolean {
  const text = content.replaceAll("\r\n", "\n");
  let from = 0;
  for (const piece of pieces.map((each) => each.replaceAll("\r\n", "\n"))) {
    const at = text.indexOf(piece, from);
    if (at === -1) return false;
    from = at + piece.length;
  }
  return pieces.length > 0 || content === "";
}

/** A pattern undone by a later one is on neither side. Lines that it leaves unchanged need not be. */
function isPatternIn(pattern: Json, before: readonly string[], after: readonly string[]): boolean {
  if (!isJsonObject(pattern)) return false;
  const { old, new: replacement, replace_all: _all, ...others } = pattern;
  if (typeof old !== "string" || typeof replacement !== "string") return false;
  if (Object.keys(others).length > 0) return false;
  const [from, to] = [old, replacement].map((text) => text.replaceAll("\r\n", "\n").split("\n"));
  const [removed, added] = withoutCommonLines(from ?? [], to ?? []);
  return (
    before.some((side) => side.includes(removed)) && after.some((side) => side.includes(added))
  );
}

/** Strips common leading and trailing lines. */
function withoutCommonLines(from: readonly string[], to: readonly string[]) {
  const most = Math.min(from.length, to.length);
  let start = 0;
  while (start < most && from[start] === to[start]) start += 1;
  let end = 0;
  while (end < most - start && from.at(-1 - end) === to.at(-1 - end)) end += 1;
  return [from, to].map((lines) => lines.slice(start, lines.length - end).join("\n")) as [
    string,
    string,
  ]; // One for each input.
}
