/** Runs a command line and turns the result into an exit status. The only place that ends the process. */
import { fstatSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import type { CommanderError } from "commander";
import {
  controllingTerminal,
  DescriptorOutput,
  type OutputStream,
} from "../surfaces/terminal/index.ts";
import { isTracing } from "../assemble/telemetry/index.ts";
import { JpError, loadModule, shellWord } from "../util/index.ts";
import type { SessionFlags } from "./command/session/open-session.ts";
import {
  canOpenSession,
  hasPipedInput,
  type Host,
  isInteractive,
  isTerminal,
  writeOut,
} from "./host.ts";
import { isCommanderError, reportError } from "./exit-status.ts";

/** Runs the command line of this process and sets its exit status. */
export async function runInProcess(version: string): Promise<void> {
  const host = processHost(version);
  // Errors outside the awaited call, in a timer for example, are reported like all others.
  process.on("uncaughtException", (error) => process.exit(reportError(error, host)));
  const status = await run(process.argv.slice(2), host);
  if (status !== 0) process.exitCode = status;
  await new Promise((resolve) => setImmediate(resolve)); // Streams may still report a write error.
  // With nothing left to do, Node would still free its memory, which takes longer than exiting.
  // But an OpenTelemetry SDK may still have spans to send, which it does when nothing else is left.
  if (process.getActiveResourcesInfo().length === 0 && !isTracing()) process.exit();
}

/** Returns the exit status; see `EXIT_STATUSES`. Never throws. */
export async function run(args: readonly string[], host: Host): Promise<number> {
  try {
    // Loading the commands would delay the first prompt.
    if (args.length === 0 && canOpenSession(host)) await openSession(host, {});
    else await runCommandLine(args, host);
    return 0;
  } catch (error) {
    return reportError(error, host);
  }
}

async function runCommandLine(args: readonly string[], host: Host): Promise<void> {
  const { createProgram, HelpForUnknown } = await loadModule(() => import("./program.ts"));
  const program = await createProgram(host, (word) => args.includes(word));
  const { operands, unknown } = program.parseOptions([...args]);
  const isBare = operands.length === 0 && unknown.length === 0;
  if (isBare && canOpenSession(host)) return openSession(host, program.opts<SessionFlags>());
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (error instanceof HelpForUnknown) return runCommandLine(error.without(args), host);
    const names = program.commands.flatMap((one) => [one.name(), ...one.aliases()]);
    const isUnknown = isCommanderError(error) && error.code === "commander.unknownCommand";
    if (isUnknown && !names.includes(operands[0] ?? "")) await suggestQuery(args, error, host);
    throw error;
  }
}

async function openSession(host: Host, options: SessionFlags): Promise<void> {
  const { session } = await loadModule(() => import("./command/session/session.ts"));
  await session(host, options);
}

/** For words that were meant for the assistant, unless they look like a mistyped command. */
async function suggestQuery(
  args: readonly string[],
  { message }: CommanderError,
  { stderr }: Host,
): Promise<void> {
  if (!/\s/.test(args.join(" ")) && message.includes("Did you mean")) return;
  stderr.write(`To ask the assistant: jp query ${shellWord(args.join(" "))}\n`);
}

/** A character device is a terminal or `/dev/null`. */
function openOutput(descriptor: number, open: () => NodeJS.WriteStream): OutputStream {
  const isFile = !fstatSync(descriptor).isCharacterDevice();
  return isFile ? new DescriptorOutput(descriptor, open) : open();
}

function processHost(version: string): Host {
  let results: OutputStream | undefined;
  let notices: OutputStream | undefined;
  return {
    version,
    // Getters, because opening a stream is slow and many commands do not use all three.
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    get results() {
      return (results ??= openOutput(1, () => process.stdout));
    },
    get notices() {
      return (notices ??= openOutput(2, () => process.stderr));
    },
    hasPipedInput,
    writeOut,
    isTerminal,
    isInteractive,
    environment: { variables: process.env, home: homedir(), platform: process.platform },
    // A getter, so that an error is reported like all others.
    get cwd() {
      return currentFolder();
    },
    pid: process.pid,
    tmpdir: tmpdir(),
    self: [process.execPath, ...process.execArgv, process.argv[1] ?? ""],
    dist: path.dirname(import.meta.dirname), // This file is in a bundle in `dist/bin`.
    terminal: controllingTerminal,
    onSignal: (signals, listener) => {
      for (const signal of signals) process.on(signal, listener);
      return {
        [Symbol.dispose]: () => {
          for (const signal of signals) process.off(signal, listener);
        },
      };
    },
    exit: (status) => process.exit(status),
  };
}

/** Throws `no_folder`. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new JpError("no_folder", "The current folder no longer exists.", {
      cause,
      hint: "Change to another one and try again.",
    });
  }
}
