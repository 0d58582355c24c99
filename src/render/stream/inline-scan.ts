/**
 * Follows a paragraph character by character, and knows at each of them whether everything that was
 * opened is closed. It looks at each character once and never ahead, so a paragraph may be of any length.
 */
import { applyDelimiters, type Opener } from "./delimiters.ts";

/** A run of `*`, `_`, `~` or backticks, whose meaning the next character decides. */
interface Run {
  readonly mark: string;
  readonly before: string;
  length: number;
}

type Place =
  | { readonly type: "text" }
  | { readonly type: "code"; readonly ticks: number }
  /** Behind `<`, and then in a tag or an address. */
  | { readonly type: "angle"; readonly isCertain: boolean }
  /** Between the parentheses of a link. */
  | { readonly type: "target"; readonly depth: number; readonly quote: string };

const TEXT: Place = { type: "text" };

export class InlineScan {
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

  /** Nothing before this point can change by what comes. */
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
