/** Options and help of `jp worker`. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { command, formatOption, parseCount, parsePort } from "../../define.ts";

export function defineWorker(definition: Command): void {
  definition
    .addOption(
      new Option("--concurrency <number>", "The most turns at once")
        .argParser(parseSlots)
        .default(4),
    )
    .addOption(
      new Option("--queue <name>", "Run only turns that were left to workers of this name").default(
        "default",
      ),
    )
    .addOption(
      new Option("--grace <seconds>", "How long turns may still run after the first Ctrl-C")
        .argParser(parseCount)
        .default(20),
    )
    .addOption(
      new Option("--health <port>", "Serve /healthz and /metrics on this port").argParser(
        parsePort,
      ),
    )
    .option("--health-host <address>", "Address for --health", "127.0.0.1")
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
Runs turns of this workspace that are in a database: those that
\`jp query --enqueue\` has left, those whose last question was answered, those that
nobody has answered in time, and those whose process is gone. Each runs until it
ends or waits for someone. Any number of workers can run, on any machines that
have the workspace, the package pg-boss and a key that the others accept: see
\`jp store key\`.

A worker runs what this machine trusts, with the tools and the config that the
workspace has here. It asks nobody: what needs a person waits.

Ctrl-C or SIGTERM stops it: it takes no other turn, and leaves those that are
still running after the grace period to other workers. A turn that fails is tried
again after a second, and then after ever longer pauses.

/healthz answers with status 200 as long as the worker can reach the database,
and /metrics in the format of Prometheus. --format json prints one object per
line.`,
    )
    .action(command(async () => (await import("./worker.ts")).work));
}

const MAX_SLOTS = 64;

function parseSlots(text: string): number {
  const count = parseCount(text);
  if (count >= 1 && count <= MAX_SLOTS) return count;
  throw new InvalidArgumentError(`Expected a number from 1 to ${MAX_SLOTS}.`);
}
