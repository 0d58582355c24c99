/** Runs a command line in a shell, with or without the sandbox, until it and everything it started has ended. */
import { LineReader } from "../../util/index.ts";
import {
  findSystemProgram,
  type ProcessExit,
  type ProcessLimits,
  runProcess,
} from "../process/index.ts";
import { CommandOutput, type OutputLimits } from "./command-output.ts";
import { type CommandLimits, withLimits } from "./limits.ts";
import type { SandboxPlace, SandboxProblem } from "./sandbox-place.ts";
import { confine, type ConfinedProgram, type SandboxOptions } from "./sandbox.ts";

export interface CommandRequest {
  readonly line: string;
  readonly cwd: string;
  /** The whole environment. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly input: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called for each line of its output, while it runs. */
  readonly onLine: (line: string) => void;
  readonly output: OutputLimits;
  /** If absent, it has none but those of the user. */
  readonly limits?: CommandLimits;
  /** If absent, it runs without a sandbox. */
  readonly sandbox?: { readonly place: SandboxPlace } & SandboxOptions;
}

export type CommandEnd =
  | { readonly type: "cancelled" }
  | { readonly type: "not_started"; readonly error: unknown }
  /** The sandbox is unavailable, so nothing was run. */
  | { readonly type: "no_sandbox"; readonly problem: SandboxProblem }
  /** The sandbox could not be set up, so nothing was run. */
  | { readonly type: "sandbox_failed"; readonly message: string }
  | {
      readonly type: "ended";
      readonly exit: ProcessExit | { readonly timedOut: true };
      readonly output: CommandOutput;
      /** Names of removed files that it had created under a protected name. */
      readonly removed: readonly string[];
      /** Folders in which Git runs what a config names that it could write. */
      readonly repositories: readonly string[];
    };

const LIMITS: ProcessLimits = {
  stdoutBytes: 0,
  stderrBytes: 0,
  killGraceMs: 2000,
  pipeGraceMs: 250,
};
const MAX_LINE_BYTES = 2000;
/** Sockets, and the stand-ins of other processes, can go away while a sandbox is set up. */
const MAX_SET_UPS = 3;

/**
 * Bash, which people and models write for, or else the system's shell. Never one in the workspace, even if PATH leads
 * there.
 */
export function findCommandShell(): string {
  return findSystemProgram("bash") ?? findSystemProgram("sh") ?? "/bin/sh";
}

/** Throws if the workspace cannot be written. */
export async function runCommand(request: CommandRequest): Promise<CommandEnd> {
  const { line, cwd, variables, limits, sandbox } = request;
  const words = [findCommandShell(), "-c", line] as const;
  const [shell, ...args] = limits === undefined ? words : withLimits(words, limits);
  const program = { program: shell, args, cwd, variables };
  if (sandbox === undefined) return runToEnd(request, { program, release: () => [] });
  for (let tries = 1; ; tries += 1) {
    const confined = await confine(program, sandbox.place, sandbox);
    if ("reason" in confined) return { type: "no_sandbox", problem: confined };
    const end = await runToEnd(request, confined);
    if (end.type !== "sandbox_failed" || tries === MAX_SET_UPS) return end;
  }
}

async function runToEnd(
  request: CommandRequest,
  { program, release, hasStarted = () => true, findNewRepositories }: ConfinedProgram,
): Promise<CommandEnd> {
  const { input, timeoutMs, signal, onLine } = request;
  using output = new CommandOutput(request.output);
  const lines = new LineReader({
    maxBytes: MAX_LINE_BYTES,
    onLine,
    splitAtReturn: true,
    isForPerson: true,
  });
  const onOutput = (chunk: Buffer) => {
    output.add(chunk);
    lines.add(chunk);
  };
  const process = { ...program, input, timeoutMs, signal, limits: LIMITS, onOutput };
  let removed: readonly string[] = [];
  const end = await runProcess({ ...process, endsGroup: true }).finally(
    () => (removed = release()),
  );
  if (end.type === "cancelled" || end.type === "not_started") return end;
  if (end.type === "exited" && "status" in end.exit && !hasStarted()) {
    return { type: "sandbox_failed", message: output.toText("…").trim() };
  }
  if (lines.unfinished !== "") lines.end();
  const exit = end.type === "exited" ? end.exit : ({ timedOut: true } as const);
  const repositories = (await findNewRepositories?.()) ?? [];
  return { type: "ended", exit, output, removed, repositories };
}
