/**
 * A paragraph as it grows. Its text is written up to the last gap between words before which all
 * marks are closed; which gaps those are depends on the text alone, never on the pieces it came in.
 */
import type { Paint } from "../style.ts";
import { createFlow } from "./flow.ts";
import { addInline, type InlineOptions } from "./inline.ts";
import { InlineScan } from "./inline-scan.ts";
import type { Page } from "./page.ts";
import { createWordSplitter } from "./words.ts";

export interface Paragraph {
  /** A piece of a line, without its end. */
  add(text: string): void;
  endLine(): void;
  close(): void;
  /** The longest line that was written. */
  widest(): number;
}

export interface ParagraphOptions {
  readonly page: Page;
  readonly paint: Paint;
  readonly inline: InlineOptions;
}

/** What is not closed after as many characters is taken for what it is: a lone star, not emphasis. */
const PATIENCE = 1000;
const GAP = /[ \t\n]/;
/** Where scripts without blanks can be divided as well as others at a blank. */
const GAP_BEHIND = /[ \t\n、。，．！？；：]/;

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
  const isGapBefore = (character: string) => GAP_BEHIND.test(before) && !GAP.test(character);
  const addScanned = (text: string) => {
    let start = 0;
    for (let index = 0; index < text.length; index += 1) {
      const character = text.charAt(index);
      if (isGapBefore(character)) {
        const isForced = pending.length + index - start > PATIENCE && GAP.test(before);
        if (isForced || scan.isSettled()) {
          pending += text.slice(start, index);
          start = index;
          release();
        }
        if (isForced) scan = new InlineScan();
      }
      scan.step(character);
      before = character;
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

/** Two blanks or a backslash, unless that is escaped itself, at the end of a line. */
function isHardBreak(text: string): boolean {
  return text.endsWith("  \n") || /(?<!\\)(?:\\\\)*\\\n$/.test(text);
}
