/** A person's grant in words: its calls, their limits, and its lifetime. */
import {
  type GrantScope,
  type Grant,
  timestampToMilliseconds,
} from "../../record/conversation/index.ts";
import type { Capabilities, GrantLimits } from "../../record/tool/index.ts";
import { assertNever } from "../../util/index.ts";
import { verbatim } from "./verbatim.ts";

/** To follow "for": `files in src/agent/`. One line, verbatim. `isListed`: the call is not on the screen. */
export function describeScope(scope: GrantScope, isListed = false): string {
  return [describeCalls(scope, isListed), ...limitWords(scope)].join(", ");
}

function describeCalls({ code, parts }: GrantScope, isListed: boolean): string {
  const shown = listOf(parts);
  switch (code) {
    case "exact_call":
      return isListed ? `exactly ${shown}` : "this exact call";
    case "files":
      return parts.length === 1 ? `the path ${shown}` : `the paths ${shown}`;
    case "folder":
      return `files in ${shown.replace(/\/?$/, "/")}`;
    case "command":
      return `the command ${shown}`;
    case "command_prefix":
      return `commands that begin with ${shown}`;
    case "host":
      return `pages of ${shown}`;
    case "rule":
      return `calls that match ${shown}`;
    default:
      return assertNever(code);
  }
}

/** How a grant exceeds the minimum: running in the sandbox without a network. For a command, also where it may run. */
function limitWords({ code, limits }: GrantScope): readonly string[] {
  const isCommand = code === "command" || code === "command_prefix";
  if (limits === undefined) return isCommand ? ["in any folder"] : [];
  const isAnywhere = limits.folder === ".";
  return [
    ...(isCommand && isAnywhere ? ["in the workspace"] : []),
    ...folderWords(limits),
    ...(limits.confinement === "none" ? ["not sandboxed"] : []),
    ...(limits.network === true ? ["with a network"] : []),
    ...(limits.git === true ? ["with write access to .git"] : []),
    ...optionWords(limits),
  ];
}

function folderWords({ folder }: Capabilities): readonly string[] {
  return folder === "." ? [] : [`in ${verbatim(folder)}/ and below`];
}

function optionWords({ options }: GrantLimits): readonly string[] {
  if (options === undefined) return [];
  return [options.length === 0 ? "without options" : `with no options but ${listOf(options)}`];
}

/**
 * The capabilities that an answer for the whole turn covers, to follow the calls: `, in the sandbox without a network`.
 * Empty for most tools.
 */
export function describeCapabilities(shown: Capabilities): string {
  const { confinement, network = false, git = false, outside = [] } = shown;
  const words = [
    ...(confinement === "none" ? ["not sandboxed"] : []),
    ...(confinement === "sandbox"
      ? [`in the sandbox ${network ? "with" : "without"} a network`]
      : []),
    ...(git ? ["with write access to .git"] : []),
    ...folderWords(shown),
    ...(outside.length > 0 ? [`with no files outside the workspace but ${listOf(outside)}`] : []),
  ];
  return words.map((word) => `, ${word}`).join("");
}

function listOf(texts: readonly string[]): string {
  return texts.map((text) => verbatim(text)).join(", ");
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
  // A grant until the end of a day expires as the next one starts.
  const last = new Date(timestampToMilliseconds(until) - 1);
  const year = last.getFullYear();
  const isThisYear = year === now.getFullYear();
  const [month, day] = [last.getMonth(), last.getDate()];
  if (isThisYear && month === now.getMonth() && day === now.getDate()) return "today";
  return `until ${day} ${MONTHS[month] ?? ""}${isThisYear ? "" : ` ${year}`}`;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
