/** What a person has granted, in words: which calls, and for how long. */
import { type GrantScope, type Grant, timestampToMilliseconds } from "../conversation/index.ts";
import { assertNever } from "../util/index.ts";
import { verbatim } from "./verbatim.ts";

/** For after "for": `files in src/agent/`. One line, verbatim. `isListed`: what was asked is not on the screen. */
export function describeScope({ code, parts }: GrantScope, isListed = false): string {
  const shown = parts.map((part) => verbatim(part)).join(", ");
  switch (code) {
    case "exact_call":
      return isListed ? `exactly ${shown}` : "this exact call";
    case "files":
      return parts.length === 1 ? `the path ${shown}` : `the paths ${shown}`;
    case "folder":
      return `files in ${shown.replace(/\/?$/, "/")}`;
    case "command":
      return `the command ${shown}, in any folder`;
    case "command_prefix":
      return `commands that begin with ${shown}, in any folder`;
    case "host":
      return `pages of ${shown}`;
    case "rule":
      return `calls that match ${shown}`;
    default:
      return assertNever(code);
  }
}

/** `yes, and for files in src/agent/ until 17 Dec`. */
export function describeGrant(scope: GrantScope, until: Grant["until"], now: Date): string {
  const what = describeScope(scope);
  if (until === "always") return `yes, and always for ${what}`;
  return `yes, and for ${what} ${describeUntil(until, now)}`;
}

/** `this turn`, `today`, `until 17 Dec`, `always`. */
export function describeUntil(until: Grant["until"], now: Date): string {
  if (until === "turn") return "this turn";
  if (until === "always") return until;
  // What counts to the end of a day ends with the next one.
  const last = new Date(timestampToMilliseconds(until) - 1);
  const year = last.getFullYear();
  const isThisYear = year === now.getFullYear();
  const [month, day] = [last.getMonth(), last.getDate()];
  if (isThisYear && month === now.getMonth() && day === now.getDate()) return "today";
  return `until ${day} ${MONTHS[month] ?? ""}${isThisYear ? "" : ` ${year}`}`;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
