/** Evaluates rules: the first one that matches a call decides about it. */
import type { Rule, RunMode, ToolSettings } from "../../settings/config/index.ts";
import type { ArgumentKinds } from "../../reach/executor/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { type ArgumentValue, findValues, type FoundValues } from "./argument-values.ts";
import type { CommandUnit, ReadCommand } from "./command-units.ts";
import type { TextTest } from "./glob.ts";
import { type CompiledMatcher, compileMatcher } from "./matcher.ts";

/** A call, as rules see it. */
export interface CallToRule {
  readonly tool: Pick<ToolSettings, "name" | "source">;
  /** With defaults filled in. */
  readonly arguments: JsonObject;
  readonly kinds: ArgumentKinds;
  /** The workspace folder. */
  readonly root: string;
}

/** The verdict of rules on a call. */
export interface RuleVerdict {
  readonly mode: RunMode;
  /** The deciding rules: several if a command has several parts. */
  readonly rules: readonly Rule[];
  /** The rules of every part that a person is asked about, even if another part is stricter. */
  readonly asking: readonly Rule[];
}

export interface CompiledRule {
  readonly rule: Rule;
  readonly matcher: CompiledMatcher | undefined;
}

/** A rule with an unusable pattern allows nothing, and stops everything it could apply to. */
export function compileRules(
  rules: readonly Rule[],
  { root, kinds }: Pick<CallToRule, "root" | "kinds">,
): Promise<readonly CompiledRule[]> {
  return Promise.all(
    rules.map(async (rule) => {
      const { arg } = rule;
      if (arg === undefined) return { rule, matcher: undefined };
      const argument = { root, isPath: kinds[arg] === "path" };
      return { rule, matcher: await compileMatcher(rule, argument).catch(() => UNUSABLE) };
    }),
  );
}

const UNUSABLE: CompiledMatcher = {
  allows: () => false,
  catches: () => true,
  hazardsOf: () => [],
};

/** Undefined if no rule matches. `readCommand` is needed for a tool that runs command lines. */
export async function evaluateRules(
  rules: readonly CompiledRule[],
  call: CallToRule,
  readCommand?: ReadCommand,
): Promise<RuleVerdict | undefined> {
  const verdicts = (await decideUnits(rules, call, readCommand)).map(({ rule, unit }) => ({
    rule,
    isPart: unit?.isPart ?? true,
  }));
  const decided = verdicts.flatMap(({ rule }) => (rule === undefined ? [] : [rule]));
  const mode = STRICTEST_FIRST.find((each) => decided.some((rule) => rule.mode === each));
  if (mode === undefined) return undefined;
  // A command runs without asking only if each of its parts may.
  const isOpen = verdicts.some(({ rule, isPart }) => rule === undefined && isPart);
  if (mode === "unattended" && isOpen) return undefined;
  const all = [...new Set(decided)];
  return {
    mode,
    rules: all.filter((rule) => rule.mode === mode),
    asking: all.filter((rule) => rule.mode === "ask" || rule.mode === "edit"),
  };
}

/** The rule that decides about each command of a line, or about a call that has none. */
export async function decideUnits(
  rules: readonly CompiledRule[],
  call: CallToRule,
  readCommand?: ReadCommand,
) {
  const applying = rules.filter(({ rule }) => isForTool(rule, call.tool));
  const values = new Map<string, FoundValues>();
  for (const { rule } of applying) {
    if (rule.arg !== undefined && !values.has(rule.arg))
      values.set(rule.arg, await findValues(rule.arg, call));
  }
  const units = readCommand === undefined ? [undefined] : readCommand(commandOf(call));
  return units.map((unit) => ({
    unit,
    rule: applying.find((rule) => matches(rule, values, unit))?.rule,
  }));
}

const STRICTEST_FIRST: readonly RunMode[] = ["skip", "edit", "ask", "unattended"];

function commandOf({ kinds, arguments: args }: CallToRule): string {
  const pointer = Object.keys(kinds).find((each) => kinds[each] === "command") ?? "";
  const value = args[pointer.slice(1)];
  return typeof value === "string" ? value : "";
}

/** Any server can offer a tool with any name, so only a rule that names the server lets its calls run. */
export function isForTool(
  { tool, server, mode }: Rule,
  { name, source }: CallToRule["tool"],
): boolean {
  const isByOwnName = source.type === "mcp" && (mode !== "unattended" || server !== undefined);
  const names = isByOwnName ? [name, source.tool ?? name] : [name];
  const isTool = tool === undefined || names.some((each) => isNamed(tool, each));
  if (server === undefined) return isTool;
  return isTool && source.type === "mcp" && isNamed(server, source.server);
}

function isNamed(wanted: string, name: string): boolean {
  const [first = "", ...rest] = wanted.split("*");
  const last = rest.pop();
  if (last === undefined) return wanted === name;
  if (!name.startsWith(first) || !name.slice(first.length).endsWith(last)) return false;
  let middle = name.slice(first.length, name.length - last.length);
  for (const piece of rest) {
    const at = middle.indexOf(piece);
    if (at === -1) return false;
    middle = middle.slice(at + piece.length);
  }
  return true;
}

/** Whether a command line, or a part of one, meets the condition. */
export function textTest(matcher: CompiledMatcher, isAllowing: boolean): TextTest {
  return (text) => {
    const form = { kind: "json", exact: [text], possible: [text] } as const;
    return isAllowing ? matcher.allows(form) : matcher.catches(form);
  };
}

/** A rule that lets a call run must match every element of a list; other rules need only one. */
function matches(
  { rule, matcher }: CompiledRule,
  found: ReadonlyMap<string, FoundValues>,
  unit: CommandUnit | undefined,
): boolean {
  if (rule.arg === undefined || matcher === undefined) return true;
  const { values = [], isMissing = false } = found.get(rule.arg) ?? {};
  const isAllowing = rule.mode === "unattended";
  const test = (value: ArgumentValue) => {
    if (value.kind === "command" && unit !== undefined) {
      const meets = textTest(matcher, isAllowing);
      return isAllowing
        ? unit.obstaclesTo(rule, meets)?.length === 0
        : unit.isCaughtBy(rule, meets);
    }
    return isAllowing ? matcher.allows(value) : matcher.catches(value);
  };
  if (!isAllowing) return values.some(test);
  return values.length > 0 && !isMissing && values.every(test);
}
