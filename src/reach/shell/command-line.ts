/**
 * Splits a command line into the commands that a shell would run, with their words as the programs get them, and reports
 * hazards that make this uncertain. It judges no command: rules do, by these words.
 *
 * `unbash` has the grammar. Its result is checked by reading each word again, and everything between the words: a line on
 * which the two differ, or on which shells do, has a hazard.
 */
import {
  type Command,
  type CommandArgument,
  type ParsedScript,
  parse,
  type Redirection,
  type SyntaxNode,
  forEachChild,
} from "unbash";
import { readShellWord, type WordHazard } from "./shell-word.ts";

export interface CommandLine {
  readonly parts: readonly CommandPart[];
  /** Hazards of the whole line. Each part has them too. */
  readonly hazards: readonly CommandHazard[];
}

/** One command of a line: a program with its arguments, or a shell builtin. */
export interface CommandPart {
  /**
   * The words without quotes; the first is the program. Empty for an assignment alone. If a hazard means that the program
   * gets something else, it is the word as written.
   */
  readonly words: readonly string[];
  readonly hazards: readonly CommandHazard[];
}

/**
 * Why the words of a part do not say all that it does.
 *
 * - `substitution`: a word, or a file, is the output of another command.
 * - `expansion`: a variable, arithmetic, a tilde or braces.
 * - `glob`: a word stands for the names of files.
 * - `redirection`: to or from anything but `/dev/null` and the other standard streams.
 * - `here_document`: also a here-string.
 * - `assignment`: of a variable, which may change what programs do.
 * - `function`: names may mean something else from there on.
 * - `background`: also a coprocess.
 * - `control_flow`: anything but a list of commands and pipelines.
 * - `shell_state`: a builtin that changes what later parts mean, or runs its arguments.
 * - `line_continuation`: in the middle of a word.
 * - `control_character`: a character that cannot be seen, or changes how others are shown.
 * - `empty`: there is no command.
 * - `too_long`: not read at all.
 * - `unknown_syntax`: a mistake, or something on which shells differ.
 */
export type CommandHazard =
  | WordHazard
  | "redirection"
  | "here_document"
  | "assignment"
  | "function"
  | "background"
  | "control_flow"
  | "shell_state"
  | "control_character"
  | "empty"
  | "too_long";

/** Never throws. Finds commands in compound commands too, but not in substitutions. */
export function parseCommandLine(line: string): CommandLine {
  const { script, hazards } = readScript(line);
  const walk = new Walk(line, hazards);
  if (script !== undefined) walk.visit(script);
  return walk.finish();
}

/** Whether a part has no hazards and starts with the words of a rule. */
export function isPrefixOf(rule: readonly string[], part: CommandPart): boolean {
  if (rule.length === 0 || part.hazards.length > 0) return false;
  return rule.every((word, index) => part.words[index] === word);
}

/**
 * The options of a part from this word on. Options after `--` are prefixed with `-- `: `npm test -- -c` passes its option
 * on to another program, where it has another meaning. A hyphen alone is an input, and `--` alone only separates.
 */
export function optionsFrom(start: number, { words }: CommandPart): readonly string[] {
  const rest = words.slice(start);
  const separator = rest.indexOf("--");
  return rest.flatMap((word, index) => {
    if (!/^-(?!-?$)/.test(word)) return [];
    return separator !== -1 && index > separator ? [`-- ${word}`] : [word];
  });
}

const MAX_LINE_LENGTH = 32 * 1024;
/**
 * Control, format (such as direction marks), unassigned and private-use characters, lone surrogates, and unusual blanks.
 */
const UNSEEN = /[^\P{C}\t\n]|[^\P{Z} ]|[\u115f\u1160\u2800\u3164\uffa0]|\p{Variation_Selector}/u;

interface ReadScript {
  readonly script?: ParsedScript;
  readonly hazards: readonly CommandHazard[];
}

export function readScript(line: string): ReadScript {
  if (line.length > MAX_LINE_LENGTH) return { hazards: ["too_long"] };
  const unseen: readonly CommandHazard[] = UNSEEN.test(line) ? ["control_character"] : [];
  try {
    return { script: parse(line), hazards: unseen };
  } catch {
    return { hazards: [...unseen, "unknown_syntax"] };
  }
}

interface Span {
  readonly pos: number;
  readonly end: number;
}

/** Collects the parts of one line. */
class Walk {
  readonly #source: string;
  readonly #hazards: Set<CommandHazard>;
  readonly #parts: CommandPart[] = [];
  readonly #spans: Span[] = [];

  constructor(source: string, hazards: readonly CommandHazard[]) {
    this.#source = source;
    this.#hazards = new Set(hazards);
  }

  visit(node: SyntaxNode): void {
    if (node.type === "Script" && (node.errors ?? []).length > 0)
      this.#hazards.add("unknown_syntax");
    for (const hazard of hazardsOf(node)) this.#hazards.add(hazard);
    if (node.type === "Command") this.#addPart(node);
    else if (node.type !== "Word") forEachChild(node, (child) => this.visit(child));
  }

  finish(): CommandLine {
    if (this.#parts.length === 0) this.#hazards.add("empty");
    const isPlain =
      this.#hazards.size === 0 && this.#parts.every((part) => part.hazards.length === 0);
    if (isPlain && !isSeparated(this.#source, this.#spans)) this.#hazards.add("unknown_syntax");
    const hazards = [...this.#hazards];
    const parts = this.#parts.map((part) => ({
      words: part.words,
      hazards: [...new Set([...part.hazards, ...hazards])],
    }));
    return { parts, hazards };
  }

  #addPart(command: Command): void {
    const { part, spans } = readCommand(command, this.#source);
    this.#parts.push(part);
    this.#spans.push(...spans);
  }
}

export interface ReadCommand {
  readonly part: CommandPart;
  readonly spans: readonly Span[];
}

export function readCommand(command: Command, source: string): ReadCommand {
  const hazards = new Set<CommandHazard>();
  const args = command.name === undefined ? command.args : [command.name, ...command.args];
  const words = args.map((word) => readWord(word, source, hazards));
  for (const entry of command.prefix) if (entry.type === "Assignment") hazards.add("assignment");
  for (const redirect of command.redirects) {
    const hazard = redirectHazard(redirect, source);
    if (hazard !== undefined) hazards.add(hazard);
  }
  const [program = ""] = words;
  if (program.includes("=")) hazards.add("assignment");
  if (RESERVED.has(program)) hazards.add("control_flow");
  if (changesShell(words)) hazards.add("shell_state");
  return { part: { words, hazards: [...hazards] }, spans: [...args, ...command.redirects] };
}

function readWord(word: CommandArgument, source: string, hazards: Set<CommandHazard>): string {
  const read = readShellWord(source.slice(word.pos, word.end));
  for (const hazard of read.hazards) hazards.add(hazard);
  const value = valueOf(word);
  if (read.hazards.size === 0 && value !== read.text) hazards.add("unknown_syntax");
  return value;
}

/** Builtins such as `export` treat an argument that looks like an assignment as one. */
function valueOf(word: CommandArgument): string {
  if (word.type === "Word") return word.value;
  const { name, value } = word;
  return value.type === "Word" ? `${name}=${value.value}` : word.text;
}

/** Only for one-digit descriptors: shells differ on longer ones. */
const HARMLESS_REDIRECT = /^[0-2]?(?:(?:>>?|<)[ \t]*\/dev\/null|[<>]&[0-2])$/;

function redirectHazard(redirect: Redirection, source: string): CommandHazard | undefined {
  if (redirect.type !== "Redirect") return "here_document";
  const text = source.slice(redirect.pos, redirect.end);
  return HARMLESS_REDIRECT.test(text) ? undefined : "redirection";
}

function hazardsOf(node: SyntaxNode): readonly CommandHazard[] {
  switch (node.type) {
    case "Script":
    case "Command":
    case "CompoundList":
    case "AndOr":
    case "Word":
      return [];
    case "Statement":
      return node.background === true ? ["background"] : [];
    case "Pipeline":
      return node.operators.includes("|&") ? ["redirection"] : [];
    case "Function":
      return ["function"];
    case "Coproc":
      return ["background"];
    case "Redirected":
      return ["redirection"];
    case "ArithmeticCommand":
      return ["expansion"];
    default:
      return ["control_flow"];
  }
}

/** Words that some shell treats as reserved at the start of a command. */
const RESERVED: ReadonlySet<string> = new Set(
  "! { } [[ ]] case coproc do done elif else esac fi for function if in select then time until while".split(
    " ",
  ),
);

const STATE_BUILTINS: ReadonlySet<string> = new Set(
  (
    ". alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown enable eval exec " +
    "exit export fc fg getopts hash history jobs let local logout mapfile popd pushd read readarray readonly return set " +
    "shift shopt source suspend times trap typeset ulimit umask unalias unset wait"
  ).split(" "),
);

function changesShell([program = "", ...args]: readonly string[]): boolean {
  if (STATE_BUILTINS.has(program)) return true;
  // `printf -v` sets a variable; a name in `test -v` may be an array whose index is evaluated.
  if (program === "printf") return args[0]?.startsWith("-v") === true;
  return (program === "test" || program === "[") && args.some((word) => /^-[vR]$/.test(word));
}

/** Allowed between two words: blanks, line continuations, separators, and comments. */
const GAP = /^(?:[ \t\n]|\\\n|;|&&|\|\|?|#[^\n]*)*$/;

/** Whether only separators are between words and redirections, and any two words have one between them. */
function isSeparated(source: string, spans: readonly Span[]): boolean {
  const sorted = spans.toSorted((a, b) => a.pos - b.pos);
  let end = 0;
  let before = "";
  for (const span of sorted) {
    const gap = source.slice(end, span.pos);
    const token = source.slice(span.pos, span.end);
    if (span.pos < end || !GAP.test(gap)) return false;
    const isRedirect = /^[<>]/.test(token);
    // `echo 2>x` has a descriptor, but `echo 2 >x` an argument.
    if (gap === "" && end > 0 && (!isRedirect || /^\d+$/.test(before))) return false;
    end = span.end;
    before = token;
  }
  return GAP.test(source.slice(end));
}
