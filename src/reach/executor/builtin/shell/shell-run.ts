/** Runs one command line for a model, and describes beforehand what it would run. */
import path from "node:path";
import { resolvePath } from "../../../files/index.ts";
import { resolveProgram } from "../../../process/index.ts";
import {
  type CommandEnd,
  type CommandPart,
  commandsOn,
  findCommandShell,
  findOwnPackage,
  findProblemIn,
  realPath as toRealPath,
  runCommand,
  type SandboxPlace,
  type SandboxProblem,
  type ShellEnvironment,
  shellEnvironment,
} from "../../../shell/index.ts";
import type { ToolContent, ToolContext, UndoForecast } from "../../../../record/tool/index.ts";
import type { UnkeptFolderReason } from "../../../undo/index.ts";
import {
  assertNever,
  formatSize,
  type Json,
  type JsonObject,
  messageOf,
} from "../../../../util/index.ts";
import type { DescribeOptions } from "../../port.ts";
import type { CallSource } from "../builtin-executor.ts";
import { MAX_DESCRIBED_WORDS, SourceFiles } from "../../source-files.ts";
import { DEFAULT_TIMEOUT_SECS, type ShellPlace, type ShellRunArguments } from "./shell-place.ts";

/** Shown to the model from each end of the output. */
const SHOWN_BYTES = 8 * 1024;
const OUTPUT_FOLDER = "shell-output";

/** Throws a `FileError` for a folder that is not in the workspace. */
export async function runShellCall(
  args: ShellRunArguments,
  context: ToolContext,
  place: ShellPlace,
): Promise<string | ToolContent> {
  const { command, folder = ".", timeout_secs: asked = DEFAULT_TIMEOUT_SECS, stdin = "" } = args;
  const { limits } = place.settings;
  const seconds = limits.timeSecs === 0 ? asked : Math.min(asked, limits.timeSecs);
  const { displayPath, realPath, missing } = await resolvePath(place.root, folder);
  if (missing.length > 0) return failure(`[Folder ${displayPath} does not exist.]`);
  const sandbox = sandboxPlace(place);
  const problem = await findProblemIn(sandbox).catch(toProblem);
  const isSandboxed = problem === undefined;
  const isReadOnly = place.isReadOnly?.() === true;
  if (isReadOnly && !isSandboxed)
    return failure(`[${READS_ONLY} There is no sandbox. Nothing was run.]`);
  const opened = {
    network: !isReadOnly && args.network === true,
    git: !isReadOnly && args.git === true,
  };
  const hasNetwork = !isSandboxed || opened.network;
  const { variables, leftOut } = environmentOf(place, { isSandboxed, hasNetwork });
  const kept = isReadOnly ? undefined : await place.changes?.keepFolder(context.signal);
  const end = await runCommand({
    line: command,
    cwd: realPath,
    variables,
    input: stdin,
    timeoutMs: seconds * 1000,
    signal: context.signal,
    onLine: (line) => showLine(line, context),
    output: {
      shownBytes: SHOWN_BYTES,
      folder: path.join(place.dataFolder, OUTPUT_FOLDER),
      keptBytes: place.settings.keepOutputBytes,
    },
    limits,
    ...(problem === undefined && {
      sandbox: { place: sandbox, ...opened, isReadOnly },
    }),
  });
  await kept?.done();
  const [ownPackage] = isSandboxed ? findOwnPackage(sandbox.root) : [];
  return toResult(end, {
    seconds,
    isSandboxed,
    isReadOnly,
    hasGit: opened.git,
    leftOut: leftOut.length,
    ownPackage: ownPackage === undefined ? undefined : path.relative(sandbox.root, ownPackage),
    unkept: kept?.reason,
  });
}

/** How it ran, to describe how it ended. */
interface RunPlace {
  readonly seconds: number;
  readonly isSandboxed: boolean;
  /** It could change nothing. */
  readonly isReadOnly: boolean;
  readonly hasGit: boolean;
  /** The number of variables that it did not get. */
  readonly leftOut: number;
  /** The folder of jp in the workspace, which it could not change. */
  readonly ownPackage: string | undefined;
  /** Why its changes cannot be undone. */
  readonly unkept: UnkeptFolderReason | undefined;
}

/** As systems word it, on Linux and macOS. */
const GIT_IS_READ_ONLY = /\.git\b.*(?:Read-only file system|Operation not permitted)/;

const READS_ONLY =
  "The user is planning: a command runs in a sandbox that hides the user's home, has no network, and keeps everything from being changed, the workspace too.";

const UNKEPT: Readonly<Record<UnkeptFolderReason, string>> = {
  not_git: "the workspace is not in a Git work tree",
  git_failed: "git could not list the files of the workspace",
  index_damaged: "Git's index is damaged",
  too_large: "the workspace has too many files, or too large ones",
};

function showLine(line: string, { progress }: ToolContext): void {
  if (line.trim() !== "") progress(line);
}

/** In the sandbox, PATH may contain hidden folders. */
function environmentOf(
  { variables, settings: { env: added, hideEnv: hidden } }: ShellPlace,
  run: { readonly isSandboxed: boolean; readonly hasNetwork: boolean },
): ShellEnvironment {
  return shellEnvironment(variables, { added, hidden, ...run });
}

function sandboxPlace({ root, home, dataFolder, variables, settings }: ShellPlace): SandboxPlace {
  const xdg = [
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "TMPDIR",
  ];
  const folders = [dataFolder, ...xdg.map((name) => variables[name] ?? "")];
  return {
    root: toRealPath(root),
    home: toRealPath(home),
    hidden: folders.filter((folder) => path.isAbsolute(folder)),
    readable: settings.readable
      .map((folder) => folder.replace(/^~(?=$|\/)/, home))
      .filter((folder) => path.isAbsolute(folder)),
    variables,
  };
}

function toResult(end: CommandEnd, run: RunPlace): string | ToolContent {
  switch (end.type) {
    case "cancelled":
      return failure("[Cancelled.]");
    case "not_started":
      return failure(`[The shell could not be started: ${messageOf(end.error)}.]`);
    case "no_sandbox":
      return failure(`[There is no sandbox any more (${end.problem.reason}). Nothing was run.]`);
    case "sandbox_failed":
      return failure(`[The sandbox could not be set up, so nothing was run: ${end.message}]`);
    case "ended":
      return toEndText(end, run);
    default:
      return assertNever(end);
  }
}

function toEndText(
  { exit, output, removed, repositories }: Extract<CommandEnd, { readonly type: "ended" }>,
  { seconds, isSandboxed, isReadOnly, hasGit, leftOut, ownPackage, unkept }: RunPlace,
): string | ToolContent {
  const isSuccess = "status" in exit && exit.status === 0;
  const text = output.toText(leftOutNotice(output));
  const notices = [
    "timedOut" in exit ? `[Stopped after ${seconds} s.]` : "",
    "signal" in exit ? `[Ended by ${exit.signal}.]` : "",
    "status" in exit ? `[Exit status ${exit.status}.]` : "",
    !isSuccess && isReadOnly ? `[${READS_ONLY}]` : "",
    !isSuccess && isSandboxed && !isReadOnly
      ? "[It ran in a sandbox, which hides the user's home, keeps everything but the workspace from being changed, and has no network by default.]"
      : "",
    !isSuccess && isSandboxed && !isReadOnly && !hasGit && GIT_IS_READ_ONLY.test(text)
      ? "[.git is read-only in the sandbox. If the user agrees, a call with git: true can change it, except for its config and hooks.]"
      : "",
    !isSuccess && !isReadOnly && ownPackage !== undefined
      ? `[jp runs from ${ownPackage}, which a command cannot change: npm ci fails on it, and so does npm install if it would replace it.]`
      : "",
    !isSuccess && leftOut > 0
      ? `[left out: ${leftOut === 1 ? "1 variable" : `${leftOut} variables`}, see shell.env]`
      : "",
    removed.length > 0
      ? `[Removed what it created under names of jp and Git: ${removed.join(", ")}]`
      : "",
    repositories.length > 0
      ? `[New Git repositories: ${repositories.join(", ")}. Git runs what their config says: look at it before you use Git there.]`
      : "",
    unkept === undefined ? "" : `[What it changed cannot be undone: ${UNKEPT[unkept]}.]`,
  ].filter((notice) => notice !== "");
  const shown = output.totalBytes === 0 ? "[No output.]" : text.replace(/\n$/, "");
  const content = [shown, ...notices].join("\n");
  return isSuccess ? content : failure(content);
}

function leftOutNotice(output: Extract<CommandEnd, { readonly type: "ended" }>["output"]): string {
  const length = `[… left out, of ${formatSize(output.totalBytes)} in all.`;
  if (output.file === undefined) return `${length}]`;
  const what = output.isKeptWhole ? "All of it is" : "The beginning of it is";
  return `${length} ${what} kept for the user in ${output.file}]`;
}

function failure(text: string): ToolContent {
  return { content: [{ type: "text", text }], isError: true };
}

/**
 * Describes the shell, the programs of all commands on the line and of `#!` lines, the files that their words reach, and
 * the confinement. If one of these changes, it is a different call. Files that programs load in turn are out of reach. Never
 * throws.
 */
export async function describeShellCall(
  args: JsonObject,
  place: ShellPlace,
  { isShared = false }: DescribeOptions = {},
): Promise<CallSource> {
  const {
    command = "",
    folder = ".",
    stdin = "",
  } = args as Partial<Record<keyof ShellRunArguments, string>>;
  const shell = findCommandShell();
  // If the workspace is a link, its path differs between machines.
  const realRoot = toRealPath(place.root);
  const root = isShared ? realRoot : place.root;
  const [confinement, undo, cwd] = await Promise.all([
    findConfinement(args, place),
    foreseeUndo(place),
    resolvePath(place.root, folder).then(
      ({ realPath }) => realPath,
      () => realRoot,
    ),
  ]);
  const { dataFolder } = place;
  // PATH is the same in all of them.
  const { variables } = environmentOf(place, { isSandboxed: true, hasNetwork: false });
  const files = new SourceFiles({ root, folder: cwd, variables, dataFolder, isShared });
  const searchPath = variables["PATH"];
  const { parts, inputs } = commandsOn(command);
  const names = programsOf(parts);
  const programs: Json[] = [];
  for (const name of names) {
    const found = resolveProgram(name, { cwd, searchPath });
    const described = found === undefined ? undefined : await files.describe(found);
    if (described !== undefined) programs.push(described);
  }
  const words = [...new Set(parts.flatMap((part) => part.words))].slice(0, MAX_DESCRIBED_WORDS);
  const file = await files.describeAll(words);
  const program = [(await files.describe(shell)) ?? { missing: shell }, ...programs];
  // A shell on the line would run its input.
  const input = commandsOn(stdin);
  const reaching = [...parts, ...input.parts].flatMap((part) => part.words);
  const reached = await files.withReached(
    { program, file },
    {
      words: [...inputs, ...input.inputs, ...reaching].slice(0, MAX_DESCRIBED_WORDS),
      programs: programsOf(input.parts),
    },
  );
  return {
    ...confinement.shown,
    undo,
    ...(confinement.confined !== undefined && { confined: confinement.confined }),
    ...reached,
    folder: path.relative(realRoot, cwd) || ".",
    ...(isShared && { isPortable: true }),
  };
}

function programsOf(parts: readonly CommandPart[]): readonly string[] {
  const names = new Set(parts.flatMap(({ words: [program] }) => program ?? []));
  return [...names].slice(0, MAX_DESCRIBED_WORDS);
}

async function foreseeUndo({ changes }: ShellPlace): Promise<UndoForecast> {
  if (changes === undefined) return "off";
  const reason = await changes.checkFolder().catch(() => "git_failed" as const);
  return reason === "index_damaged" ? "git_failed" : (reason ?? "git");
}

interface FoundConfinement {
  readonly shown: Pick<CallSource, "confinement" | "network" | "git" | "workspace">;
  readonly confined?: JsonObject;
}

async function findConfinement(args: JsonObject, place: ShellPlace): Promise<FoundConfinement> {
  const problem = await findProblemIn(sandboxPlace(place)).catch(toProblem);
  if (problem !== undefined) {
    return { shown: { confinement: "none" }, confined: { unconfined: problem.reason } };
  }
  const [network, git] = [args["network"] === true, args["git"] === true];
  const { readable } = place.settings;
  return {
    shown: {
      confinement: "sandbox",
      ...(network && { network }),
      ...(git && { git }),
      ...(place.isReadOnly?.() === true && { workspace: "read_only" }),
    },
    ...(readable.length > 0 && { confined: { readable: [...readable] } }),
  };
}

/** The workspace cannot be read. */
function toProblem(error: unknown): SandboxProblem {
  return { reason: "failed", detail: messageOf(error) };
}
