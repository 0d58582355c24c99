/** Options and help of `jp worker`. */
import type { Command } from "commander";
import { define } from "../../define.ts";
import * as options from "./options.ts";

export function defineWorker(definition: Command): void {
  define(definition, {
    options: options.WORKER,
    help: `
Runs turns of this workspace that are in a database: those that
\`jp query --enqueue\` has left, those whose last question was answered, those
that no one has answered in time, and those whose process is gone. Each runs
until it ends or waits for someone. Any number of workers can run, on any
machines that have the workspace and a key that the others accept: see
\`jp store key\`.

A worker runs what this machine trusts, with the tools and the config that the
workspace has here. It asks nobody: what needs a person waits.

Ctrl-C or SIGTERM stops it: it takes no other turn, and leaves those that are
still running after the grace period to other workers. A turn that fails is
tried again after a second, and then after ever longer pauses.

/healthz answers with status 200 as long as the worker can reach the database,
and /metrics in the format of Prometheus. --format json prints one object per
line.`,
    run: async () => (await import("./worker.ts")).work,
  });
}
