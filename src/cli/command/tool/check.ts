/** `jp tool check`: what config, rules and the mode would decide about a call. Runs nothing. */
import type { Rule } from "../../../settings/config/index.ts";
import { whomOfTarget } from "../../../core/agent/index.ts";
import { describeWhom } from "../../../record/conversation/index.ts";
import { checkArguments } from "../../../reach/executor/index.ts";
import {
  assertRules,
  type CallOfTool,
  explainUncounted,
  findUntyped,
  matchRules,
  type Obstacle,
  type RuleProblem,
  type UncountedRule,
  type Verdict,
} from "../../../core/policy/index.ts";
import {
  findTool,
  machineOf,
  openTools,
  type Tools,
  warnWithheld,
} from "../../../assemble/index.ts";
import { assertTrusted } from "../../../settings/trust/index.ts";
import { jsonLine, oneLine } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { trustedConfig } from "../../trust.ts";
import { assertArguments, readArguments } from "./run.ts";
import type { CHECK_TOOL } from "./options.ts";

export async function checkTool({
  args,
  options,
  context,
}: Call<typeof CHECK_TOOL>): Promise<void> {
  const [name = ""] = args;
  const trusted = await trustedConfig(context, options);
  assertTrusted(name, trusted);
  warnWithheld(trusted, context);
  const machine = machineOf(context);
  await using tools = openTools(machine, trusted.config);
  const opened = await tools.open(name, AbortSignal.timeout(TIMEOUT_MS));
  const tool = { ...opened, settings: findTool(tools.settings, name) };
  await assertRules(tool, machine.root);
  const given = readArguments(options);
  await assertArguments(tool, given);
  const checked = await checkArguments(tool.description, given);
  const call = { tool, arguments: checked.ok ? checked.arguments : given };
  const verdict = await tools.policy.verdictOf(call);
  const rules = [...(await savedFor(call, tools)), ...tool.settings.policy.run];
  const uncounted = await explainUncounted(rules, call, machine.root);
  const untyped = await findUntyped(rules, tool);
  if (options.format === "json") {
    const notes = {
      not_counted: uncounted.map(uncountedToJson),
      untyped: untyped.map(({ rule }) => placeOf(rule)),
    };
    context.output.print(jsonLine({ tool: name, arguments: call.arguments, ...verdict, ...notes }));
    return;
  }
  const { effect } = tool;
  const isAskedLater = verdict.mode === "unattended" && verdict.answers === undefined;
  const matched = await matchRules(rules, call, machine.root);
  show(verdict, { rules, matched, uncounted, untyped }, context);
  if (isAskedLater && (effect === "edits" || effect === "destroys"))
    context.output.print("The tool itself asks before it changes a file.");
}

/** The saved rules that apply now. */
async function savedFor(call: CallOfTool, { saved }: Tools): Promise<readonly Rule[]> {
  const { hasSaved, saved: find } = saved?.options ?? {};
  return hasSaved?.() === true ? ((await find?.(call)) ?? []) : [];
}

/** For servers that do not start. */
const TIMEOUT_MS = 60_000;

const DECIDED = {
  ask: "jp asks you before this call runs.",
  unattended: "This call runs without asking.",
  edit: "jp lets you edit the arguments before this call runs.",
  skip: "This call is skipped.",
} as const;

function describeVerdict({ mode, target }: Verdict): string {
  const isAsked = mode === "ask" || mode === "edit";
  if (target === undefined || !isAsked) return DECIDED[mode];
  const whom = describeWhom(whomOfTarget(target));
  return `jp asks ${oneLine(whom)} before this call runs.`;
}

function placeOf({ place: { from, key } }: Rule) {
  return { from, key };
}

function uncountedToJson({ rule, obstacles }: UncountedRule) {
  return { ...placeOf(rule), because: [...new Set(obstacles.map(({ code }) => code))] };
}

/** The rules about a tool, and notes on some of them. */
interface CheckedRules {
  readonly rules: readonly Rule[];
  /** In the same order. */
  readonly matched: readonly boolean[];
  readonly uncounted: readonly UncountedRule[];
  readonly untyped: readonly RuleProblem[];
}

function show(
  verdict: Verdict,
  { rules, matched, uncounted, untyped }: CheckedRules,
  { output }: CommandContext,
): void {
  const { paint } = output;
  output.print(describeVerdict(verdict));
  output.print(`Decided by: ${decider(verdict)}`);
  if (verdict.answers !== undefined)
    output.print(`It also answers yes to: ${verdict.answers.map(oneLine).join(", ")}`);
  if (rules.length === 0) return;
  const hasSaved = rules.some(({ place }) => place.from === "saved");
  const whose = hasSaved
    ? "Rules that you saved, and those of your config"
    : "Rules of your config";
  output.print(`${whose}, in order:`);
  for (const [index, rule] of rules.entries()) {
    const { place, ...written } = rule;
    const isDeciding =
      verdict.rules?.some(({ from, key }) => from === place.from && key === place.key) === true;
    const mark = isDeciding ? "decides" : matched[index] === true ? "matches" : "-";
    output.print(`  ${mark.padEnd(7)}  ${jsonLine(written)}`);
    output.print(paint("dim", `${INDENT}${oneLine(place.layer)}: ${oneLine(place.key)}`));
    const { obstacles = [] } = uncounted.find((each) => each.rule === rule) ?? {};
    const reasons = [...new Set(obstacles.map(describeObstacle))];
    if (reasons.length > 0)
      output.print(`${INDENT}${paint("yellow", "Does not count:")} ${reasons.join(", ")}`);
    for (const { message } of untyped.filter((each) => each.rule === rule))
      output.print(`${INDENT}${oneLine(message)}`);
  }
}

const INDENT = " ".repeat("  decides  ".length);

function describeObstacle({ code, command = "" }: Obstacle): string {
  if (code === "other_command") return `no rule lets ${oneLine(command)} run`;
  if (code === "shell_state") return `${oneLine(command)} changes what other commands do`;
  return OBSTACLES[code];
}

const OBSTACLES = {
  assignment: "an assignment",
  background: "a command in the background",
  backslash: "a backslash",
  control_character: "a control or invisible character",
  control_flow: "control flow, such as if or for",
  dot_segment: "a . or .. between slashes",
  empty: "no command",
  empty_segment: "two slashes in a row",
  expansion: "a variable or another expansion",
  function: "a function",
  glob: "a pattern for file names",
  here_document: "a here-document",
  line_continuation: "a word across two lines",
  option: "an option that you have not seen",
  redirection: "a redirection",
  substitution: "a substitution",
  too_long: "a line that is too long",
  unknown_syntax: "syntax that shells may read differently",
} as const satisfies Record<Exclude<Obstacle["code"], "other_command" | "shell_state">, string>;

function decider({ key, rules = [] }: Verdict): string {
  if (rules.length === 0) return oneLine(key);
  return rules.map((rule) => `${oneLine(rule.key)} (${rule.from})`).join(", ");
}
