/**
 * Neutralizes untrusted text for the terminal. Nothing in the text of tools, models or files may move the cursor,
 * change colors, reorder the line or ring the bell.
 */

/** Letters and symbols that look like a space, or like nothing. */
const LOOKS_BLANK = String.raw`\u2800\u{1d159}\u{13430}-\u{1343f}`;

/** Delete, C1, line separators, annotations, and characters that no font draws: fillers, direction marks, tags. */
const INVISIBLE = String.raw`[\x7f-\x9f\u2028\u2029\ufff9-\ufffb${LOOKS_BLANK}\p{Noncharacter_Code_Point}[\p{Default_Ignorable_Code_Point}--[\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe02\ufe0e\ufe0f\u{e0100}-\u{e01ef}]]]`;

/** Scripts in which a joiner changes the word: from Arabic to Tibetan and Mongolian. */
const JOINING_SCRIPTS = String.raw`\u0600-\u061b\u061d-\u07ff\u0840-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18aa`;

/**
 * Invisible characters that languages and emoji need: allowed where they belong, replaced elsewhere. One
 * at a time, since a row of them can hide a whole message.
 */
const OUT_OF_PLACE = [
  // Joiners outside emoji and the scripts that use them.
  String.raw`[\u200c\u200d](?<!(?:\p{ExtPict}[\ufe0f\p{EMod}]?\u200d(?=\p{ExtPict})|[${JOINING_SCRIPTS}].))`,
  // Emoji presentation, except of pictographs and keycaps.
  String.raw`[\ufe0e\ufe0f](?<!(?:\p{ExtPict}.|[0-9#*]\ufe0f(?=\u20e3)))`,
  // Variants, except of Chinese characters and of Mongolian letters.
  String.raw`[\ufe00-\ufe02\u{e0100}-\u{e01ef}](?<!\p{Script=Han}.)`,
  String.raw`[\u180b-\u180d\u180f](?<![\u1820-\u18aa].)`,
].join("|");

/** A fast path for most texts: matching Unicode properties is slow. */
const HARMLESS = /^[\t\n -~\xa0-\xac\xae-\u02ff]*$/;

/** Compiled on first use. */
let unsafe: RegExp | undefined;
let unsafeInJson: RegExp | undefined;
let hidden: RegExp | undefined;

/** Makes all control characters visible, except line breaks and tabs. */
export function neutralize(text: string): string {
  if (HARMLESS.test(text)) return text;
  // And C0, except tab and newline.
  unsafe ??= new RegExp(String.raw`[\0-\x08\x0b-\x1f]|${INVISIBLE}|${OUT_OF_PLACE}`, "gv");
  return text.replaceAll("\r\n", "\n").replaceAll(unsafe, picture);
}

/** Positions of characters that are invisible, or look like a space. */
export function hiddenIn(text: string): ReadonlySet<number> {
  hidden ??= new RegExp(
    [
      String.raw`[\0-\x1f[\p{Zs}--[ ]]\p{Cs}\p{Cn}\p{Co}]`,
      INVISIBLE,
      OUT_OF_PLACE,
      // Accents on nothing, and more than a letter can carry.
      String.raw`(?<=^|\s|\p{M}{3})\p{M}`,
    ].join("|"),
    "gv",
  );
  return new Set(Array.from(text.matchAll(hidden), ({ index }) => index));
}

/** Words separated by single spaces, as in most titles. */
const PLAIN_LINE = /^[!-~]+(?: [!-~]+)*$/;

/** Neutralized, with every run of white space replaced by one space. */
export function oneLine(text: string): string {
  if (PLAIN_LINE.test(text)) return text;
  return neutralize(text.replaceAll(/\s+/g, " ").trim());
}

/** The first non-blank line, with an ellipsis if there is more. */
export function firstLine(text: string): string {
  const [first = "", ...rest] = text.trim().split("\n");
  return rest.length === 0 ? oneLine(first) : `${oneLine(first)} …`;
}

/** One line of JSON, safe to show and still equal: unsafe characters are escaped. */
export function jsonLine(value: unknown): string {
  const line = JSON.stringify(value);
  if (HARMLESS.test(line)) return line;
  unsafeInJson ??= new RegExp(`${INVISIBLE}|${OUT_OF_PLACE}`, "gv");
  return line.replaceAll(unsafeInJson, escape);
}

/** JSON to read and edit, on several lines. Invisible characters are escaped, which does not change the value. */
export function jsonBlock(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  const hiddenAt = hiddenIn(text);
  return Array.from(text.matchAll(/./gsu), ({ 0: character, index }) =>
    hiddenAt.has(index) && character !== "\n" ? escape(character) : character,
  ).join("");
}

/** JSON for people: a Windows path keeps its single backslashes. */
export function valueLine(value: unknown): string {
  const isPath = typeof value === "string" && /^([A-Za-z]:\\|\\\\)[^"\t\r\n]*$/.test(value);
  return isPath ? `"${neutralize(value)}"` : jsonLine(value);
}

/** `␛` for escape and so on; `<U+009B>` if Unicode has no symbol for it. */
export function picture(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "␡" : codePoint(character);
}

/** `<U+00A0>`. */
export function codePoint(character: string): string {
  return `<U+${hexadecimal(character.codePointAt(0) ?? 0)}>`;
}

function escape(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${hexadecimal(unit.charCodeAt(0)).toLowerCase()}`)
    .join("");
}

function hexadecimal(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, "0");
}

/** IDs come from providers and tools. Control characters are escaped in Bash and Zsh syntax. */
export function shellWord(text: string): string {
  if (/^[\w.:/@%+-]+$/.test(text)) return text;
  if (oneLine(text) === text) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return `$'${jsonLine(text)
    .slice(1, -1)
    .replaceAll("'", String.raw`\'`)}'`;
}
