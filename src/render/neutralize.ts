/**
 * Foreign text made harmless for a terminal. What tools, models and other people's files say is
 * data: none of it may move the cursor, change colours, reorder the line or ring the bell.
 */

/**
 * C0 without tab and newline, delete, C1, and what reorders or hides text around it: direction marks,
 * invisible operators, tags. Joiners stay: scripts and emoji need them.
 */
const HIDING =
  "\\x7f-\\x9f\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}";
const UNSAFE = new RegExp(`[\\0-\\x08\\x0b-\\x1f${HIDING}]`, "gu");
const UNSAFE_IN_JSON = new RegExp(`[${HIDING}]`, "gu");

/** Keeps line breaks and tabs; everything else that a terminal acts on becomes visible. */
export function neutralize(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(UNSAFE, picture);
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
  return JSON.stringify(value).replaceAll(UNSAFE_IN_JSON, escape);
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
