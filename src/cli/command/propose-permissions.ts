/** `jp permissions propose`: proposes rules for calls that a person has always decided the same way. */
import { type PartialConfig, resolveShell } from "../../settings/config/index.ts";
import { type PastDecision, type ProposedRule, proposeFrom } from "../../core/policy/index.ts";
import { truncate, verbatim, wrapCode, wrapProse } from "../../surfaces/render/index.ts";
import { machineOf, openTools, type Tools, warnWithheld } from "../../assemble/index.ts";
import type { Output } from "../../surfaces/terminal/index.ts";
import { type Confinement, opensOf } from "../../record/tool/index.ts";
import { jsonLine, type JsonObject } from "../../util/index.ts";
import { type CommandContext, warn } from "../context.ts";
import type { Call } from "../define.ts";
import { findQuietPrompter } from "../prompter.ts";
import { trustedConfig } from "../trust.ts";
import { type DecidedCall, outcomeOf, ReadDecisions, readDecisions } from "./past-decisions.ts";
import { describeCalls } from "./permissions.ts";
import type { PROPOSE } from "./tool/options.ts";

export async function proposePermissions({
  options,
  context,
}: Call<typeof PROPOSE>): Promise<void> {
  const { output } = context;
  const trusted = await trustedConfig(context, options);
  warnWithheld(trusted, context);
  const { config } = trusted;
  const machine = machineOf(context);
  await using tools = openTools(machine, config);
  const read = new ReadDecisions();
  const asksUnsandboxed = resolveShell(config).unsandboxed !== "unattended";
  const decided = readDecisions(options, { context, tools, read });
  const decisions = toPast(decided, { tools, asksUnsandboxed });
  const proposed = await proposeFrom(decisions, machine.root);
  warnAboutLeftOut(read, context);
  const isJson = options.format === "json";
  if (isJson) for (const each of proposed) output.print(jsonLine(toJson(each)));
  else show(proposed, read, context);
  if (proposed.length === 0) return;
  const chosen =
    options.save === true
      ? proposed
      : isJson
        ? undefined
        : await choose(proposed, { context, config });
  if (chosen === undefined) {
    if (!isJson) output.notice("To save them all: jp permissions propose --save");
    return;
  }
  const saved = await tools.saved?.load();
  const rules = chosen.map(({ rule, scope, example }) => ({
    rule,
    limits: scope.limits,
    call: example,
  }));
  const count = rules.length === 0 ? 0 : ((await saved?.adopt(rules)) ?? 0);
  output.notice(
    count === 0
      ? "Nothing was saved."
      : `Saved ${count === 1 ? "1 rule" : `${count} rules`}. To list them: jp permissions ls`,
  );
}

interface Asking {
  readonly tools: Tools;
  /** Unsandboxed calls always ask, whatever the rules say. */
  readonly asksUnsandboxed: boolean;
}

/** Leaves out approvals that rules decide today, or whose tool has changed since. Refusals always count. */
async function* toPast(
  decided: AsyncIterable<DecidedCall>,
  { tools, asksUnsandboxed }: Asking,
): AsyncGenerator<PastDecision> {
  for await (const each of decided) {
    const { call, isApproved, identity, isSameTool } = each;
    const { origin } = await call.tool.describeSource(call.arguments);
    const confined: Confinement = origin.type === "builtin" ? origin : {};
    if (isApproved) {
      const isAsked = asksUnsandboxed && confined.confinement === "none";
      const isDecided = outcomeOf(each, await tools.policy.verdictOf(call)) !== undefined;
      if (!isSameTool || isAsked || isDecided) continue;
    }
    yield { call, isApproved, identity, isOnlyExact: opensOf(confined).length > 0 };
  }
}

/** Warns about decisions missing from the numbers. */
export function warnAboutLeftOut({ missing, foreign }: ReadDecisions, { output }: CommandContext) {
  for (const [tool, reason] of missing) warn(`${tool} is left out: ${reason}`, output);
  const { decisions, conversations } = foreign;
  if (decisions === 0) return;
  const where = conversations === 1 ? "1 conversation" : `${conversations} conversations`;
  const why = "nothing in your data folder shows that you made";
  const text =
    decisions === 1
      ? `1 decision is left out: ${why} it here.`
      : `${decisions} decisions in ${where} are left out: ${why} them here.`;
  warn(text, output);
}

function show(
  proposed: readonly ProposedRule[],
  { own: { decisions: count, conversations: size } }: ReadDecisions,
  { output }: CommandContext,
): void {
  const decisions = count === 1 ? "1 decision" : `${count} decisions`;
  const from = `${decisions} of yours in ${size === 1 ? "1 conversation" : `${size} conversations`}`;
  if (proposed.length === 0) {
    const notice =
      count === 0
        ? "You have not decided about any calls here yet."
        : `Nothing to propose from ${from}.`;
    output.notice(notice);
    return;
  }
  for (const [tool, rules] of Map.groupBy(proposed, (each) => each.tool)) {
    output.print(output.paint("bold", verbatim(tool)));
    for (const each of rules) showRule(each, output);
  }
  const allowing = proposed.filter(({ rule }) => rule.mode === "unattended");
  const spared = allowing.reduce((sum, each) => sum + each.count, 0);
  const line = `From ${from}: ${proposed.length === 1 ? "1 rule" : `${proposed.length} rules`} would have spared ${spared === 1 ? "1 prompt" : `${spared} prompts`}.`;
  for (const row of wrapProse(line, output.noticeWidth)) output.notice(row);
}

const INDENT = "         ";
const MAX_EXAMPLES = 3;

/** Shows the rule, its effect on past calls, and some of those calls. */
function showRule({ rule, scope, count, calls }: ProposedRule, output: Output): void {
  const { paint } = output;
  const isAsking = rule.mode === "ask";
  const width = Math.max(output.lineWidth - INDENT.length, 20);
  const mark = isAsking ? paint("yellow", "  ask    ") : paint("green", "  allow  ");
  const what = describeCalls({ rule, scope });
  const [first = "", ...others] = wrapCode(truncate(what, 4 * width), width);
  output.print(`${mark}${first}`);
  for (const line of others) output.print(INDENT + line);
  const number = isAsking
    ? `${count === 1 ? "1 refusal" : `${count} refusals`} on record`
    : `spares ${count === 1 ? "1 prompt" : `${count} prompts`}`;
  const isPlain = calls.length === 1 && rule.mode === "unattended" && rule.prefix === undefined;
  const shown = isPlain ? [] : calls.slice(0, MAX_EXAMPLES);
  const examples = shown.map((each) => `${truncate(verbatim(each.about), 60)} (${each.count})`);
  const more = isPlain ? 0 : calls.length - shown.length;
  const list = [...examples, ...(more > 0 ? [`${more} more`] : [])].join(", ");
  for (const line of wrapProse(list === "" ? number : `${number}: ${list}`, width))
    output.print(paint("dim", INDENT + line));
}

/** Undefined without a terminal. Rules that ask are saved along with their tool's chosen rules. */
async function choose(
  proposed: readonly ProposedRule[],
  { context, config }: { readonly context: CommandContext; readonly config: PartialConfig },
): Promise<readonly ProposedRule[] | undefined> {
  const { output } = context;
  const prompter = findQuietPrompter(context, config, {});
  if (!output.isTerminal || prompter?.canAsk() !== true) return undefined;
  output.flush();
  const { signal } = new AbortController();
  const ask = (message: string, labels: readonly string[]) =>
    prompter.select({ message, options: labels.map((label) => ({ label })), signal });
  const way = await ask("Save these rules?", ["no", "all", "choose one by one"]);
  if (way === 1) return proposed;
  if (way !== 2) return [];
  const taken = new Set<ProposedRule>();
  for (const each of proposed.filter(({ rule }) => rule.mode === "unattended")) {
    const what = describeCalls(each);
    const answer = await ask(`${verbatim(each.tool)}: ${what}`, [
      "no",
      "save",
      "no, and none of the others",
    ]);
    if (answer === undefined || answer === 2) break;
    if (answer === 1) taken.add(each);
  }
  const tools = new Set([...taken].map(({ tool }) => tool));
  return proposed.filter(
    (each) => taken.has(each) || (each.rule.mode === "ask" && tools.has(each.tool)),
  );
}

function toJson({ tool, rule, scope, count, calls }: ProposedRule): JsonObject {
  const { limits, ...covered } = scope;
  return {
    tool,
    rule: rule as unknown as JsonObject, // Filled in from the record: JSON.
    ...(limits !== undefined && { limits: { ...limits } }),
    scope: { ...covered },
    [rule.mode === "ask" ? "refusals" : "prompts"]: count,
    calls: calls.map((each) => ({ ...each })),
  };
}
