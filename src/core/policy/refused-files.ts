/**
 * Finds what refused files have in common: a name, a folder, an extension. Asking about too many is safe, so one
 * refusal is enough if nothing contradicts it.
 */
import type { Matcher } from "../../settings/config/index.ts";

/** Files that are asked about even in an allowed folder. */
export interface RefusedFiles {
  readonly condition: Matcher;
  /** For rules about folders: the top-level folders that were seen. */
  readonly tops?: readonly string[];
  readonly matches: (file: string) => boolean;
}

interface Decided {
  readonly file: string;
  readonly isApproved: boolean;
}

/** How many approvals per refusal count as slips. */
const MAX_APPROVED = 0.1;
/** If most of the latest decisions are refusals, the person has changed their mind. */
const RECENT = { decisions: 8, refusals: 5 };

/** The fewest conditions that cover the files whose refusal was not a slip. `decided`: in chronological order. */
export function findRefusedFiles(decided: readonly Decided[]): readonly RefusedFiles[] {
  const byFile = Map.groupBy(decided, ({ file }) => file);
  const refused = [...byFile].flatMap(([file, own]) => (isRefused(own) ? [file] : []));
  const candidates = new Map(refused.flatMap(candidatesOf).map((each) => [keyOf(each), each]));
  const usable = [...candidates.values()].filter((candidate) => {
    return isRefused(decided.filter(({ file }) => candidate.matches(file)));
  });
  const open = new Set(refused);
  const found: RefusedFiles[] = [];
  while (open.size > 0) {
    const covered = (candidate: RefusedFiles) => [...open].filter(candidate.matches).length;
    const best = usable.toSorted((a, b) => covered(b) - covered(a))[0];
    if (best === undefined || covered(best) === 0) break;
    const tops = refused.filter(best.matches).map((file) => file.split("/")[0] ?? "");
    found.push(best.tops === undefined ? best : { ...best, tops: [...new Set(tops)] });
    for (const file of [...open].filter(best.matches)) open.delete(file);
  }
  return found;
}

function isRefused(decided: readonly Decided[]): boolean {
  const refusals = decided.filter(({ isApproved }) => !isApproved).length;
  const recent = decided.slice(-RECENT.decisions);
  const isRecent = recent.filter(({ isApproved }) => !isApproved).length >= RECENT.refusals;
  return refusals > 0 && (decided.length - refusals <= MAX_APPROVED * refusals || isRecent);
}

function keyOf({ condition }: RefusedFiles): string {
  return JSON.stringify(condition);
}

/** The most general conditions come first. */
function candidatesOf(file: string): readonly RefusedFiles[] {
  const names = file.split("/");
  const name = names.at(-1) ?? "";
  const folders = names.slice(0, -1);
  const [, dotted] = /^(\.[\w-]+)/.exec(name) ?? [];
  const [, extension] = /^[^.].*(\.\w+)$/.exec(name) ?? [];
  return [
    ...(dotted === undefined
      ? []
      : [ofGlob(`**/${dotted}*`, (other) => nameOf(other).startsWith(dotted))]),
    ...folders.map((folder) => ({
      ...ofGlob(`**/${escapeGlob(folder)}/**`, (other) =>
        other.split("/").slice(0, -1).includes(folder),
      ),
      tops: [],
    })),
    ...(extension === undefined
      ? []
      : [ofGlob(`**/*${extension}`, (other) => nameOf(other).endsWith(extension))]),
    ...folders.map((_, index) => {
      const folder = folders.slice(0, index + 1).join("/");
      return {
        condition: { prefix: folder },
        tops: [],
        matches: (other: string) => other.startsWith(`${folder}/`),
      };
    }),
    ofGlob(`**/${escapeGlob(name)}`, (other) => nameOf(other) === name),
  ];
}

function ofGlob(glob: string, matches: (file: string) => boolean): RefusedFiles {
  return { condition: { glob }, matches };
}

function nameOf(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1);
}

function escapeGlob(text: string): string {
  return text.replaceAll(/[*?[\]{}\\!,]/g, String.raw`\$&`);
}
