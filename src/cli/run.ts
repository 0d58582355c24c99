/** From the words on the command line to an exit status. The only place that ends the process. */
import { homedir, tmpdir } from "node:os";
import { CommanderError } from "commander";
import { neutralize, wrapProse } from "../render/index.ts";
import { type CodedError, isCodedError } from "../util/index.ts";
import { ExitStatus } from "./exit-status.ts";
import { type Host, isScreen, writeOut } from "./host.ts";
import { createProgram } from "./program.ts";

/** Runs the command that this process was started for, and sets its exit status. */
export async function runInProcess(version: string): Promise<void> {
  const host = processHost(version);
  // What nobody waits for, a timer's error for example, is told in the same way as all others.
  process.on("uncaughtException", (error) => process.exit(report(error, host)));
  const status = await run(process.argv.slice(2), host);
  if (status !== 0) process.exitCode = status;
}

/** Returns the exit status; `EXIT_STATUSES` says what each means. Never throws. */
export async function run(words: readonly string[], host: Host): Promise<number> {
  try {
    const program = await createProgram(host, words);
    await program.parseAsync(words, { from: "user" });
    return 0;
  } catch (error) {
    return report(error, host);
  }
}

function processHost(version: string): Host {
  return {
    version,
    // Opened when first used: what is not used costs nothing.
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    writeOut,
    isScreen,
    environment: { variables: process.env, home: homedir(), platform: process.platform },
    cwd: process.cwd(),
    pid: process.pid,
    temporary: tmpdir(),
    mayUseTerminal: true,
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

/** Says what went wrong, unless it has been said, and returns the exit status. */
function report(error: unknown, host: Host): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof ExitStatus) {
    if (error.cause !== undefined) report(error.cause, host);
    return error.status;
  }
  const say = (text: string) => {
    const { stderr } = host;
    const columns = stderr.isTTY ? stderr.columns : Number.POSITIVE_INFINITY;
    stderr.write(`${wrapProse(neutralize(text), columns).join("\n")}\n`);
  };
  const isOurs = isCodedError(error);
  say(isOurs ? messageOf(error) : `Something unexpected happened: ${String(error)}`);
  if (host.environment.variables["JP_DEBUG"] === "1") {
    say(error instanceof Error ? (error.stack ?? "") : "");
  } else if (!isOurs) say("Set JP_DEBUG=1 to see where.");
  return isOurs && error.code === "usage" ? 2 : 1;
}

function messageOf({ message, hint }: CodedError): string {
  return hint === undefined ? `jp: ${message}` : `jp: ${message}\n${hint}`;
}
