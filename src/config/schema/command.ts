/** A command to run: one line in the notation of a shell, or its parts. Merged as a whole. */
import * as v from "valibot";
import { table } from "./node.ts";

/** A program to be run, and its arguments. */
export interface CommandConfig {
  readonly program: string;
  readonly args: readonly string[];
  /** Run by `sh -c`, the program's text as it stands and every argument quoted. */
  readonly shell: boolean;
}

const EMPTY = "it must not be empty";

export const commandSchema = v.pipe(
  v.union([
    v.string(),
    table(
      v.object({
        program: v.pipe(v.string(), v.nonEmpty(EMPTY)),
        args: v.optional(v.array(v.string()), []),
        shell: v.optional(v.boolean(), false),
      }),
    ),
  ]),
  v.rawTransform(({ dataset, addIssue, NEVER }): CommandConfig => {
    const { value } = dataset;
    if (typeof value !== "string") return value;
    const { words, rest } = scanWords(value);
    const [program = "", ...args] = words;
    const problem = rest === "" ? (program === "" ? EMPTY : undefined) : unfinished(rest);
    if (problem === undefined) return { program, args, shell: false };
    addIssue({ message: problem });
    return NEVER;
  }),
);

/**
 * The words of a line: quotes group, a backslash outside single quotes takes the next character as
 * it is. Undefined if a quote is not closed.
 */
export function splitWords(line: string): string[] | undefined {
  const { words, rest } = scanWords(line);
  return rest === "" ? words : undefined;
}

/** `rest` is where no further word could be read. */
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

function unfinished(rest: string): string {
  return rest === "\\"
    ? "it ends in a backslash, which takes nothing as it is"
    : "a quote in it is not closed";
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
