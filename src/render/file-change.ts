/**
 * A call that changes a file, as one block: what happens to which file, how many lines come and go, and the diff. Only
 * jp's own file tools are shown like this, because the diff that they ask about is all that their arguments do.
 */
import type { InquiryRequest, ToolCallRequest } from "../conversation/index.ts";
import { isJsonArray, isJsonObject, type Json } from "../util/index.ts";
import { verbatim } from "./verbatim.ts";

export interface FileChange {
  readonly verb: string;
  /** Lines of the diff. */
  readonly added: number;
  readonly removed: number;
  /** `Edit src/a.ts +1 −1`: one line, verbatim. */
  readonly heading: string;
  /** A sentence of the tool about the file; empty if there is none. */
  readonly about: string;
  /** The lines of the diff as they are, without those that name the file. Empty if the call has not asked yet. */
  readonly diff: readonly string[];
  /** The arguments, or parts of them, that the heading and the diff do not show. */
  readonly others: readonly (readonly [name: string, value: Json])[];
}

type ChangingCall = Pick<ToolCallRequest, "name" | "arguments">;

/** The question of a call, with what the record has of it. */
export interface AskedChange extends Pick<InquiryRequest, "origin" | "questionId"> {
  readonly question?: { readonly context?: string | undefined } | undefined;
}

/** By the id of the question that asks about it. */
const VERBS: Readonly<Record<string, { readonly tool: string; readonly verb: string }>> = {
  apply_changes: { tool: "fs_modify_file", verb: "Edit" },
  create_file: { tool: "fs_create_file", verb: "Create" },
  overwrite_file: { tool: "fs_create_file", verb: "Overwrite" },
  delete_file: { tool: "fs_delete_file", verb: "Delete" },
};

/** The change that a call asks about. Undefined for the questions of any other tool, whatever its name is. */
export function findFileChange(
  { name, arguments: given }: ChangingCall,
  { origin, questionId = "", question }: AskedChange,
): FileChange | undefined {
  const known = Object.hasOwn(VERBS, questionId) ? VERBS[questionId] : undefined;
  const { path } = given;
  if (origin?.type !== "builtin" || known?.tool !== name || typeof path !== "string") {
    return undefined;
  }
  const { about, file = path, hunks } = readContext(question?.context ?? "");
  const { verb } = known;
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
    // A new file has one hunk, from its first line to its last.
    diff: verb === "Create" ? hunks.slice(1) : hunks,
    others: Object.entries(given).flatMap(([key, value]) =>
      missingIn({ verb, file, hunks }, key, value),
    ),
  };
}

/** `Edit src/a.ts`, of a call that has not asked. Undefined if its arguments are not those of jp's file tools. */
export function changeTitle({ name, arguments: given }: ChangingCall): string | undefined {
  const { path, ...others } = given;
  const known = Object.values(VERBS).find(({ tool }) => tool === name);
  if (known === undefined || typeof path !== "string") return undefined;
  const keys = Object.keys(others);
  const isOwn =
    name === "fs_modify_file"
      ? keys.length === 1 && isJsonArray(others["patterns"])
      : name === "fs_create_file"
        ? keys.length === 1 && typeof others["content"] === "string"
        : keys.length === 0;
  return isOwn ? `${known.verb} ${pathText(path)}` : undefined;
}

/** In quotes unless it is one word, so that it cannot pass for a path and its counts. */
function pathText(file: string): string {
  const isQuoted = file.startsWith('"') && file.endsWith('"') && file.length > 1;
  return verbatim(isQuoted || /^[^\s"]\S*$/.test(file) ? file : JSON.stringify(file));
}

interface ReadContext {
  readonly about: string;
  /** The path in the diff. */
  readonly file?: string;
  /** From the first `@@` on. */
  readonly hunks: readonly string[];
}

function readContext(context: string): ReadContext {
  const lines = context.replace(/\n$/, "").split("\n");
  const start = lines.findIndex(
    (line, index) =>
      line.startsWith("--- ") &&
      lines[index + 1]?.startsWith("+++ ") === true &&
      lines[index + 2]?.startsWith("@@ ") === true,
  );
  if (start === -1) return { about: lines.join("\n"), hunks: [] };
  return {
    about: lines.slice(0, start).join("\n"),
    file: lines[start + 1]?.slice("+++ b/".length) ?? "",
    hunks: lines.slice(start + 2),
  };
}

function count(hunks: readonly string[], sign: "+" | "-"): number {
  return hunks.filter((line) => line.startsWith(sign)).length;
}

interface ShownChange extends Required<Pick<ReadContext, "file" | "hunks">> {
  readonly verb: string;
}

/** The argument under its key, or the parts of it that are not in the diff. Empty if all of it is. */
function missingIn(
  { verb, file, hunks }: ShownChange,
  key: string,
  value: Json,
): readonly [string, Json][] {
  if (key === "path" && value === file) return [];
  if (key === "content" && typeof value === "string") {
    const isShown =
      verb === "Create" ? isNewFile(hunks, value) : hasPieces(value, sidesOf(hunks, "+"));
    return isShown ? [] : [[key, value]];
  }
  if (key !== "patterns" || !isJsonArray(value)) return [[key, value]];
  const [before, after] = [sidesOf(hunks, "-"), sidesOf(hunks, "+")];
  return value.flatMap((pattern, index): [string, Json][] =>
    isPatternIn(pattern, before, after) ? [] : [[`${key}[${index}]`, pattern]],
  );
}

/** The lines of one side, hunk by hunk. */
function sidesOf(hunks: readonly string[], sign: "-" | "+"): readonly string[] {
  const sides: string[][] = [];
  for (const line of hunks) {
    if (line.startsWith("@@")) sides.push([]);
    else if (line.startsWith(" ") || line.startsWith(sign)) sides.at(-1)?.push(line.slice(1));
  }
  return sides.map((lines) => lines.join("\n"));
}

/** Whether the hunks have every line of the content, and nothing else. */
function isNewFile(hunks: readonly string[], content: string): boolean {
  if (content === "") return hunks.length === 0;
  const lines = content.replace(/\n$/, "").split("\n");
  const end = content.endsWith("\n") ? [] : ["\\ No newline at end of file"];
  const expected = [...lines.map((line) => `+${line}`), ...end];
  const [, ...shown] = hunks;
  return shown.length === expected.length && shown.every((line, at) => line === expected[at]);
}

/** Whether the pieces are in the content, in their order: the rest is as it was. An empty content needs none. */
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

/** A pattern whose effect a later one takes back is in neither side. Lines that it keeps need not be. */
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

/** Without the lines that both begin or end with. */
function withoutCommonLines(from: readonly string[], to: readonly string[]) {
  const most = Math.min(from.length, to.length);
  let start = 0;
  while (start < most && from[start] === to[start]) start += 1;
  let end = 0;
  while (end < most - start && from.at(-1 - end) === to.at(-1 - end)) end += 1;
  return [from, to].map((lines) => lines.slice(start, lines.length - end).join("\n")) as [
    string,
    string,
  ]; // One for each.
}
