/** `jp conversation grep`: searches records in batches, so memory does not depend on their size. */
import {
  type ConversationId,
  createTextFinder,
  type SearchScope,
  type StreamEntry,
  TurnCounter,
} from "../../../record/conversation/index.ts";
import type { ConversationSummary, WorkspaceSummary } from "../../../stores/index.ts";
import { neutralize, oneLine } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { readEntries, resolveTargets, selectionOf } from "../../conversations.ts";
import type { Call } from "../../define.ts";
import { ExitStatus, usageError } from "../../exit-status.ts";
import type { GREP } from "./options.ts";
import type { FlagsOf } from "../../options.ts";

interface Hit {
  /** Undefined for a title. */
  readonly turn?: number;
  readonly scope: SearchScope | "title";
  readonly line: string;
  /** False for a context line. */
  readonly isMatch: boolean;
}

export async function grepConversations({
  args,
  options,
  context,
}: Call<typeof GREP>): Promise<void> {
  const pattern = createPattern(args, options);
  let hasMatch = false;
  for (const summary of await listSearched(options, context)) {
    const count = await grepConversation(summary, { pattern, options, context });
    hasMatch ||= count > 0;
    if (count > 0 && options.ids === true) context.output.print(summary.id);
    if (count > 0 && options.count === true) context.output.print(`${summary.id}:${count}`);
  }
  if (!hasMatch) throw new ExitStatus(1);
}

/** A conversation that contains all the words. */
export interface FoundConversation {
  readonly summary: WorkspaceSummary;
  /** The first line with one of the words, unless the title has them all. */
  readonly hit?: WordHit;
}

export interface WordHit {
  readonly scope: "user" | "assistant";
  readonly line: string;
}

const SAID: readonly ("title" | WordHit["scope"])[] = ["title", "user", "assistant"];

/**
 * Finds conversations, archived ones included, that have every word in the title or in a user or assistant message.
 * Smart case per word. The order is unspecified.
 */
export async function findByWords(
  words: readonly string[],
  context: CommandContext,
): Promise<readonly FoundConversation[]> {
  const patterns = words.map((word) => createPattern([word], {}));
  const found: FoundConversation[] = [];
  for (const summary of await context.workspace.conversations.list({ which: "all" })) {
    const searches = patterns.map((one) => new Search(one, { maxCount: 1, scope: SAID }));
    const missing = searches.filter(
      (search) => [...search.inTitle(summary.metadata?.title)].length === 0,
    );
    const hit = await searchMessages(summary.id, missing, context);
    if (!missing.every((search) => search.isDone)) continue;
    found.push({
      summary,
      ...(hit !== undefined && { hit: { ...hit, line: partAround(hit.line, words) } }),
    });
  }
  return found;
}

/** Characters to keep before a word, which may be far into a long line. */
const BEFORE_WORD = 30;

function partAround(line: string, words: readonly string[]): string {
  const places = words.map((word) => line.toLowerCase().indexOf(word.toLowerCase()));
  const start = Math.min(...places.filter((place) => place !== -1)) - BEFORE_WORD;
  if (start < BEFORE_WORD || !Number.isFinite(start)) return line;
  return `… ${line.slice(start).replace(/^\S{0,20}\s+/, "")}`;
}

/** Reads until every search has a match, and returns the first hit. */
async function searchMessages(
  id: ConversationId,
  searches: readonly Search[],
  context: CommandContext,
): Promise<WordHit | undefined> {
  let first: WordHit | undefined;
  if (searches.length === 0) return undefined;
  for await (const entries of readEntries(id, context)) {
    for (const { scope, line } of searches.flatMap((search) => [...search.in(entries)])) {
      if (scope === "user" || scope === "assistant") first ??= { scope, line };
    }
    if (searches.every((search) => search.isDone)) return first;
  }
  return first;
}

interface Job {
  readonly pattern: Pattern;
  readonly options: FlagsOf<typeof GREP>;
  readonly context: CommandContext;
}

/** Prints the hits, unless only IDs or counts were asked for, and returns their number. */
async function grepConversation(summary: ConversationSummary, job: Job): Promise<number> {
  const { pattern, options, context } = job;
  const search = new Search(pattern, options);
  const report = new Report(summary, pattern, context);
  const isSilent = options.ids === true || options.count === true;
  const take = (hits: Iterable<Hit>) => {
    for (const hit of hits) if (!isSilent) report.print(hit);
  };
  take(search.inTitle(summary.metadata?.title));
  for await (const entries of readEntries(summary.id, context)) {
    take(search.in(entries));
    if (search.isDone) break;
  }
  return search.count;
}

async function listSearched(options: FlagsOf<typeof GREP>, context: CommandContext) {
  const isSelected = selectionOf(options, context);
  if (options.id !== undefined)
    return (await resolveTargets(context, options.id)).filter(isSelected);
  const which = options.archived === true ? "all" : "live";
  const summaries = await context.workspace.conversations.list({ which });
  return summaries.filter(isSelected).toSorted((left, right) => (left.id < right.id ? -1 : 1));
}

/** The matches in one conversation, in the order of its record. */
class Search {
  count = 0;
  readonly #pattern: Pattern;
  readonly #options: FlagsOf<typeof GREP>;
  readonly #scopes: ReadonlySet<string> | undefined;
  readonly #turns = new TurnCounter();
  readonly #find = createTextFinder();

  constructor(pattern: Pattern, options: FlagsOf<typeof GREP>) {
    this.#pattern = pattern;
    this.#options = options;
    this.#scopes = options.scope && new Set(options.scope);
  }

  get isDone(): boolean {
    const { ids, maxCount = Number.POSITIVE_INFINITY } = this.#options;
    return this.count >= (ids === true ? 1 : maxCount);
  }

  *inTitle(title: string | undefined): Generator<Hit> {
    if (title !== undefined && this.#isWanted("title"))
      yield* this.#linesIn(title, { scope: "title" });
  }

  *in(entries: readonly StreamEntry[]): Generator<Hit> {
    for (const entry of entries) {
      if (this.isDone) return;
      const { eventType } = entry;
      if (eventType === undefined) continue;
      const turn = this.#turns.next(eventType);
      const found = entry.event && this.#find(entry.event);
      // Most texts do not match: testing the whole text first avoids splitting those into lines.
      if (found === undefined || !this.#isWanted(found.scope)) continue;
      if (this.#pattern.test(found.text)) {
        yield* this.#linesIn(found.text, { turn, scope: found.scope });
      }
    }
  }

  *#linesIn(text: string, place: Pick<Hit, "turn" | "scope">): Generator<Hit> {
    const lines = text.split("\n");
    const around = this.#options.context ?? 0;
    let shown = -1;
    for (const [index, line] of lines.entries()) {
      if (this.isDone) return;
      if (!this.#pattern.test(line)) continue;
      this.count += 1;
      const end = Math.min(lines.length - 1, index + around);
      for (let near = Math.max(shown + 1, index - around); near <= end; near += 1) {
        const isMatch = near === index || this.#pattern.test(lines[near] ?? "");
        yield { ...place, line: lines[near] ?? "", isMatch };
      }
      shown = end;
    }
  }

  #isWanted(scope: string): boolean {
    return this.#scopes?.has(scope) ?? true;
  }
}

/** Under headings on a terminal; elsewhere `ID:TURN:SCOPE:TEXT`, one match per line. */
class Report {
  readonly #summary: ConversationSummary;
  readonly #pattern: Pattern;
  readonly #context: CommandContext;
  #hasHeading = false;

  constructor(summary: ConversationSummary, pattern: Pattern, context: CommandContext) {
    this.#summary = summary;
    this.#pattern = pattern;
    this.#context = context;
  }

  print({ turn, scope, line, isMatch }: Hit): void {
    const { output } = this.#context;
    const place = turn === undefined ? scope : `${turn + 1}:${scope}`;
    const text = neutralize(line.trimEnd());
    if (!output.isTerminal) {
      const mark = isMatch ? ":" : "-";
      output.print(
        `${this.#summary.id}:${turn === undefined ? "" : turn + 1}:${scope}${mark}${text}`,
      );
      return;
    }
    this.#heading();
    const shown = isMatch
      ? this.#pattern.highlight(text, (match) => output.paint("bold", output.paint("red", match)))
      : output.paint("dim", text);
    output.print(`  ${output.paint("green", place)}  ${shown}`);
  }

  #heading(): void {
    if (this.#hasHeading) return;
    this.#hasHeading = true;
    const { output } = this.#context;
    const title = oneLine(this.#summary.metadata?.title ?? "(no title)");
    output.print(`${output.paint("cyan", this.#summary.id)}  ${output.paint("bold", title)}`);
  }
}

interface Pattern {
  /** Whether any of the patterns is in the text. */
  test(text: string): boolean;
  /** Passes every match in the line through `mark`. */
  highlight(line: string, mark: (match: string) => string): string;
}

/** Literal and in smart case, unless the flags say otherwise. Throws `usage` for an invalid pattern. */
function createPattern(patterns: readonly string[], flags: FlagsOf<typeof GREP>): Pattern {
  const isLower = patterns.every((pattern) => pattern === pattern.toLowerCase());
  const ignoresCase = flags.ignoreCase ?? (flags.caseSensitive === true ? false : isLower);
  const sources = patterns.map((pattern) => (flags.regex === true ? pattern : literal(pattern)));
  const all = compile(sources, ignoresCase ? "gi" : "g");
  // For a single literal text, `includes` is the fastest.
  const [only] = patterns.length === 1 && flags.regex !== true && !ignoresCase ? patterns : [];
  const once = new RegExp(all.source, all.flags.replace("g", ""));
  return {
    test: only === undefined ? (text) => once.test(text) : (text) => text.includes(only),
    highlight: (line, mark) => line.replaceAll(all, (match) => (match === "" ? "" : mark(match))),
  };
}

/** In Unicode mode if all patterns are valid there, so that `.` matches a whole character. */
function compile(sources: readonly string[], flags: string): RegExp {
  const modes = [`${flags}u`, flags];
  const mode = modes.find((one) => sources.every((source) => isValid(source, one)));
  if (mode !== undefined) return new RegExp(sources.map((one) => `(?:${one})`).join("|"), mode);
  const wrong = sources.find((source) => !isValid(source, flags)) ?? "";
  throw usageError(
    `Invalid regular expression: ${wrong}`,
    "Leave out --regex to search for the literal text.",
  );
}

function isValid(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
