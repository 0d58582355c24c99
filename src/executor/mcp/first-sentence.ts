/** Where the first sentence of a text ends. */

export interface SplitText {
  /** On one line. */
  readonly sentence: string;
  /** Empty if there is nothing else. */
  readonly rest: string;
}

/** A full stop before a capital letter, a digit or a mark; not the one in "e.g. this". */
const SENTENCE_END = /[.!?]["')\]]*(?=\s+[^\s\p{Ll}])/gu;
const ABBREVIATION = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|incl|no|resp)\.$/i;

/** A paragraph, or an item of a list, ends a sentence too. */
export function firstSentence(text: string): SplitText {
  const whole = text.trim();
  const paragraph = whole.split(/\n\s*\n|\n(?=\s*(?:[-*#]|\d+[.)])\s)/, 1)[0] ?? "";
  const end = [...paragraph.matchAll(SENTENCE_END)]
    .map(({ index, 0: mark }) => index + mark.length)
    .find((position) => !ABBREVIATION.test(paragraph.slice(0, position)));
  const sentence = paragraph.slice(0, end ?? paragraph.length);
  return {
    sentence: sentence.replaceAll(/\s+/g, " ").trim(),
    rest: whole.slice(sentence.length).trim(),
  };
}
