/**
 * Describes what a local tool would run right now: its command, the program, the files that words of the command reach,
 * and the programs of their `#!` lines. Files that those load in turn are out of reach, and so is code in an argument, such
 * as for `sh -c`.
 */
import {
  type CommandConfig,
  splitWords,
  type ToolSettings,
} from "../../../settings/config/index.ts";
import { quoteCommand, resolveProgram } from "../../process/index.ts";
import type { ToolSource } from "../../../record/tool/index.ts";
import type { Json } from "../../../util/index.ts";
import type { DescribeOptions } from "../port.ts";
import { SourceFiles } from "../source-files.ts";
import type { LocalEnvironment } from "./local-executor.ts";
import { findShell } from "./render-command.ts";
import { hasTemplate, splitTemplate } from "./template.ts";

type Place = Pick<LocalEnvironment, "workspaceRoot" | "variables" | "dataFolder">;

/** Reads each file once. Never throws: unreadable files are described as such. */
export async function describeLocalSource(
  { command, subjectIgnore = [] }: Pick<ToolSettings, "command" | "subjectIgnore">,
  { workspaceRoot, variables, dataFolder }: Place,
  { isShared = false }: DescribeOptions = {},
): Promise<ToolSource> {
  if (command === undefined) return { origin: { type: "local", command: "" }, folder: "." };
  const files = new SourceFiles({
    root: workspaceRoot,
    ignored: subjectIgnore,
    variables,
    dataFolder,
    isShared,
  });
  const program = await describeProgram(command, files, { workspaceRoot, variables });
  const words = wordsOf(command);
  const file = await files.describeAll(words);
  return {
    origin: { type: "local", command: commandText(command) },
    identity: { program: command.program, args: [...command.args], shell: command.shell },
    ...(await files.withReached({ program, file }, { words })),
    folder: ".",
    ...(isShared && { isPortable: true }),
  };
}

/** The command in shell notation, as someone would type it. */
function commandText({ program, args, shell }: CommandConfig): string {
  if (!shell) return quoteCommand([program, ...args]);
  return [program, ...(args.length === 0 ? [] : [quoteCommand(args)])].join(" ");
}

async function describeProgram(
  { program, shell }: CommandConfig,
  files: SourceFiles,
  { workspaceRoot: cwd, variables }: Place,
): Promise<Json> {
  if (!shell && hasTemplate(program)) return { template: program };
  const command = shell ? findShell() : program;
  const found = resolveProgram(command, { cwd, searchPath: variables["PATH"] });
  if (found === undefined) return { missing: command };
  const described = files.isIgnored(found) ? files.locate(found) : await files.describe(found);
  return described ?? { missing: command };
}

/** Words without templates, except the program itself. */
function wordsOf({ program, args, shell }: CommandConfig): readonly string[] {
  const plain = args.filter((word) => !hasTemplate(word));
  return shell ? [...shellWords(program), ...plain] : plain;
}

/** A character that no path contains. */
const TEMPLATE = "\0";
const SHELL_WORD = /(?:[^\s'"\\;|&<>()`]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*")+/g;

function shellWords(text: string): readonly string[] {
  const marked = splitTemplate(text).map(({ source }) => (hasTemplate(source) ? TEMPLATE : source));
  const words = marked.join("").match(SHELL_WORD) ?? [];
  return words.flatMap((word) => splitWords(word) ?? []).filter((word) => !word.includes(TEMPLATE));
}
