/** Checks the commands in documents with jp's own parser, without running them. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Command, CommanderError } from "commander";
import { createProgram } from "../../src/cli/program.ts";
import { createHost } from "./command-host.ts";
import { splitWords } from "../../src/settings/config/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { ROOT } from "./documents.ts";

/** The words of each command in a block, without comments, pipes, redirections and leading variables. */
export function commandsIn(code: string): readonly (readonly string[])[] {
  return code
    .split("\n")
    .map((line) => line.replace(/(?:^|\s+)# .*$/, ""))
    .flatMap((line) => line.split(" | "))
    .map((line) => splitWords(line) ?? ["not", "closed:", line])
    .map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))))
    .map((words) => (words.includes(">") ? words.slice(0, words.indexOf(">")) : words))
    .filter((words) => words.length > 0);
}

/** Other programs that the documents use. */
const OTHERS = new Set(["cat", "curl", "export", "git", "pg_dump", "psql", "ssh", "tailscale"]);

/** The mistake in a command, if any. */
export async function findMistake(words: readonly string[]): Promise<string | undefined> {
  const [program = "", ...rest] = words;
  const [first = "", second = ""] = rest;
  if (program === "jp" || program === "bin/jp") return findUsageMistake(rest);
  if (program === "npm") {
    const script = first === "run" ? second : first;
    return script === "install" || scripts().has(script) ? undefined : `no script ${script}`;
  }
  if (program === "node") {
    return existsSync(path.join(ROOT, first)) ? undefined : `no file ${first}`;
  }
  return OTHERS.has(program) ? undefined : `no program ${program}`;
}

async function findUsageMistake(words: readonly string[]): Promise<string | undefined> {
  const program = await createProgram(createHost(), (word) => words.includes(word));
  let isReached = false;
  disarm(program, () => {
    isReached = true;
  });
  try {
    await program.parseAsync([...words], { from: "user" });
    return isReached ? undefined : "it does nothing";
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? undefined : error.message;
  }
}

function disarm(command: Command, onReached: () => void): void {
  command.configureOutput({ writeOut: () => {}, writeErr: () => {} });
  // Commander does not tell whether a command with subcommands can also run alone, as `jp serve` does.
  const { _actionHandler: action } = command as unknown as { readonly _actionHandler: unknown };
  if (action !== null) command.action(onReached);
  for (const inner of command.commands) disarm(inner, onReached);
}

function scripts(): ReadonlySet<string> {
  const text = readFileSync(path.join(ROOT, "package.json"), "utf8");
  const { scripts: own } = JSON.parse(text) as { readonly scripts: JsonObject };
  return new Set(Object.keys(own));
}
