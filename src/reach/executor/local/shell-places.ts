/**
 * Finds the context of a reference in a shell program: in a command, in quotes, or in a here-document. It knows the
 * shell's grammar only as far as quoting goes.
 */

export type Place =
  | "command"
  /** In parentheses or backquotes, which contain commands again. */
  | "group"
  | "backquote"
  | "single"
  | "double"
  | "arithmetic"
  /** In parentheses within arithmetic. */
  | "term"
  /** A here-document with variable expansion, and one without. */
  | "here"
  | "verbatim";

interface HereDocument {
  readonly place: "here" | "verbatim";
  readonly delimiter: string;
  readonly isIndented: boolean;
}

const ESCAPE = String.raw`\\[\s\S]`;
const COMMENT = String.raw`(?<=^|[\s;&|(])#[^\n]*`;
const HERE = String.raw`<<<|<<-?[ \t]*(?:'[^']*'|"[^"]*"|\\?[^\s;&|<>()'"]+)`;
const CODE_TOKEN = String.raw`${ESCAPE}|${COMMENT}|${HERE}|\$?\(\(|\$?\(|[\s\S]`;
const TEXT_TOKEN = String.raw`${ESCAPE}|\$\(\(|\$\(|[\s\S]`;

const TOKENS = {
  command: CODE_TOKEN,
  group: CODE_TOKEN,
  backquote: CODE_TOKEN,
  single: String.raw`[\s\S]`,
  double: TEXT_TOKEN,
  arithmetic: String.raw`\)\)|${TEXT_TOKEN}`,
  term: TEXT_TOKEN,
  here: TEXT_TOKEN,
  verbatim: String.raw`[\s\S]`,
} as const satisfies Record<Place, string>;

type Moves = Readonly<Record<string, Place | "end">>;

const IN_TEXT: Moves = { "`": "backquote", "$(": "group", "$((": "arithmetic" };
const IN_CODE: Moves = {
  ...IN_TEXT,
  "'": "single",
  '"': "double",
  "(": "group",
  "((": "arithmetic",
};
const IN_ARITHMETIC: Moves = { ...IN_TEXT, "(": "term" };

/** Which tokens enter another place, and which end the current one. */
const MOVES = {
  command: IN_CODE,
  group: { ...IN_CODE, ")": "end" },
  backquote: { ...IN_CODE, "`": "end" },
  single: { "'": "end" },
  double: { ...IN_TEXT, '"': "end" },
  arithmetic: { ...IN_ARITHMETIC, "))": "end" },
  term: { ...IN_ARITHMETIC, ")": "end" },
  here: IN_TEXT,
  verbatim: {},
} as const satisfies Record<Place, Moves>;

export interface References {
  /** The source of a regular expression. A backslash before a match does not escape it. */
  readonly pattern: string;
  readonly replace: (reference: string, place: Place) => string;
}

/** Leaves the rest of the text unchanged. */
export function replaceReferences(
  text: string,
  references: References,
  outermost: Place = "command",
): string {
  const places: Place[] = [outermost];
  const documents: HereDocument[] = [];
  let result = "";
  let position = 0;
  while (position < text.length) {
    const place = places.at(-1) ?? outermost;
    const { token, reference } = tokenAt(text, position, { place, pattern: references.pattern });
    position += token.length;
    result += reference === undefined ? token : references.replace(reference, place);
    if (reference !== undefined) continue;
    move(token, places);
    if (TOKENS[place] !== CODE_TOKEN) continue;
    if (/^<<[^<]/.test(token)) documents.push(hereDocument(token));
    if (token !== "\n") continue;
    for (const document of documents.splice(0)) {
      const end = endOfBody(text, position, document);
      result += replaceReferences(text.slice(position, end), references, document.place);
      position = end;
    }
  }
  return result;
}

function tokenAt(
  text: string,
  position: number,
  { place, pattern }: { readonly place: Place; readonly pattern: string },
): { readonly token: string; readonly reference: string | undefined } {
  const escape = TOKENS[place].includes(ESCAPE) ? String.raw`\\?` : "";
  const next = new RegExp(`${escape}(${pattern})|${TOKENS[place]}`, "y");
  next.lastIndex = position;
  const match = next.exec(text);
  return { token: match?.[0] ?? text.charAt(position), reference: match?.[1] };
}

function move(token: string, places: Place[]): void {
  const moves: Moves = MOVES[places.at(-1) ?? "command"];
  const next = Object.hasOwn(moves, token) ? moves[token] : undefined;
  if (next === "end") places.pop();
  else if (next !== undefined) places.push(next);
}

function hereDocument(token: string): HereDocument {
  const isIndented = token.startsWith("<<-");
  const word = token.slice(isIndented ? 3 : 2).trim();
  const delimiter = word.replaceAll(/['"\\]/g, "");
  return { place: word === delimiter ? "here" : "verbatim", delimiter, isIndented };
}

/** After the line that is the delimiter, or at the end of the text. */
function endOfBody(text: string, start: number, { delimiter, isIndented }: HereDocument): number {
  let position = start;
  while (position < text.length) {
    const newline = text.indexOf("\n", position);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(position, end);
    position = Math.min(end + 1, text.length);
    if ((isIndented ? line.replace(/^\t+/, "") : line) === delimiter) return position;
  }
  return position;
}
