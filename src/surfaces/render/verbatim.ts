/**
 * Shows values that someone decides on: paths, arguments, options, commands, file content. Two different values never
 * look the same. Notices are prose, for which `neutralize` is enough.
 *
 * Every character that may be invisible is written by its code point, `<U+00A0>`, and long runs of spaces are counted,
 * `<300 spaces>`. A `<` in the value that would look like this notation becomes `<U+003C>`.
 */
import { codePoint, hiddenIn, picture } from "../../util/index.ts";
import { CONTINUED } from "./wrap.ts";

/** Options for showing a value. */
export interface VerbatimOptions {
  /**
   * Encloses right-to-left words in `<RTL>…</RTL>`. The letters in the marks run left to right, so that no terminal
   * moves the text beside such a word. A page that overrides the direction needs no marks.
   */
  readonly marksDirection?: boolean;
}

/** A value on one line. */
export function verbatim(value: string, { marksDirection = true }: VerbatimOptions = {}): string {
  return PLAIN.test(value) ? value : show(value, { ...STRICT, marksDirection });
}

/** A text's lines. Visible spaces are kept, and a tab is an arrow with three spaces. */
export function verbatimLines(
  text: string,
  { marksDirection = true }: VerbatimOptions = {},
): readonly string[] {
  const layout = { ...STRICT, marksDirection, isBlock: true };
  return text.split("\n").map((line) => (PLAIN.test(line) ? line : show(line, layout)));
}

/**
 * Prose on one line, in any language: letters are drawn as they are, even if they look like others. Controls are shown
 * by their pictures. For questions whose answer does not act.
 */
export function verbatimProse(text: string): string {
  return PLAIN.test(text) ? text : show(text, PROSE);
}

/** Prose on several lines. */
export function verbatimProseLines(text: string): readonly string[] {
  const layout = { ...PROSE, isBlock: true };
  return text.split("\n").map((line) => (PLAIN.test(line) ? line : show(line, layout)));
}

/** Most values: ASCII words with single spaces. */
const PLAIN = /^(?:[!-;=-~]+(?: [!-;=-~]+)*)?$/;

/** Text that could be mistaken for this notation. */
const NOTATION = /<(?:U\+|\d+ spaces>|\/?RTL>)/y;

/** In a block, longer runs of spaces are counted, both inside a line and at its start. */
const MAX_GAP = 8;
const MAX_INDENT = 24;

/** Starts with a character that has no other use here: in a value, it is written by its code point. */
export const SHOWN_TAB = "⇥   ";

interface Layout {
  /** For each non-ASCII character, whether it can be drawn as it is. */
  readonly isDrawn: (characters: readonly string[]) => readonly boolean[];
  /** Writes any other character. */
  readonly write: (character: string) => string;
  readonly marksDirection: boolean;
  /** One line of several, structured by white space. */
  readonly isBlock?: boolean;
}

const STRICT = { isDrawn: findDrawn, write: codePoint };
const PROSE = { isDrawn: findVisible, write: picture, marksDirection: false };

function show(text: string, { isDrawn, write, marksDirection, isBlock = false }: Layout): string {
  const characters = Array.from(text);
  const drawn = isDrawn(characters);
  let shown = "";
  let at = 0; // The position in the text, where a character can take two places.
  for (let index = 0; index < characters.length;) {
    const character = characters[index] ?? "";
    const last = endOfRun(characters, drawn, index);
    const run = characters.slice(index, last);
    if (character === " ") {
      const isEdge = last === characters.length || (index === 0 && !isBlock);
      const most = !isBlock ? 1 : index === 0 ? MAX_INDENT : MAX_GAP;
      shown += isEdge || run.length > most ? countSpaces(run.length) : run.join("");
    } else if (drawn[index] !== true) {
      NOTATION.lastIndex = at;
      const isPlain = character >= "!" && character <= "~";
      if (isPlain && !(character === "<" && NOTATION.test(text))) shown += character;
      else shown += character === "\t" && isBlock ? SHOWN_TAB : write(character);
    } else if (marksDirection && isRightToLeft(character)) shown += `<RTL>${run.join("")}</RTL>`;
    else shown += run.join("");
    index = last;
    at += run.join("").length;
  }
  return shown;
}

/** Groups spaces, and right-to-left words with single spaces between them. */
function endOfRun(characters: readonly string[], drawn: readonly boolean[], start: number): number {
  let end = start + 1;
  if (characters[start] === " ") {
    while (characters[end] === " ") end += 1;
    return end;
  }
  const isIn = (index: number) => drawn[index] === true && isRightToLeft(characters[index] ?? "");
  if (!isIn(start)) return end;
  while (isIn(end) || (characters[end] === " " && isIn(end + 1))) end += 1;
  return end;
}

function countSpaces(count: number): string {
  return count === 1 ? codePoint(" ") : `<${count} spaces>`;
}

/** Hebrew, Arabic and neighbouring blocks. */
const RIGHT_TO_LEFT =
  /^[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

function isRightToLeft(character: string): boolean {
  return RIGHT_TO_LEFT.test(character);
}

/** Accepts everything that prose may contain. */
function findVisible(characters: readonly string[]): readonly boolean[] {
  const hidden = hiddenIn(characters.join(""));
  let at = 0;
  return characters.map((character) => {
    const isOurs = character === CONTINUED || /[\u21e5\u2400-\u2421]/.test(character);
    const isVisible = character > "~" && !hidden.has(at) && !isOurs;
    at += character.length;
    return isVisible;
  });
}

/**
 * Accepts letters of living scripts in single-script words with few accents, and signs and emoji that look like no
 * other. The rest is written by code point: spaces, controls, digits other than 0 to 9, letters dressed up as others,
 * and accents that could be part of their letter.
 */
function findDrawn(characters: readonly string[]): readonly boolean[] {
  const drawn = characters.map(isSign);
  for (let start = 0; start < characters.length;) {
    const word = readWord(characters, start);
    if (word.length > 0 && !isDeceptive(word)) {
      for (const { index, character, isDoubtful = false } of word) {
        if (character > "~" && !isDoubtful) drawn[index] = true;
      }
    }
    start = (word.at(-1)?.index ?? start) + 1;
  }
  return drawn;
}

/** A letter of a word, or an accent on one. */
interface WordPart {
  readonly index: number;
  readonly character: string;
  /** Undefined for accents. */
  readonly script?: Script;
  /** It looks like the neighbouring letter's counterpart in another script. */
  readonly isDoubtful?: boolean;
}

/** A run of letters with their distinguishable accents. */
function readWord(characters: readonly string[], start: number): readonly WordPart[] {
  const word: WordPart[] = [];
  for (let index = start; index < characters.length;) {
    const character = characters[index] ?? "";
    const script = scriptOf(character);
    if (script === undefined) break;
    word.push({ index, character, script, isDoubtful: isLikeNeighbours(characters, index) });
    const marks = findMarks(characters, index, MARKS[script]);
    for (const mark of marks) {
      index += 1;
      word.push({ index, character: mark });
    }
    index += 1;
  }
  return word;
}

/** None if they could be read in another order, or as part of the letter. */
function findMarks(
  characters: readonly string[],
  base: number,
  allowed: string | undefined,
): readonly string[] {
  const marks: string[] = [];
  for (let index = base + 1; /^\p{M}/u.test(characters[index] ?? ""); index += 1) {
    const mark = characters[index] ?? "";
    const isAllowed = allowed !== undefined && isOneOf(mark, allowed);
    if (!isAllowed || marks.includes(mark) || marks.length === MAX_MARKS) break;
    marks.push(mark);
  }
  const cluster = [characters[base], ...marks].join("");
  return cluster.normalize("NFC") === cluster ? marks : [];
}

const MAX_MARKS = 3;

/** Accents that are distinct from their letters and from each other. */
const ACCENTS = String.raw`[\u0300-\u0304\u0306\u0308\u030a-\u030c\u0323\u0327\u0328\u0331]`;

type Script = keyof typeof LETTERS;

/**
 * Scripts in current use, by UAX 31, and their letters that are drawn. Stored as text: compiling all these expressions
 * takes a good part of a millisecond, and most programs show only Latin letters.
 */
const LETTERS = {
  // Excludes phonetic and extinct letters: many look like others.
  Latin: String.raw`[a-zA-Z\xc0-\xcf\xd1-\xd6\xd8-\xf6\xf8-\u0137\u0139-\u0148\u014a-\u017e]`,
  Greek: String.raw`[\u0386\u0388-\u03ce\u1f00-\u1fff]`,
  Cyrillic: String.raw`[\u0400-\u045f\u0490-\u04bf\u04c1-\u04ce\u04d0-\u04ff]`,
  CJK: String.raw`[\u3005\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]`,
  Armenian: String.raw`[\u0531-\u0556\u0561-\u0586]`,
  Hebrew: String.raw`[\u05d0-\u05ea]`,
  Arabic: String.raw`[\u0620-\u063f\u0641-\u064a\u066e-\u06d3\u06fa-\u06fc]`,
  Thaana: String.raw`\p{Script=Thaana}`,
  Devanagari: String.raw`\p{Script=Devanagari}`,
  Bengali: String.raw`\p{Script=Bengali}`,
  Gurmukhi: String.raw`\p{Script=Gurmukhi}`,
  Gujarati: String.raw`\p{Script=Gujarati}`,
  Oriya: String.raw`\p{Script=Oriya}`,
  Tamil: String.raw`\p{Script=Tamil}`,
  Telugu: String.raw`\p{Script=Telugu}`,
  Kannada: String.raw`\p{Script=Kannada}`,
  Malayalam: String.raw`\p{Script=Malayalam}`,
  Sinhala: String.raw`\p{Script=Sinhala}`,
  Thai: String.raw`\p{Script=Thai}`,
  Lao: String.raw`\p{Script=Lao}`,
  Tibetan: String.raw`\p{Script=Tibetan}`,
  Myanmar: String.raw`\p{Script=Myanmar}`,
  Khmer: String.raw`\p{Script=Khmer}`,
  Georgian: String.raw`[\u10d0-\u10fa]`,
  Ethiopic: String.raw`[\u1200-\u137f]`,
} as const;

/** Accents by script; absent if all of them belong to letters. */
const MARKS: Readonly<Partial<Record<Script, string>>> = {
  Latin: ACCENTS,
  Greek: ACCENTS,
  Cyrillic: ACCENTS,
  Hebrew: String.raw`[\u05b0-\u05bc\u05c1\u05c2\u05c7]`,
  Arabic: String.raw`[\u064b-\u0652\u0670]`,
  Thaana: LETTERS.Thaana,
  Devanagari: LETTERS.Devanagari,
  Bengali: LETTERS.Bengali,
  Gurmukhi: LETTERS.Gurmukhi,
  Gujarati: LETTERS.Gujarati,
  Oriya: LETTERS.Oriya,
  Tamil: LETTERS.Tamil,
  Telugu: LETTERS.Telugu,
  Kannada: LETTERS.Kannada,
  Malayalam: LETTERS.Malayalam,
  Sinhala: LETTERS.Sinhala,
  Thai: LETTERS.Thai,
  Lao: LETTERS.Lao,
  Tibetan: LETTERS.Tibetan,
  Myanmar: LETTERS.Myanmar,
  Khmer: LETTERS.Khmer,
};

const expressions = new Map<string, RegExp>();

function isOneOf(character: string, set: string): boolean {
  const made = expressions.get(set) ?? new RegExp(set, "u");
  expressions.set(set, made);
  return made.test(character);
}

const scripts = new Map<string, Script | undefined>();

function scriptOf(character: string): Script | undefined {
  if (/^[a-zA-Z]$/.test(character)) return "Latin";
  if (character <= "~") return undefined;
  if (!scripts.has(character)) scripts.set(character, findScript(character));
  return scripts.get(character);
}

function findScript(character: string): Script | undefined {
  if (!/^\p{L}$/u.test(character) || !isOwnForm(character)) return undefined;
  // Accented letters beyond Latin Extended-A, as in Vietnamese.
  const isAccented = /[\u0180-\u024f\u1e00-\u1eff]/.test(character);
  if (isAccented) return character.normalize("NFD") === character ? undefined : "Latin";
  const names = Object.keys(LETTERS) as Script[]; // The record has only its own keys.
  return names.find((name) => isOneOf(character, LETTERS[name]));
}

/** Not another way of writing something else, except for the Thai and Lao vowel am. */
function isOwnForm(character: string): boolean {
  return /[\u0e33\u0eb3]/.test(character) || character.normalize("NFKC") === character;
}

/** Words that mix scripts, or that look Latin throughout. Japanese mixes its own, and Latin. */
function isDeceptive(word: readonly WordPart[]): boolean {
  const letters = word.filter(({ script }) => script !== undefined);
  const used = new Set(letters.map(({ script }) => script));
  if (used.has("Latin") && used.has("CJK")) used.delete("Latin");
  if (used.size > 1) return true;
  const [script] = used;
  const alike = script === undefined ? undefined : LATIN_ALIKE[script];
  return alike !== undefined && letters.every(({ character }) => alike.includes(character));
}

/** Letters that look like a Latin letter, a digit or a sign. */
const LATIN_ALIKE: Readonly<Partial<Record<Script, string>>> = {
  Greek: "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧΪΫαγικνορυχϊϋόύίά",
  Cyrillic: "АВЕЅІЈКМНОРСТУХЗЬЁЇЀҮӐӔӒӖӦӰҪаеѕіјкорсухгёїѐүһӑӕӓӗӧӱҫ",
  Armenian: "ՍՏԼՕսոօհցզյգքիխտրւ",
  Hebrew: "וןסיעח",
  Arabic: "اهةىأإآٱہەھ",
  Oriya: "ଠ",
  Malayalam: "ഠ",
  Myanmar: "ဝ",
  Ethiopic: "ዐሀሁ",
  Georgian: "ჿხტ",
};

/** Katakana, and the letters of other scripts that look like them. */
const KATAKANA_ALIKE = "ロニカタトハエミチオヌヒムヘベペリ";
const LIKE_KATAKANA = "口二力夕卜八工三千才又匕厶へべぺり一";

/** Japanese mixes its scripts within a word. Ambiguous letters are judged by their neighbours. */
function isLikeNeighbours(characters: readonly string[], index: number): boolean {
  const character = characters[index] ?? "";
  const besides = [characters[index - 1] ?? "", characters[index + 1] ?? ""];
  if (character === "ー") return !isKatakana(besides[0] ?? "");
  if (LIKE_KATAKANA.includes(character)) return besides.some(isKatakana);
  return KATAKANA_ALIKE.includes(character) && !hasClearKatakana(characters, index);
}

/** Whether the surrounding word has an unambiguous Katakana letter. Only looks a word's length ahead. */
function hasClearKatakana(characters: readonly string[], index: number): boolean {
  const isClear = (step: number) => {
    for (let at = index + step; Math.abs(at - index) < MAX_KATAKANA_WORD; at += step) {
      const one = characters[at] ?? "";
      if (!isKatakana(one)) return false;
      if (one !== "ー" && !KATAKANA_ALIKE.includes(one)) return true;
    }
    return false;
  };
  return isClear(1) || isClear(-1);
}

const MAX_KATAKANA_WORD = 50;

function isKatakana(character: string): boolean {
  return /^[\u30a1-\u30fa\u30fc]$/.test(character);
}

/** Signs that look like no other. The wide ones take two columns. */
const SIGNS = "¡¢£¥§©«®°±²³¶¹»¼½¾¿÷¬—…“”„†‡•‰€™←↑→↓↔⇒≈≠≤≥∞√✓✗、。「」『』【】《》，！？：；（）";

/** An apostrophe only between letters: elsewhere it could pass for a shell's quotation mark. */
function isSign(character: string, index: number, characters: readonly string[]): boolean {
  if (character <= "~") return false;
  if (SIGNS.includes(character)) return true;
  if (character === "’") {
    return [index - 1, index + 1].every((at) => /^\p{L}/u.test(characters[at] ?? ""));
  }
  return /^[\p{Emoji_Presentation}--[\p{RI}\p{EMod}]]$/v.test(character) && isOwnForm(character);
}
