/** Schema of a command: one line in shell notation, or its parts. Replaced as a whole. */
import * as v from "valibot";

/** A program and its arguments. */
export interface CommandConfig {
  readonly program: string;
  readonly args: readonly string[];
  /** Run by `sh -c`: `program` is shell code, and every argument is quoted. */
  readonly shell: boolean;
}

const EMPTY = "must not be empty";

export const commandSchema = v.pipe(
  v.union([
    v.string(),
    v.object({
      program: v.pipe(v.string(), v.nonEmpty(EMPTY)),
      args: v.optional(v.array(v.string()), []),
      shell: v.optional(v.boolean(), false),
    }),
  ]),
  v.rawTransform(({ dataset, addIssue, NEVER }): CommandConfig => {
    const { value } = dataset;
    if (typeof value !== "string") return value;
    const { words, rest } = scanWords(value);
    const [program = "", ...args] = words;
    if (rest === "" && program !== "") return { program, args, shell: false };
    addIssue({
      message:
        rest === ""
          ? EMPTY
          : rest === "\\"
            ? "ends with a lone backslash"
            : "has an unclosed quote",
    });
    return NEVER;
  }),
);

/**
 * Splits a line into words as a shell does: quotes group, and a backslash outside single quotes escapes the next
 * character. Undefined if a quote is not closed.
 */
export function splitWords(line: string): string[] | undefined {
  const { words, rest } = scanWords(line);
  return rest === "" ? words : undefined;
}

/** `rest` is the text from which no word could be read. */
function scanWords(line: string): { readonly words: string[]; readonly rest: string } {
  const words: string[] = [];
  const pattern = /\s*((?:[^\s'"\\]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*")+)/y;
  let position = 0;
  for (;;) {
    pattern.lastIndex = position;
    const match = pattern.exec(line);
    if (match === null) break;
    words.push(unquote(match[1] ?? ""));
    position = pattern.lastIndex;
  }
  return { words, rest: line.slice(position).trim() };
}

function unquote(word: string): string {
  const pieces = word.match(/'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^'"\\]+/g) ?? [];
  return pieces.map(unquotePiece).join("");
}

function unquotePiece(piece: string): string {
  if (piece.startsWith("'")) return piece.slice(1, -1);
  if (piece.startsWith('"')) return piece.slice(1, -1).replaceAll(/\\(["\\$`])/g, "$1");
  return piece.startsWith("\\") ? piece.slice(1) : piece;
}
