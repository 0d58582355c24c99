/**
 * Custom session commands: one Markdown file each, in `.jp/commands` of a workspace and in `commands` beside the
 * user's config. A workspace may be a clone, so each of its commands has to be trusted before use.
 */
import { configPlaces, findWorkspace, workspaceTrust } from "../assemble/index.ts";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { splitWords } from "../settings/config/index.ts";
import type { InstructingFile } from "../settings/trust/index.ts";
import { decodeUtf8, openFile, openFolder } from "../reach/files/index.ts";
import { messageOf, oneLine, sha256, systemErrorCode } from "../util/index.ts";
import type { CommandContext } from "./context.ts";

export interface CustomCommand {
  /** Without the slash. */
  readonly name: string;
  /** One line. */
  readonly help: string;
  /** The message, with placeholders for what the user types after the name. */
  readonly template: string;
  /** The path as shown to people. */
  readonly file: string;
  /** Set if it comes from the workspace, and has to be trusted before use. */
  readonly claimed?: InstructingFile;
}

export interface CustomCommands {
  /** Sorted by name. */
  readonly commands: readonly CustomCommand[];
  /** Skipped files and why, one line each. */
  readonly problems: readonly string[];
}

const FOLDER = "commands";
const WORKSPACE_FOLDER = path.join(".jp", FOLDER);
const MAX_BYTES = 32 * 1024;
/** With more than this, no one would find one of them. */
const MAX_FILES = 200;
const NAME = /^[a-z][a-z0-9_-]{0,39}$/;

/** The user's own commands override the workspace's, and none can replace a built-in one. Never throws. */
export async function loadCustomCommands(
  context: CommandContext,
  builtIn: readonly string[],
): Promise<CustomCommands> {
  const [own, brought] = await Promise.all([
    readOwnFiles(path.join(configPlaces(context).userFolder, FOLDER)),
    readWorkspaceFiles(context),
  ]);
  const commands = new Map<string, CustomCommand>();
  const problems: string[] = [];
  for (const { name, file, text, claimed } of [...own, ...brought]) {
    const reason = problemOf(name, text, builtIn);
    if (reason !== undefined) problems.push(oneLine(`${file} is not used: ${reason}`));
    else if (!commands.has(name))
      commands.set(name, {
        name,
        file,
        ...parseCommand(String(text)),
        ...(claimed && { claimed }),
      });
  }
  const untrusted = new Set(await findUntrusted([...commands.values()], context));
  return {
    commands: [...commands.values()]
      .map((command) =>
        // Its own description is shown only once it is trusted.
        untrusted.has(command)
          ? { ...command, help: `From ${command.file}, not trusted yet` }
          : command,
      )
      .toSorted((one, two) => (one.name < two.name ? -1 : 1)),
    problems,
  };
}

/** The workspace's commands, for listing what it would do. Never throws. */
export async function workspaceCommands(
  context: CommandContext,
): Promise<readonly InstructingFile[]> {
  const files = await readWorkspaceFiles(context);
  return files.flatMap(({ claimed }) => claimed ?? []);
}

async function findUntrusted(
  commands: readonly CustomCommand[],
  context: CommandContext,
): Promise<readonly CustomCommand[]> {
  const workspace = findWorkspace(context);
  const files = commands.flatMap(({ claimed }) => claimed ?? []);
  if (workspace === undefined || files.length === 0) return [];
  const trust = workspaceTrust(context, workspace);
  const names = await trust.findUntrusted([], undefined, files).then(
    (claims) => new Set(claims.map(({ name }) => name)),
    () => new Set(files.map(({ name }) => name)), // Typing one of them reports why.
  );
  return commands.filter(({ claimed }) => claimed !== undefined && names.has(claimed.name));
}

function problemOf(
  name: string,
  text: string | Error,
  builtIn: readonly string[],
): string | undefined {
  if (!NAME.test(name)) return "name it with lower-case letters, digits and hyphens.";
  if (builtIn.includes(name)) return `/${name} is a command of jp.`;
  if (typeof text !== "string") return text.message;
  return parseCommand(text).template === "" ? "it has no message." : undefined;
}

interface CommandFile {
  readonly name: string;
  readonly file: string;
  /** Its content, or why it cannot be used. */
  readonly text: string | Error;
  readonly claimed?: InstructingFile;
}

/** The user's own files may be symlinks. */
async function readOwnFiles(folder: string): Promise<readonly CommandFile[]> {
  const names = await listNames(folder);
  return await Promise.all(
    names.map(async (fileName) => {
      const file = path.join(folder, fileName);
      const text = await readText(async () => {
        const { size } = await stat(file);
        return size > MAX_BYTES ? undefined : await readFile(file);
      });
      return { name: path.parse(fileName).name, file, text };
    }),
  );
}

/** Symlinks are not followed: they could lead out of the workspace. */
async function readWorkspaceFiles(context: CommandContext): Promise<readonly CommandFile[]> {
  const workspace = findWorkspace(context);
  if (workspace === undefined) return [];
  try {
    await using folder = await openFolder(
      path.join(await realpath(workspace.root), WORKSPACE_FOLDER),
    );
    const names = await listNames(folder.path);
    const files: CommandFile[] = [];
    for (const fileName of names) {
      const file = path.posix.join(".jp", FOLDER, fileName);
      const text = await readText(async () => {
        await using handle = await openFile(folder, fileName, {
          displayPath: file,
          access: "read",
        });
        return (await handle.stat()).size > MAX_BYTES ? undefined : await handle.readFile();
      });
      const claimed =
        typeof text === "string" &&
        ({
          kind: "command",
          name: file,
          content: text,
          digest: sha256(text),
          isCut: false,
        } as const);
      files.push({ name: path.parse(fileName).name, file, text, ...(claimed && { claimed }) });
    }
    return files;
  } catch {
    return []; // The folder does not exist, or is not a folder.
  }
}

async function listNames(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.endsWith(".md") && !name.startsWith("."))
    .toSorted()
    .slice(0, MAX_FILES);
}

/** `read` returns undefined for a file that is too long. */
async function readText(read: () => Promise<Buffer | undefined>): Promise<string | Error> {
  try {
    const bytes = await read();
    if (bytes === undefined) return new Error(`it is longer than ${MAX_BYTES} bytes.`);
    const text = decodeUtf8(bytes)
      ?.replace(/^\uFEFF/, "")
      .trim();
    if (text === undefined) return new Error("it is not UTF-8 text.");
    return text === "" ? new Error("it is empty.") : text;
  } catch (error) {
    return new Error(systemErrorCode(error) ?? messageOf(error));
  }
}

/** The file's message, and its `description` or else its first line. */
function parseCommand(text: string): Pick<CustomCommand, "help" | "template"> {
  const [matter = "", front = ""] = /^---\r?\n(.*?)\r?\n---(?:\r?\n|$)/s.exec(text) ?? [];
  const template = text.slice(matter.length).trim();
  const [, written = ""] = /^description:[ \t]*(.+?)[ \t]*$/m.exec(front) ?? [];
  const described = written.replace(/^(["'])(.*)\1$/, "$2");
  const [firstLine = ""] = template.split("\n", 1);
  return { help: oneLine(described === "" ? firstLine.replace(/^#+ /, "") : described), template };
}

const PLACES = /\\?\$(ARGUMENTS|[1-9])/g;

export function takesArguments({ template }: CustomCommand): boolean {
  return [...template.matchAll(PLACES)].some(([place]) => place.startsWith("$"));
}

/**
 * Fills in what the user typed after the name. `$ARGUMENTS` is all of it, and `$1` to `$9` are its words, which
 * quotes group; a backslash keeps a placeholder as it is. Without a placeholder, the text is appended.
 */
export function expandCommand(command: CustomCommand, typed: string): string {
  const words = splitWords(typed) ?? typed.split(/\s+/);
  const message = command.template.replaceAll(PLACES, (place, which: string) => {
    if (place.startsWith("\\")) return place.slice(1);
    return which === "ARGUMENTS" ? typed : (words[Number(which) - 1] ?? "");
  });
  return typed === "" || takesArguments(command) ? message : `${message}\n\n${typed}`;
}
