/** Runs a command line and turns the result into an exit status. The only place that ends the process. */
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { CommanderError } from "commander";
import { neutralize, wrapProse } from "../render/index.ts";
import { controllingTerminal } from "../terminal/index.ts";
import { isJpError } from "../util/index.ts";
import { ExitStatus } from "./exit-status.ts";
import { hasPipedInput, type Host, isTerminal, writeOut } from "./host.ts";
import { createProgram } from "./program.ts";

/** Runs the command line of this process and sets its exit status. */
export async function runInProcess(version: string): Promise<void> {
  const host = processHost(version);
  // Errors outside the awaited call, in a timer for example, are reported like all others.
  process.on("uncaughtException", (error) => process.exit(reportError(error, host)));
  const status = await run(process.argv.slice(2), host);
  if (status !== 0) process.exitCode = status;
}

/** Returns the exit status; see `EXIT_STATUSES`. Never throws. */
export async function run(args: readonly string[], host: Host): Promise<number> {
  try {
    const program = await createProgram(host, args);
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    return reportError(error, host);
  }
}

function processHost(version: string): Host {
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
    hasPipedInput,
    writeOut,
    isTerminal,
    environment: { variables: process.env, home: homedir(), platform: process.platform },
    cwd: process.cwd(),
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

/** Prints the error, unless the command or commander already did, and returns the exit status. */
function reportError(error: unknown, host: Host): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof ExitStatus) {
    if (error.cause !== undefined) reportError(error.cause, host);
    return error.status;
  }
  const print = (text: string) => {
    const { stderr } = host;
    const columns = stderr.isTTY ? stderr.columns : Number.POSITIVE_INFINITY;
    stderr.write(`${wrapProse(neutralize(text), columns).join("\n")}\n`);
  };
  const wantsStack = host.environment.variables["JP_DEBUG"] === "1";
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  if (!isJpError(error)) {
    print(`Unexpected error: ${String(error)}`);
    print(wantsStack ? stack : "Set JP_DEBUG=1 for a stack trace.");
    return 1;
  }
  const { code, message, hint } = error;
  print(hint === undefined ? `jp: ${message}` : `jp: ${message}\n${hint}`);
  if (wantsStack) print(stack);
  return code === "usage" ? 2 : 1;
}
