/** The options of `jp store`. */
import { InvalidArgumentError } from "commander";
import { FORMAT_OPTIONS, type Options, parseCount } from "../../options.ts";

export const MIGRATE = {
  "--drop-queue": "Remove the queue that workers of earlier versions use",
} as const satisfies Options;

export const CLAIM = {
  "--other": "Not a clone of the one that has its .jp/.id in the database: start a workspace",
} as const satisfies Options;

export const ROLES = {
  "--tenant <name>": "Only the login of this tenant; * is all tenants",
  "--role <name>": "Its name (default: jp_ and the tenant)",
  "--kind <kind>": {
    description: "What it is for",
    choices: ["reader", "writer", "desk", "worker"],
    default: "writer",
  },
} as const satisfies Options;

/** PostgreSQL's largest integer. */
const MAX_INTEGER = 2 ** 31 - 1;

export const LIMIT = {
  "--turns <count>": {
    description: "Turns that run at once in workers, or none",
    parse: (text: string) => parseLimit(text, MAX_INTEGER),
  },
  "--bytes <count>": {
    description: "Bytes of stored events, or none",
    parse: (text: string) => parseLimit(text, Number.MAX_SAFE_INTEGER),
  },
  "--requests <count>": {
    description: "New turns in a minute, or none",
    parse: (text: string) => parseLimit(text, MAX_INTEGER),
  },
  ...FORMAT_OPTIONS,
} as const satisfies Options;

/** `none` means no limit. */
function parseLimit(text: string, max: number): number | "none" {
  if (text === "none") return text;
  const count = parseCount(text);
  if (count <= max) return count;
  throw new InvalidArgumentError(`Expected a whole number up to ${max}.`);
}
