/** The options of `jp worker`. */
import { InvalidArgumentError } from "commander";
import { FORMAT_OPTIONS, type Options, parseCount, parsePort } from "../../options.ts";

export const WORKER = {
  "--concurrency <number>": {
    description: "The most turns at once",
    parse: parseSlots,
    default: 4,
  },
  "--queue <name>": {
    description: "Run only turns that were left to workers of this name",
    default: "default",
  },
  "--grace <seconds>": {
    description: "How long turns may still run after the first Ctrl-C",
    parse: parseCount,
    default: 20,
  },
  "--health <port>": {
    description: "Serve /healthz and /metrics on this port",
    parse: parsePort,
  },
  "--health-host <address>": { description: "Address for --health", default: "127.0.0.1" },
  ...FORMAT_OPTIONS,
} as const satisfies Options;

const MAX_SLOTS = 64;

function parseSlots(text: string): number {
  const count = parseCount(text);
  if (count >= 1 && count <= MAX_SLOTS) return count;
  throw new InvalidArgumentError(`Expected a number from 1 to ${MAX_SLOTS}.`);
}
