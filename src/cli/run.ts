/** From the words on the command line to an exit status. The only place that ends the process. */
import { CommanderError } from "commander";
import { neutralize, wrapProse } from "../render/index.ts";
import { type CodedError, isCodedError } from "../util/index.ts";
import { ExitStatus } from "./exit-status.ts";
import { createProgram } from "./program.ts";

/** What each status means: `EXIT_STATUSES`. */
export async function run(argv: readonly string[], version: string): Promise<void> {
  // What nobody waits for, a timer's error for example, is told in the same way as all others.
  process.on("uncaughtException", (error) => process.exit(report(error)));
  try {
    const program = await createProgram(version, argv.slice(2));
    await program.parseAsync(argv);
  } catch (error) {
    process.exitCode = report(error);
  }
}

/** Says what went wrong, unless it has been said, and returns the exit status. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof ExitStatus) {
    if (error.cause !== undefined) report(error.cause);
    return error.status;
  }
  const isOurs = isCodedError(error);
  say(isOurs ? messageOf(error) : `Something unexpected happened: ${String(error)}`);
  if (process.env["JP_DEBUG"] === "1") say(error instanceof Error ? (error.stack ?? "") : "");
  else if (!isOurs) say("Set JP_DEBUG=1 to see where.");
  return isOurs && error.code === "usage" ? 2 : 1;
}

function messageOf({ message, hint }: CodedError): string {
  return hint === undefined ? `jp: ${message}` : `jp: ${message}\n${hint}`;
}

function say(text: string): void {
  const columns = process.stderr.isTTY ? process.stderr.columns : Number.POSITIVE_INFINITY;
  process.stderr.write(`${wrapProse(neutralize(text), columns).join("\n")}\n`);
}
