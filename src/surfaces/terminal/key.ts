/** Decodes the bytes a terminal sends into keys and reports. */
export type Key =
  /** One typed character. */
  | { readonly type: "text"; readonly text: string }
  /** Text that the terminal marks as pasted; line breaks are `\n`. */
  | { readonly type: "paste"; readonly text: string }
  | { readonly type: "named"; readonly name: KeyName };

/** Cancels the current prompt. */
export function isCancelKey(key: Key): boolean {
  return isEscape(key) || (key.type === "named" && key.name === "ctrl-c");
}

export function isEscape(key: Key): boolean {
  return key.type === "named" && key.name === "escape";
}

export function isEnter(key: Key): boolean {
  return key.type === "named" && (key.name === "enter" || key.name === "new-line");
}

/** See `Widget.isMultiline`. */
export function breakPastedLines(keys: readonly Key[]): readonly Key[] {
  const lastText = keys.findLastIndex(({ type }) => type === "text");
  return keys.map((key, index) =>
    index < lastText && key.type === "named" && key.name === "enter" ? named("new-line") : key,
  );
}

/**
 * Shift-Tab changes what jp may do, so it counts only by itself: together with text, it may be part of an unmarked
 * paste.
 */
export function withoutPastedShiftTab(keys: readonly Key[]): readonly Key[] {
  return keys.some(({ type }) => type !== "named") ? keys.filter((key) => !isShiftTab(key)) : keys;
}

function isShiftTab(key: Key): boolean {
  return key.type === "named" && key.name === "shift-tab";
}

/** A terminal's response to a request. */
export type Report = CursorReport | VersionReport;

/** The cursor position; columns start at 1. */
interface CursorReport {
  readonly type: "cursor";
  readonly column: number;
}

/** The terminal's type, as three numbers. */
interface VersionReport {
  readonly type: "version";
  readonly version: string;
}

export function isKey(sent: Key | Report): sent is Key {
  return sent.type !== "cursor" && sent.type !== "version";
}

export type KeyName =
  | "enter"
  | "new-line"
  | "escape"
  | "tab"
  | "shift-tab"
  | "backspace"
  | "delete"
  | "up"
  | "down"
  | "left"
  | "right"
  | "word-left"
  | "word-right"
  | "home"
  | "end"
  | "page-up"
  | "page-down"
  | `ctrl-${string}`;

export interface DecodedInput {
  readonly sent: readonly (Key | Report)[];
  /** The beginning of an incomplete sequence. */
  readonly rest: string;
}

const ESCAPE = "\u001b";
const PASTE_START = `${ESCAPE}[200~`;
const PASTE_END = `${ESCAPE}[201~`;

/** A control sequence: parameters, then one letter. */
const CONTROL_SEQUENCE = /^\u001b\[([0-?]*)[ -/]*([@-~])/;

/** Keyed by the letter that ends the sequence. */
const BY_LETTER: Readonly<Record<string, KeyName>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
};

/** Keyed by the first number in a sequence that ends in `~`. */
const BY_NUMBER: Readonly<Record<string, KeyName>> = {
  1: "home",
  3: "delete",
  4: "end",
  5: "page-up",
  6: "page-down",
  7: "home",
  8: "end",
};

/** Keys pressed with Alt. */
const WITH_ALT: Readonly<Record<string, KeyName>> = {
  "\r": "new-line",
  "\n": "new-line",
  "\u007f": "ctrl-w",
  b: "word-left",
  f: "word-right",
};

const CONTROLS: Readonly<Record<string, KeyName>> = {
  "\r": "enter",
  "\n": "new-line",
  "\t": "tab",
  "\b": "backspace",
  "\u007f": "backspace",
};

/** Ignores unknown sequences. */
export function decodeInput(input: string): DecodedInput {
  const sent: (Key | Report)[] = [];
  let rest = input;
  while (rest !== "") {
    const next = rest.startsWith(ESCAPE) ? decodeSequence(rest) : decodeCharacter(rest);
    if (next === undefined) break;
    if (next.sent !== undefined) sent.push(next.sent);
    rest = rest.slice(next.length);
  }
  return { sent, rest };
}

/** For an Escape that nothing follows: the key itself was pressed. */
export function decodeLoneEscape(rest: string): readonly Key[] {
  return rest === ESCAPE ? [named("escape")] : [];
}

interface Decoded {
  readonly length: number;
  readonly sent?: Key | Report;
}

function decodeCharacter(input: string): Decoded {
  const character = String.fromCodePoint(input.codePointAt(0) ?? 0);
  const code = character.charCodeAt(0);
  const control = CONTROLS[character];
  if (control !== undefined) return { length: 1, sent: named(control) };
  if (code === 0 || code > 0x1a) {
    const isText = code >= 0x20;
    return { length: character.length, ...(isText && { sent: { type: "text", text: character } }) };
  }
  return { length: 1, sent: named(`ctrl-${String.fromCharCode(code + 0x60)}`) };
}

/** Undefined if the sequence is incomplete. */
function decodeSequence(input: string): Decoded | undefined {
  if (input.startsWith(PASTE_START)) return decodePaste(input);
  if (input.startsWith(`${ESCAPE}[`)) return decodeControlSequence(input);
  const second = input[1];
  if (second === undefined) return undefined;
  if (second === ESCAPE) return { length: 1, sent: named("escape") };
  if (second === "O") {
    const letter = input[2];
    if (letter === undefined) return undefined;
    return found(3, BY_LETTER[letter]);
  }
  const character = String.fromCodePoint(input.codePointAt(1) ?? 0);
  return found(1 + character.length, WITH_ALT[character]);
}

function decodePaste(input: string): Decoded | undefined {
  const end = input.indexOf(PASTE_END);
  if (end === -1) return undefined;
  const text = input.slice(PASTE_START.length, end).replaceAll(/\r\n?/g, "\n");
  return { length: end + PASTE_END.length, sent: { type: "paste", text } };
}

function decodeControlSequence(input: string): Decoded | undefined {
  const match = CONTROL_SEQUENCE.exec(input);
  if (match === null) {
    // Either incomplete or broken; a broken one is dropped up to the broken character.
    const broken = /^\u001b\[[ -?]*[^ -~]/.exec(input);
    return broken === null ? undefined : { length: broken[0].length - 1 };
  }
  const [{ length }, parameters = "", letter = ""] = match;
  const [first = "", second = "", third = ""] = parameters.split(";");
  if (letter === "c" && parameters.startsWith(">")) {
    return { length, sent: { type: "version", version: parameters.slice(1) } };
  }
  if (letter === "R") return { length, sent: { type: "cursor", column: Number(second) } };
  // Enter with Shift or Alt, in newer terminals' encoding.
  const isModifiedEnter =
    (letter === "u" && first === "13") || (letter === "~" && first === "27" && third === "13");
  if (isModifiedEnter) return found(length, second === "" ? "enter" : "new-line");
  const isModifiedTab =
    (letter === "u" && first === "9") || (letter === "~" && first === "27" && third === "9");
  if (letter === "Z" || (isModifiedTab && second === "2")) return found(length, "shift-tab");
  // The end of a paste whose beginning was lost: the text before it was pasted.
  if (letter === "~" && first === "201") return { length, sent: { type: "paste", text: "" } };
  if (letter === "~") return found(length, BY_NUMBER[first]);
  const name = BY_LETTER[letter];
  // With Ctrl or Alt, arrows move by words.
  const isModified = second !== "" && second !== "2";
  if (isModified && name === "left") return found(length, "word-left");
  return found(length, isModified && name === "right" ? "word-right" : name);
}

function found(length: number, name: KeyName | undefined): Decoded {
  return name === undefined ? { length } : { length, sent: named(name) };
}

function named(name: KeyName): Key {
  return { type: "named", name };
}
