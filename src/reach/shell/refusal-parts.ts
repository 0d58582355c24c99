/**
 * Finds every command on a line that a deny rule may match, including those behind other programs and in text passed to a
 * shell. Generous: it may find commands that would not run, but it cannot find those whose names the shell assembles.
 */
import { type Command, forEachChild, type Redirection, type SyntaxNode } from "unbash";
import { type CommandPart, readCommand, readScript } from "./command-line.ts";

/** All parts, including those in substitutions and behind wrappers such as `env` and `sh -c`. Never throws. */
export function partsForRefusal(line: string): readonly CommandPart[] {
  return commandsOn(line).parts;
}

/** The commands of a line, and what they get besides their words. */
export interface FoundCommands {
  /** As in `partsForRefusal`. */
  readonly parts: readonly CommandPart[];
  /** The files that they read their input from, the words of here-strings, and assignments. */
  readonly inputs: readonly string[];
}

/** Never throws. */
export function commandsOn(line: string): FoundCommands {
  const search = new RefusalSearch();
  search.addLine(line, 0);
  return search;
}

/**
 * Whether a part starts with the words of a deny rule. Options before a word, with or without a value, do not hide it:
 * `git -C x push` is a `git push`.
 */
export function isFoundIn(rule: readonly string[], { words }: CommandPart): boolean {
  if (rule.length === 0 || rule[0] !== words[0]) return false;
  const matches = (wanted: number, at: number): boolean => {
    if (wanted === rule.length) return true;
    const word = words[at];
    if (word === undefined) return false;
    if (word === rule[wanted] && matches(wanted + 1, at + 1)) return true;
    if (!word.startsWith("-")) return false;
    return matches(wanted, at + 1) || matches(wanted, at + 2);
  };
  return matches(1, 1);
}

/** Programs that run the command after their own options. */
const WRAPPERS: ReadonlySet<string> = new Set(
  (
    "builtin busybox catchsegv chpst chroot chrt command coproc corepack dbus-run-session doas env exec fakeroot firejail flock gdb " +
    "ionice ltrace nice nohup npx numactl nsenter parallel pkexec pnpx proxychains runuser script setarch setpriv setsid " +
    "sshpass ssh stdbuf strace su sudo systemd-run taskset time timeout toybox trap unbuffer unshare uvx watch xargs xvfb-run bwrap"
  ).split(" "),
);
/** Shells, which read commands from arguments or input. */
const SHELLS: ReadonlySet<string> = new Set(
  "ash bash csh dash eval fish ksh mksh rbash sh tcsh yash zsh".split(" "),
);
const FIND_ACTIONS: ReadonlySet<string> = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

/** Limit for lines within lines. */
const MAX_DEPTH = 6;
/** A line that names many shells could otherwise take exponential time. */
const MAX_LINES = 200;

class RefusalSearch {
  readonly parts: CommandPart[] = [];
  readonly inputs: string[] = [];
  #lines = 0;

  addLine(line: string, depth: number): void {
    this.#lines += 1;
    const { script, hazards } =
      depth > MAX_DEPTH || this.#lines > MAX_LINES ? TOO_DEEP : readScript(line);
    if (hazards.length > 0) this.parts.push({ words: [], hazards });
    if (script !== undefined) this.#visit(script, line, depth);
  }

  #visit(node: SyntaxNode, source: string, depth: number): void {
    const inner = node.type === "Script" ? (node.source ?? source) : source;
    if (node.type === "Command") this.#addCommand(node, inner, depth);
    if (node.type === "HereDocBody") this.addLine(node.text, depth + 1);
    if (node.type === "Command" || node.type === "Redirected") this.#addInputs(node.redirects);
    forEachChild(node, (child) => this.#visit(child, inner, depth));
  }

  #addInputs(redirects: readonly Redirection[]): void {
    for (const redirect of redirects) {
      if (redirect.type === "HereDoc" || redirect.target === undefined) continue;
      const { value } = redirect.target;
      if (redirect.type === "HereString") this.inputs.push(...value.split(/\s+/));
      else if (redirect.operator.startsWith("<")) this.inputs.push(value);
    }
  }

  #addCommand(command: Command, source: string, depth: number): void {
    for (const entry of command.prefix) {
      if (entry.type === "Assignment" && entry.value.type === "Word") {
        this.inputs.push(`${entry.name}=${entry.value.value}`);
      }
    }
    const { part } = readCommand(command, source);
    this.#addWords(part, depth);
    const [first = "", ...others] = part.words;
    // Braces make several words of one: `{rm,-rf,x}` is `rm -rf x`.
    const braced = /^\{(.*)\}$/s.exec(first)?.[1]?.split(",");
    if (braced !== undefined) this.#addWords({ ...part, words: [...braced, ...others] }, depth);
  }

  #addWords(part: CommandPart, depth: number): void {
    this.#add(part);
    const [program = "", ...args] = part.words;
    const name = baseName(program);
    if (SHELLS.has(name)) this.addLine(args.join(" "), depth + 1);
    if (SHELLS.has(name) || WRAPPERS.has(name)) this.#addSuffixes({ ...part, words: args }, depth);
    const action = name === "find" ? args.findIndex((word) => FIND_ACTIONS.has(word)) : -1;
    if (action !== -1) this.#addSuffixes({ ...part, words: args.slice(action + 1) }, depth);
  }

  /**
   * It is unknown where a wrapper's options end: its command may start at any word, or be inside one. Wrappers within its
   * command are treated like its options.
   */
  #addSuffixes(part: CommandPart, depth: number): void {
    for (const [index, word] of part.words.entries()) {
      this.#add({ ...part, words: part.words.slice(index) });
      if (/[\s;&|<>()$`]/.test(word)) this.addLine(word, depth + 1);
    }
  }

  /** Adds a program named by its path under its base name too. */
  #add(part: CommandPart): void {
    this.parts.push(part);
    const [program = "", ...args] = part.words;
    const name = baseName(program);
    if (name !== program) this.parts.push({ ...part, words: [name, ...args] });
  }
}

const TOO_DEEP: ReturnType<typeof readScript> = { hazards: ["too_long"] };

function baseName(program: string): string {
  return program.slice(program.lastIndexOf("/") + 1);
}
