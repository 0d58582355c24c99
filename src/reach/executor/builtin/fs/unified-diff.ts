/** Unified diffs of whole lines, as `diff -u` and Git print them. */
import type { StructuredPatchHunk } from "diff";
import { loadModule } from "../../../../util/index.ts";

export interface DiffedTexts {
  readonly path: string;
  /** Undefined for a new file. */
  readonly before: string | undefined;
  /** Undefined for a deleted file. */
  readonly after: string | undefined;
}

const CONTEXT_LINES = 3;

/** Time grows with the square of the number of edits: texts that differ more get one large hunk. */
const MAX_EDITS = 1000;
/** Millions of equal lines are slow even with few edits. */
const MAX_MILLISECONDS = 1000;

/** Empty for equal texts; otherwise ends with a line break. */
export async function unifiedDiff({ path, before, after }: DiffedTexts): Promise<string> {
  const hunks = await findHunks(before ?? "", after ?? "");
  if (hunks.length === 0) return "";
  const [old, fresh] = [
    before === undefined ? "/dev/null" : `a/${path}`,
    after === undefined ? "/dev/null" : `b/${path}`,
  ];
  const heading = `--- ${old}\n+++ ${fresh}\n`;
  return heading + hunks.map(formatHunk).join("");
}

/** Every line with a sign in front: `- ` for those of `before` alone, `+ ` for those of `after` alone. */
export async function diffLines(
  before: readonly string[],
  after: readonly string[],
): Promise<readonly string[]> {
  const { diffArrays } = await loadDiff();
  return diffArrays([...before], [...after]).flatMap(({ added, removed, value }) => {
    const sign = added ? "+ " : removed ? "- " : "  ";
    return value.map((line) => sign + line);
  });
}

async function findHunks(before: string, after: string): Promise<readonly StructuredPatchHunk[]> {
  if (before === after) return [];
  if (before === "" || after === "") return [toSingleHunk(before, after)];
  const { structuredPatch } = await loadDiff();
  const options = { context: CONTEXT_LINES, maxEditLength: MAX_EDITS, timeout: MAX_MILLISECONDS };
  const patch = structuredPatch("", "", before, after, undefined, undefined, options);
  return patch?.hunks ?? [toSingleHunk(before, after)];
}

/** Replaces everything from the first to the last differing line. */
function toSingleHunk(before: string, after: string): StructuredPatchHunk {
  const [old, fresh] = [splitLines(before), splitLines(after)];
  const start = countEqual(old, fresh);
  const end = countEqual(old.slice(start).toReversed(), fresh.slice(start).toReversed());
  const [oldEnd, newEnd] = [old.length - end, fresh.length - end];
  const leading = old.slice(Math.max(0, start - CONTEXT_LINES), start);
  const trailing = old.slice(oldEnd, oldEnd + CONTEXT_LINES);
  const context = leading.length + trailing.length;
  return {
    oldStart: start - leading.length + 1,
    oldLines: oldEnd - start + context,
    newStart: start - leading.length + 1,
    newLines: newEnd - start + context,
    lines: [
      ...withSign(" ", leading),
      ...withSign("-", old.slice(start, oldEnd)),
      ...withSign("+", fresh.slice(start, newEnd)),
      ...withSign(" ", trailing),
    ],
  };
}

/** Keeps line breaks; the last line may have none. */
function splitLines(text: string): readonly string[] {
  return text.split(/(?<=\n)/).filter((line) => line !== "");
}

function countEqual(some: readonly string[], others: readonly string[]): number {
  const differing = some.findIndex((line, index) => line !== others[index]);
  return differing < 0 ? some.length : differing;
}

function withSign(sign: " " | "-" | "+", lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) =>
    line.endsWith("\n")
      ? [sign + line.slice(0, -1)]
      : [sign + line, "\\ No newline at end of file"],
  );
}

function formatHunk({
  oldStart,
  oldLines,
  newStart,
  newLines,
  lines,
}: StructuredPatchHunk): string {
  const header = `@@ -${formatRange(oldStart, oldLines)} +${formatRange(newStart, newLines)} @@`;
  return `${[header, ...lines].join("\n")}\n`;
}

/** An empty range is written as the line before it. */
function formatRange(start: number, count: number): string {
  if (count === 1) return String(start);
  return `${count === 0 ? start - 1 : start},${count}`;
}

/** Slow to load. A turn loads it while it waits for the model. Throws `module_not_loaded`. */
export async function preloadDiff(): Promise<void> {
  await loadDiff();
}

function loadDiff() {
  return loadModule(() => import("diff"));
}
