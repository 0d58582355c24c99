/**
 * Foreign text made harmless for a terminal. What tools, models and other people's files say is
 * data: none of it may move the cursor, change colours, reorder the line or ring the bell.
 */

/** Shown as a space or as nothing at all, although it is none: fillers and blanks among the letters. */
const LOOKS_BLANK = String.raw`\u2800\u{1d159}\u{13430}-\u{1343f}`;

/** Delete, C1, ends of lines, annotations, and what no font draws: fillers, direction marks, tags. */
const INVISIBLE = String.raw`[\x7f-\x9f\u2028\u2029\ufff9-\ufffb${LOOKS_BLANK}\p{Noncharacter_Code_Point}[\p{Default_Ignorable_Code_Point}--[\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe02\ufe0e\ufe0f\u{e0100}-\u{e01ef}]]]`;

/** Letters of scripts in which a joiner makes another word: from Arabic to Tibetan and Mongolian. */
const JOINING_SCRIPTS = String.raw`\u0600-\u061b\u061d-\u07ff\u0840-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18aa`;

/**
 * What no font draws either, but languages and emoji need: it hides nothing where it belongs, and is as
 * foreign as the others everywhere else. One at a time, since whole messages can hide in a row of them.
 */
const OUT_OF_PLACE = [
  // Joiners within emoji, and in the scripts that have them.
  String.raw`[\u200c\u200d](?<!(?:\p{ExtPict}[\ufe0f\p{EMod}]?\u200d(?=\p{ExtPict})|[${JOINING_SCRIPTS}].))`,
  // The colour of a sign, and of the digits on keys.
  String.raw`[\ufe0e\ufe0f](?<!(?:\p{ExtPict}.|[0-9#*]\ufe0f(?=\u20e3)))`,
  // Variants of a Chinese character, and of a Mongolian letter.
  String.raw`[\ufe00-\ufe02\u{e0100}-\u{e01ef}](?<!\p{Script=Han}.)`,
  String.raw`[\u180b-\u180d\u180f](?<![\u1820-\u18aa].)`,
].join("|");

/** Most texts have none but these, and properties of characters take long to look up. */
const HARMLESS = /^[\t\n -~\xa0-\xac\xae-\u02ff]*$/;

/** Made when they are first needed. */
let unsafe: RegExp | undefined;
let unsafeInJson: RegExp | undefined;

/** Keeps line breaks and tabs; everything else that a terminal acts on becomes visible. */
export function neutralize(text: string): string {
  if (HARMLESS.test(text)) return text;
  // C0, too, but for tab and newline.
  unsafe ??= new RegExp(String.raw`[\0-\x08\x0b-\x1f]|${INVISIBLE}|${OUT_OF_PLACE}`, "gv");
  return text.replaceAll("\r\n", "\n").replaceAll(unsafe, picture);
}

/** `neutralize` for a single line: every run of white space is one space. */
export function oneLine(text: string): string {
  return neutralize(text.replaceAll(/\s+/g, " ").trim());
}

/** The first line that says something, and a mark if there is more. */
export function firstLine(text: string): string {
  const [first = "", ...rest] = text.trim().split("\n");
  return rest.length === 0 ? oneLine(first) : `${oneLine(first)} …`;
}

/** One line of JSON that is safe to show and loses nothing: what is unsafe is escaped. */
export function jsonLine(value: unknown): string {
  const line = JSON.stringify(value);
  if (HARMLESS.test(line)) return line;
  unsafeInJson ??= new RegExp(`${INVISIBLE}|${OUT_OF_PLACE}`, "gv");
  return line.replaceAll(unsafeInJson, escape);
}

/** A value for people: JSON, but a path of Windows has its backslashes as it has them elsewhere. */
export function valueLine(value: unknown): string {
  const isPath = typeof value === "string" && /^([A-Za-z]:\\|\\\\)[^"\t\r\n]*$/.test(value);
  return isPath ? `"${neutralize(value)}"` : jsonLine(value);
}

/** `␛` for escape and so on, where there is a picture; `<U+009B>` where there is none. */
function picture(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "␡" : `<U+${hexadecimal(code)}>`;
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
