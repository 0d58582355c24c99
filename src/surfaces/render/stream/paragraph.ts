/**
 * Writes a paragraph while it grows, always up to the last word gap where no Markdown mark is open. The gaps depend on
 * the text alone, not on the deltas it arrives in.
 */
import type { Paint } from "../style.ts";
import { addInline, type InlineOptions } from "./inline.ts";
import { createFlow, createWordSplitter, type Page } from "./page.ts";

export interface Paragraph {
  /** A piece of a line, without its line break. */
  add(text: string): void;
  endLine(): void;
  close(): void;
  /** Width of the longest line written. */
  widest(): number;
}

export interface ParagraphOptions {
  readonly page: Page;
  readonly paint: Paint;
  readonly inline: InlineOptions;
}

/** A mark still open after this many characters is literal: a lone star, not emphasis. */
const MAX_UNSETTLED = 1000;
const GAPS: ReadonlySet<string> = new Set(" \t\n");
/** Scripts without spaces can also be split after punctuation. */
const GAPS_BEHIND: ReadonlySet<string> = new Set(" \t\n、。，．！？；：");
/** Most text: characters that have no special meaning and make no gap. */
const PLAIN = /[^\s\\*_~`[\]<(、。，．！？；：]+/y;

export function createParagraph({ page, paint, inline }: ParagraphOptions): Paragraph {
  const flow = createFlow(page, paint);
  const splitter = createWordSplitter();
  let scan = new InlineScan();
  let pending = "";
  let before = "";
  let isAtLineStart = true;

  const release = () => {
    const hasBreak = isHardBreak(pending);
    addInline(hasBreak ? pending.replace(/\\?\n$/, "") : pending, splitter, inline);
    if (hasBreak) splitter.addBreak();
    flow.add(splitter.take());
    pending = "";
  };
  const isGapBefore = (character: string) => GAPS_BEHIND.has(before) && !GAPS.has(character);
  const addScanned = (text: string) => {
    let start = 0;
    for (let index = 0; index < text.length; index += 1) {
      const character = text.charAt(index);
      if (isGapBefore(character)) {
        const isForced = pending.length + index - start > MAX_UNSETTLED && GAPS.has(before);
        if (isForced || scan.isSettled()) {
          pending += text.slice(start, index);
          start = index;
          release();
        }
        if (isForced) scan = new InlineScan();
      }
      scan.step(character);
      before = character;
      if (!scan.isInText() || GAPS_BEHIND.has(character)) continue;
      PLAIN.lastIndex = index + 1;
      if (!PLAIN.test(text)) continue;
      index = PLAIN.lastIndex - 1;
      before = text.charAt(index);
      scan.skip(before);
    }
    pending += text.slice(start);
  };
  return {
    add: (text) => {
      const shown = isAtLineStart ? text.replace(/^[ \t]+/, "") : text;
      if (shown === "") return;
      isAtLineStart = false;
      addScanned(shown);
    },
    endLine: () => {
      addScanned("\n");
      isAtLineStart = true;
    },
    close: () => {
      pending = pending.trimEnd();
      release();
      flow.end();
    },
    widest: () => flow.widest(),
  };
}

/** Two spaces or an unescaped backslash at the end of a line. */
function isHardBreak(text: string): boolean {
  return text.endsWith("  \n") || /(?<!\\)(?:\\\\)*\\\n$/.test(text);
}

/** A run of `*`, `_`, `~` or backticks, whose meaning the next character decides. */
interface Run {
  readonly mark: string;
  readonly before: string;
  length: number;
}

type Place =
  | { readonly type: "text" }
  | { readonly type: "code"; readonly ticks: number }
  /** After `<`, perhaps in a tag or an address. */
  | { readonly type: "angle"; readonly isCertain: boolean }
  /** Between the parentheses of a link. */
  | { readonly type: "target"; readonly depth: number; readonly quote: string };

const TEXT: Place = { type: "text" };

class InlineScan {
  #place: Place = TEXT;
  #run: Run | undefined;
  #isEscaped = false;
  #brackets = 0;
  #isBracketClosed = false;
  #before = "";
  readonly #openers: Opener[] = [];

  step(character: string): void {
    if (this.#run !== undefined && character === this.#run.mark) {
      this.#run.length += 1;
      return;
    }
    if (this.#run !== undefined) this.#endRun(this.#run, character);
    this.#run = undefined;
    const place = this.#place;
    if (this.#isEscaped) this.#isEscaped = false;
    else if (place.type === "text") this.#stepInText(character);
    else if (place.type === "angle") this.#stepInAngle(character, place.isCertain);
    else if (place.type === "code") {
      if (character === "`") this.#beginRun(character);
    } else if (character === "\\") this.#isEscaped = true;
    else this.#place = stepInTarget(place, { character, before: this.#before });
    this.#before = character;
  }

  /** Whether a plain character changes nothing. */
  isInText(): boolean {
    return this.#place === TEXT && this.#run === undefined && !this.#isEscaped;
  }

  /** Skips plain text that ends with this character. */
  skip(last: string): void {
    this.#isBracketClosed = false;
    this.#before = last;
  }

  /** Whether later text can no longer change anything up to here. */
  isSettled(): boolean {
    return (
      this.#place.type === "text" &&
      this.#run === undefined &&
      !this.#isEscaped &&
      this.#brackets === 0 &&
      this.#openers.length === 0
    );
  }

  #beginRun(mark: string): void {
    this.#run = { mark, before: this.#before, length: 1 };
  }

  #endRun({ mark, before, length }: Run, next: string): void {
    if (mark !== "`") applyDelimiters(this.#openers, { mark, before, next, length });
    else if (this.#place.type === "text") this.#place = { type: "code", ticks: length };
    else if (this.#place.type === "code" && this.#place.ticks === length) this.#place = TEXT;
  }

  #stepInText(character: string): void {
    const wasBracketClosed = this.#isBracketClosed;
    this.#isBracketClosed = character === "]" && this.#brackets > 0;
    if (this.#isBracketClosed) this.#brackets -= 1;
    else if (character === "\\") this.#isEscaped = true;
    else if ("*_~`".includes(character)) this.#beginRun(character);
    else if (character === "[") this.#brackets += 1;
    else if (character === "<") this.#place = { type: "angle", isCertain: false };
    else if (character === "(" && wasBracketClosed) {
      this.#place = { type: "target", depth: 1, quote: "" };
    }
  }

  #stepInAngle(character: string, isCertain: boolean): void {
    const isTag = isCertain || /[a-z/!?]/i.test(character);
    this.#place = isTag && character !== ">" ? { type: "angle", isCertain: true } : TEXT;
    if (!isTag) this.#stepInText(character);
  }
}

interface TargetStep {
  readonly character: string;
  readonly before: string;
}

function stepInTarget(
  place: Extract<Place, { type: "target" }>,
  { character, before }: TargetStep,
): Place {
  const { depth, quote } = place;
  if (quote !== "") return character === quote ? { ...place, quote: "" } : place;
  if ((character === '"' || character === "'") && /^\s?$/.test(before)) {
    return { ...place, quote: character };
  }
  if (character === "(") return { ...place, depth: depth + 1 };
  if (character !== ")") return place;
  return depth === 1 ? TEXT : { ...place, depth: depth - 1 };
}

/** A run of marks that may start emphasis, and how many are still open. */
interface Opener {
  readonly mark: string;
  readonly canClose: boolean;
  readonly length: number;
  left: number;
}

/** A run of equal marks, with the characters on both sides. */
interface DelimiterRun {
  readonly mark: string;
  readonly before: string;
  readonly next: string;
  readonly length: number;
}

/** Nobody nests deeper, and every run searches all of them. */
const MAX_OPENERS = 100;

const SPACE = /^\s?$/;
const PUNCTUATION = /^[\p{P}\p{S}]$/u;

/** Applies CommonMark's emphasis rules: removes the openers that the run closes, and adds the run if it opens. */
function applyDelimiters(openers: Opener[], run: DelimiterRun): void {
  const { mark, length } = run;
  if (mark === "~" && length !== 2) return;
  const { canOpen, canClose } = flanking(run);
  let left = length;
  while (left > 0) {
    const index = canClose ? findOpener(openers, run, canOpen) : -1;
    const opener = openers[index];
    if (opener === undefined) break;
    const used = Math.min(left, opener.left);
    left -= used;
    opener.left -= used;
    openers.length = opener.left === 0 ? index : index + 1;
  }
  if (canOpen && left > 0) openers.push({ mark, canClose, length, left });
  if (openers.length > MAX_OPENERS) openers.shift();
}

function findOpener(
  openers: readonly Opener[],
  { mark, length }: DelimiterRun,
  canOpen: boolean,
): number {
  return openers.findLastIndex((opener) => {
    // Rules 9 and 10: a run that can both open and close does not close every opener.
    const isAmbiguous = opener.canClose || canOpen;
    const isRefused = isAmbiguous && length % 3 !== 0 && (opener.length + length) % 3 === 0;
    return opener.mark === mark && !isRefused;
  });
}

function flanking({ mark, before, next }: DelimiterRun) {
  const isAfterGap = SPACE.test(before);
  const isBeforeGap = SPACE.test(next);
  const isAfterSign = PUNCTUATION.test(before);
  const isBeforeSign = PUNCTUATION.test(next);
  const left = !isBeforeGap && (!isBeforeSign || isAfterGap || isAfterSign);
  const right = !isAfterGap && (!isAfterSign || isBeforeGap || isBeforeSign);
  if (mark !== "_") return { canOpen: left, canClose: right };
  return { canOpen: left && (!right || isAfterSign), canClose: right && (!left || isBeforeSign) };
}
