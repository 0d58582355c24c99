/** Asks before something is lost. Only a typed yes counts. */
import { ExitStatus, INTERRUPTED, usageError } from "./exit-status.ts";
import type { Host } from "./host.ts";

/** Throws `usage` without a terminal: nothing is deleted then. */
export function confirmDeletion(question: string, host: Host): Promise<boolean> {
  return confirm(question, host, "Use --yes to delete without confirmation.");
}

/** `hint`: what to do without a terminal. Throws `usage` then. */
export async function confirm(question: string, host: Host, hint: string): Promise<boolean> {
  assertTerminal(host, hint);
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: host.stdin, output: host.stderr });
  const interrupt = new AbortController();
  terminal.once("SIGINT", () => interrupt.abort());
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal: interrupt.signal });
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "AbortError") throw error;
    host.stderr.write("\n");
    if (interrupt.signal.aborted) throw new ExitStatus(INTERRUPTED);
    return false; // Ctrl-D.
  } finally {
    terminal.close();
  }
}

/** Throws `usage` without a terminal. */
export function assertTerminal(host: Host, hint: string): void {
  if (host.stdin.isTTY === true) return;
  throw usageError("Cannot ask for confirmation: no terminal is available.", hint);
}
