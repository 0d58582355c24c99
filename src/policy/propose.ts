/**
 * Proposes rules from what a person has decided: the fewest and narrowest that would have answered what they always answered the
 * same way. A rule that would have let through what they once refused is not proposed, and none is for calls that destroy.
 */
import type { RuleConfig, ToolSettings } from "../config/index.ts";
import type { ArgumentKinds } from "../executor/index.ts";
import { canonicalJson, type Json, type JsonObject } from "../util/index.ts";

/** A call that a person has decided about. */
export interface PastDecision {
  readonly tool: Pick<ToolSettings, "name" | "source">;
  readonly arguments: JsonObject;
  readonly kinds: ArgumentKinds;
  readonly isApproved: boolean;
  /** What it did, or could have done, cannot be had back. */
  readonly isDestructive: boolean;
}

/** A rule that would have answered several decisions. */
export interface ProposedRule {
  readonly tool: string;
  readonly rule: RuleConfig;
  /** Those that no rule before it answers. */
  readonly covered: readonly PastDecision[];
}

/** Splits a command line into the words of its only part. Undefined if there is more to it. */
export type ReadWords = (line: string) => readonly string[] | undefined;

/** The one that answers most comes first. */
export function proposeRules(
  decisions: readonly PastDecision[],
  readWords: ReadWords,
): readonly ProposedRule[] {
  const byTool = Map.groupBy(decisions, ({ tool }) => tool.name);
  return [...byTool]
    .flatMap(([tool, own]) => proposeFor(tool, own, readWords))
    .toSorted((a, b) => b.covered.length - a.covered.length);
}

/** A rule that may be proposed, and what it would have matched. */
interface Candidate {
  readonly rule: RuleConfig;
  /** The lower, the fewer calls it is about. */
  readonly breadth: number;
  /** How many approvals, of how many different calls, it takes to propose it. */
  readonly support: { readonly approvals: number; readonly different: number };
  readonly matched: Set<PastDecision>;
}

function proposeFor(
  tool: string,
  decisions: readonly PastDecision[],
  readWords: ReadWords,
): readonly ProposedRule[] {
  if (decisions.some(({ isDestructive }) => isDestructive)) return [];
  const candidates = findCandidates(decisions, readWords).filter(isSupported);
  const open = new Set(decisions.filter(({ isApproved }) => isApproved));
  const proposed: ProposedRule[] = [];
  for (;;) {
    const gains = candidates.map((candidate) => ({
      candidate,
      covered: [...candidate.matched].filter((decision) => open.has(decision)),
    }));
    const best = gains.reduce<(typeof gains)[number] | undefined>((found, gain) => {
      if (gain.covered.length < MIN_GAIN) return found;
      if (found === undefined) return gain;
      const more = gain.covered.length - found.covered.length;
      const isNarrower = gain.candidate.breadth < found.candidate.breadth;
      return more > 0 || (more === 0 && isNarrower) ? gain : found;
    }, undefined);
    if (best === undefined) return proposed;
    for (const decision of best.covered) open.delete(decision);
    proposed.push({ tool, rule: best.candidate.rule, covered: best.covered });
  }
}

/** A rule has to spare this many prompts to be worth reading. */
const MIN_GAIN = 2;

function isSupported({ matched, support }: Candidate): boolean {
  const all = [...matched];
  if (all.some(({ isApproved }) => !isApproved)) return false;
  const different = new Set(all.map(({ arguments: args }) => canonicalJson(args)));
  return all.length >= support.approvals && different.size >= support.different;
}

function findCandidates(
  decisions: readonly PastDecision[],
  readWords: ReadWords,
): readonly Candidate[] {
  const found = new Map<string, Candidate>();
  for (const decision of decisions) {
    for (const candidate of candidatesOf(decision, readWords)) {
      const key = canonicalJson(candidate.rule as unknown as JsonObject); // Written as JSON.
      const known = found.get(key) ?? { ...candidate, matched: new Set<PastDecision>() };
      known.matched.add(decision);
      found.set(key, known);
    }
  }
  return [...found.values()];
}

function candidatesOf(
  { arguments: args, kinds }: PastDecision,
  readWords: ReadWords,
): readonly Omit<Candidate, "matched">[] {
  const exact: Omit<Candidate, "matched"> = {
    rule: { mode: "unattended", arg: "", const: args },
    breadth: 0,
    support: { approvals: 2, different: 1 },
  };
  const typed = Object.entries(kinds).flatMap(([arg, kind]) => {
    const texts = textsAt(args, arg.split("/").slice(1));
    if (texts === undefined || texts.length === 0) return [];
    if (kind === "path") return ofPaths(arg, texts);
    if (kind === "url") return texts.length === 1 ? ofUrl(arg, texts[0] ?? "") : [];
    return texts.length === 1 ? ofCommand(arg, readWords(texts[0] ?? "")) : [];
  });
  return [exact, ...typed];
}

/** Undefined if something other than text is there. */
function textsAt(
  value: Json | undefined,
  [segment, ...rest]: readonly string[],
): string[] | undefined {
  if (Array.isArray(value)) {
    const all = value.map((element) =>
      textsAt(element as Json, segment === undefined ? [] : [segment, ...rest]),
    );
    return all.every((texts) => texts !== undefined) ? all.flat() : undefined;
  }
  if (segment === undefined) return typeof value === "string" ? [value] : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  return textsAt((value as JsonObject)[segment], rest);
}

/** Files of one folder, or everything below it. Never the whole workspace. */
function ofPaths(arg: string, texts: readonly string[]): readonly Omit<Candidate, "matched">[] {
  const folders = texts.map(folderOf);
  const [first] = folders;
  if (first === undefined || folders.some((folder) => folder === undefined)) return [];
  const same = folders.every((folder) => folder?.join("/") === first.join("/"));
  const direct: Omit<Candidate, "matched">[] =
    same && first.length > 0
      ? [
          {
            rule: { mode: "unattended", arg, glob: `${escapeGlob(first.join("/"))}/*` },
            breadth: 1,
            support: { approvals: 3, different: 2 },
          },
        ]
      : [];
  const common = first.filter((_name, index) =>
    folders.every(
      (folder) => folder?.slice(0, index + 1).join("/") === first.slice(0, index + 1).join("/"),
    ),
  );
  const below = common.map((_name, index): Omit<Candidate, "matched"> => {
    const prefix = `${common.slice(0, index + 1).join("/")}/`;
    // The shorter, the more it is about, and the more it takes.
    const approvals = index === 0 ? 12 : 6;
    return {
      rule: { mode: "unattended", arg, prefix },
      breadth: 100 - index,
      support: { approvals, different: approvals / 2 },
    };
  });
  return [...direct, ...below];
}

/** Undefined for what is not plainly a file of the workspace. */
function folderOf(path: string): readonly string[] | undefined {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  const isPlain = !path.startsWith("/") && !path.startsWith("~") && !names.includes("..");
  return isPlain && names.length > 0 ? names.slice(0, -1) : undefined;
}

function escapeGlob(text: string): string {
  return text.replaceAll(/[*?[\]{}\\!,]/g, String.raw`\$&`);
}

function ofUrl(arg: string, text: string): readonly Omit<Candidate, "matched">[] {
  if (!URL.canParse(text)) return [];
  const host = new URL(text).hostname;
  const rule: RuleConfig = { mode: "unattended", arg: `${arg}/host`, const: host };
  return [{ rule, breadth: 50, support: { approvals: 4, different: 3 } }];
}

/** Two words at least: what a program does is decided by the next word more often than not. */
function ofCommand(
  arg: string,
  words: readonly string[] | undefined,
): readonly Omit<Candidate, "matched">[] {
  if (words === undefined || words.length < 2 || RUNS_ANYTHING.has(words[0] ?? "")) return [];
  const counts = words.map((_word, index) => index + 1).filter((count) => count >= 2 && count <= 4);
  return counts.map((count) => ({
    rule: { mode: "unattended", arg, prefix: words.slice(0, count).map(quoteWord).join(" ") },
    breadth: 50 - count,
    support: { approvals: 4, different: count === words.length ? 1 : 2 },
  }));
}

function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Programs whose arguments are programs. */
const RUNS_ANYTHING: ReadonlySet<string> = new Set(
  "sh bash zsh dash ksh fish env xargs sudo doas nice nohup timeout time exec eval command find ssh awk perl python python3 node ruby php deno bun npx bunx uvx make".split(
    " ",
  ),
);
