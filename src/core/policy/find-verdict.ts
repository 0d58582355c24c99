/**
 * Finds the verdict on a call. The order is: skip, plan, saved rules, rules of the config, the mode, the tool's own
 * setting.
 */
import {
  findRule,
  type Mode,
  type PeopleTarget,
  peopleToJson,
  type Rule,
  rungsOf,
} from "../../settings/config/index.ts";
import type { DecidingRule } from "../../record/conversation/index.ts";
import { type Addressee, type Confinement, opensOf } from "../../record/tool/index.ts";
import { isDeepEqual, loadModule } from "../../util/index.ts";
import { findOptions } from "./grant-limits.ts";
import { type CallToRule, compileRules, evaluateRules, type RuleVerdict } from "./evaluate.ts";
import {
  type CallOfTool,
  type GrantedRule,
  MODE_VERDICTS,
  OWN_QUESTIONS,
  plainResultVerdict,
  plainVerdict,
  type PolicyOptions,
  runsCommands,
  type Verdict,
} from "./verdict.ts";

export async function findRunVerdict(call: CallOfTool, options: PolicyOptions): Promise<Verdict> {
  const { mode = () => "ask" } = options;
  const { settings, effect } = call.tool;
  const isPlanned = mode() === "plan" && (settings.effect ?? effect) !== "reads";
  return isPlanned ? plannedVerdict(call, options) : freeVerdict(call, options);
}

/**
 * In the mode `plan`, for a tool that does more than read. A command runs if a rule of the user's own allows it, and if it
 * can change nothing and reach no one. The model is told that all others are refused.
 */
async function plannedVerdict(call: CallOfTool, options: PolicyOptions): Promise<Verdict> {
  const { tool } = call;
  const run = tool.settings.policy.run.filter((rule) => isOwn(rule) || rule.mode !== "unattended");
  const settings = { ...tool.settings, policy: { ...tool.settings.policy, run } };
  const own = { ...call, tool: { ...tool, settings }, granted: [] };
  const verdict = await freeVerdict(own, {
    ...options,
    mode: () => "ask",
    allowsUnsandboxed: false,
  });
  if (verdict.mode === "skip") return verdict;
  const isAllowed = verdict.mode === "unattended" && verdict.rules !== undefined;
  if (!isAllowed || !runsCommands(tool)) return MODE_VERDICTS.plan;
  const confined = await findConfinement(call);
  const isHarmless = confined.workspace === "read_only" && opensOf(confined).length === 0;
  return isHarmless ? verdict : MODE_VERDICTS.plan;
}

async function freeVerdict(call: CallOfTool, options: PolicyOptions): Promise<Verdict> {
  const found = await askedVerdict(call, options);
  // Even for a call that runs without asking: it may be in doubt later.
  const { target } = call.tool.settings;
  const verdict = target === undefined ? found : { target, ...found };
  const isOpen = verdict.mode === "unattended" || verdict.mode === "ask";
  if (!isOpen || !runsCommands(call.tool)) return verdict;
  const asked = await confinedVerdict(verdict, call, options);
  return target === undefined ? asked : { target, ...asked };
}

/** A command line's freedom to run without asking depends on where it runs. */
async function confinedVerdict(
  verdict: Verdict,
  call: CallOfTool,
  options: PolicyOptions,
): Promise<Verdict> {
  const confined = await findConfinement(call);
  const { confinement } = confined;
  const opens = opensOf(confined);
  if (verdict.mode === "ask") {
    return opens.length > 0 ? { ...verdict, isAskedEachTime: true } : verdict;
  }
  if (confinement === "none" && options.allowsUnsandboxed !== true) {
    return { mode: "ask", key: "shell.unsandboxed", needsPerson: true };
  }
  // A rule about the command does not cover where it may send data, or what it reads: `python` executes its input.
  const isExact = verdict.rules?.every(({ rule }) => rule["arg"] === "") ?? false;
  if (isExact) return verdict;
  const opened = opens.find((each) => each !== "git" || !namesGit(verdict));
  if (opened !== undefined) return askEachTime(`shell.${opened}`);
  return verdict.rules !== undefined && hasInput(call) ? askEachTime("shell.input") : verdict;
}

/** A rule of the user's own that is about this argument covers it. */
function namesGit({ rules = [] }: Verdict): boolean {
  return rules.some(({ from, rule }) => from !== "workspace" && rule["arg"] === "/git");
}

function askEachTime(key: string): Verdict {
  return { mode: "ask", key, needsPerson: true, isAskedEachTime: true };
}

/** Whether the command gets input to read. */
export function hasInput({ tool: { argumentKinds = {} }, arguments: args }: CallOfTool): boolean {
  return Object.entries(argumentKinds).some(([pointer, kind]) => {
    const value = args[pointer.slice(1)] ?? "";
    return kind === "input" && value !== "";
  });
}

export async function findConfinement({ tool, arguments: args }: CallOfTool): Promise<Confinement> {
  const { origin } = await tool.describeSource(args);
  return origin.type === "builtin" ? origin : {};
}

async function askedVerdict(call: CallOfTool, options: PolicyOptions): Promise<Verdict> {
  const { settings } = call.tool;
  const effect = settings.effect ?? call.tool.effect;
  const { mode: findMode = () => "ask" } = options;
  const mode = findMode();
  const byConfig = await evaluate(settings.policy.run, call, options);
  if (byConfig?.mode === "skip") return fromRules(byConfig, call);
  if (settings.run === "skip" && !isByUser(byConfig)) return plainVerdict(settings);
  // Neither another person's grant nor the mode decides what is assigned to certain people.
  const asked = byConfig === undefined ? plainVerdict(settings) : fromRules(byConfig, call);
  if (isForSome(asked) || asked.mode === "skip") return asked;
  const saved = effect === "destroys" ? [] : await findGranted(call, options);
  const byRules =
    saved.length === 0
      ? byConfig
      : await evaluate([...saved, ...settings.policy.run], call, options);
  if (byRules !== undefined) return fromRules(byRules, call);
  return (await byMode(mode, call, effect)) ?? plainVerdict(settings);
}

/** The verdict of a person's grants, for this turn or for longer. */
async function findGranted(
  call: CallOfTool,
  { saved, hasSaved = () => true }: PolicyOptions,
): Promise<readonly Rule[]> {
  const granted = await Promise.all((call.granted ?? []).map((each) => toRules(each, call)));
  const forTurn = granted.flat();
  return saved === undefined || !hasSaved() ? forTurn : [...forTurn, ...(await saved(call))];
}

async function toRules(
  { rule, from: key, arguments: args }: GrantedRule,
  { tool: { argumentKinds = {} } }: CallOfTool,
): Promise<readonly Rule[]> {
  const known = findRule(rule);
  if (known?.mode !== "unattended") return [];
  const options = await findOptions(known, args === undefined ? [] : [args], argumentKinds);
  const place = { from: "turn", key, layer: "this turn" } as const;
  return [{ ...known, ...(options !== undefined && { options }), place }];
}

export async function findResultVerdict(
  call: CallOfTool,
  options: PolicyOptions,
): Promise<Verdict> {
  const { settings } = call.tool;
  const byConfig = await evaluate(settings.policy.result, call, options);
  const isSkipped = settings.result === "skip" && !isByUser(byConfig);
  return byConfig === undefined || isSkipped
    ? plainResultVerdict(settings)
    : fromRules(byConfig, call);
}

/** A workspace's rule cannot undo the user's skip: a rule that asks needs no trust. */
function isByUser(verdict: RuleVerdict | undefined): boolean {
  return verdict !== undefined && verdict.rules.every(isOwn);
}

function isOwn({ place }: Rule): boolean {
  return place.from !== "workspace";
}

async function byMode(
  mode: Mode,
  call: CallOfTool,
  effect: CallOfTool["tool"]["effect"],
): Promise<Verdict | undefined> {
  if (mode === "edits" && effect === "edits") {
    const { answers: _all, ...verdict } = MODE_VERDICTS.edits;
    return { ...verdict, ...answering(ownQuestionsOf(call)) };
  }
  if (mode !== "sandbox" || !runsCommands(call.tool)) return undefined;
  const confined = await findConfinement(call);
  const isHarmless = confined.confinement === "sandbox" && opensOf(confined).length === 0;
  return isHarmless ? MODE_VERDICTS.sandbox : undefined;
}

export async function evaluate(
  rules: readonly Rule[],
  call: CallOfTool,
  { root }: PolicyOptions,
): Promise<RuleVerdict | undefined> {
  return rules.length === 0 ? undefined : evaluateRules(...(await prepare(rules, call, root)));
}

/** The arguments of functions that apply rules to a call. */
export async function prepare(
  rules: readonly Rule[],
  { tool, arguments: args }: CallOfTool,
  root: string,
): Promise<Parameters<typeof evaluateRules>> {
  const kinds = tool.argumentKinds ?? {};
  const call: CallToRule = { tool: tool.settings, arguments: args, kinds, root };
  const units = runsCommands(tool) ? await loadCommandUnits() : undefined;
  return [await compileRules(rules, call), call, units?.readCommandLine];
}

function loadCommandUnits() {
  return loadModule(() => import("./command-units.ts"));
}

function fromRules(
  { mode, rules, asking }: RuleVerdict,
  { tool }: Pick<CallOfTool, "tool">,
): Verdict {
  const { target: own } = tool.settings;
  const [first] = rules;
  const key = first?.place.key ?? "";
  const target = commonTarget(asking.map((rule) => rule.target ?? own));
  const verdict: Verdict = {
    // No one may decide about all parts of the command.
    mode: target === "none" ? "skip" : mode,
    key,
    rules: rules.map(onRecord),
    // A workspace can let a tool run, but it cannot answer for the user.
    ...(mode === "unattended" &&
      rules.every(isOwn) &&
      answering([...ownQuestionsOf({ tool }), ...namedByAll(rules)])),
    ...(mode === "ask" && rules.some(({ arg }) => arg !== undefined) && { isAskedEachTime: true }),
    ...(typeof target === "object" && { target }),
  };
  return verdict;
}

/** The questions that the tool asks and a rule answers without naming them. */
function ownQuestionsOf({ tool }: Pick<CallOfTool, "tool">): readonly string[] {
  const { questionIds = OWN_QUESTIONS, settings } = tool;
  const asked = settings.source.type === "builtin" ? questionIds : [];
  return OWN_QUESTIONS.filter((id) => asked.includes(id));
}

function answering(answers: readonly string[]): Pick<Verdict, "answers"> {
  return answers.length === 0 ? {} : { answers };
}

/** Whether only certain people may decide if it is asked: at first, or at a later rung. */
function isForSome({ mode, target = {} }: Verdict): boolean {
  const isNamed = rungsOf(target).some(({ user, any, terms }) => user ?? any ?? terms);
  return isNamed && (mode === "ask" || mode === "edit");
}

/**
 * The people who may decide every part, under the terms of all and within the shortest deadline. If the parts differ,
 * there is no next rung: each part would escalate to other people. Undefined if anyone may.
 */
function commonTarget(
  targets: readonly (PeopleTarget | undefined)[],
): PeopleTarget | "none" | undefined {
  const [first, ...others] = targets;
  if (first !== undefined && others.every((other) => isDeepEqual(first, other))) {
    return Object.keys(first).length === 0 ? undefined : first;
  }
  const common = commonFirst(targets);
  const times = targets.flatMap((target) => target?.withinMs ?? []);
  return common === "none" || times.length === 0
    ? common
    : { ...common, withinMs: Math.min(...times) };
}

function commonFirst(
  targets: readonly (PeopleTarget | undefined)[],
): PeopleTarget | "none" | undefined {
  const named = commonPeople(targets);
  const all = targets.flatMap((target) => target?.terms ?? []);
  if (named === "none" || all.length === 0) return named;
  const [quorum] = all.map((terms) => terms.quorum ?? 1).toSorted((left, right) => right - left);
  // A no counts as a vote only if every quorum says so; otherwise a single no ends it.
  const counts = all.every((terms) => terms.quorum === undefined || terms.refusal === "counts");
  const terms = {
    ...(quorum !== undefined &&
      quorum > 1 && { quorum, ...(counts && { refusal: "counts" as const }) }),
    ...(all.some(({ notBy }) => notBy !== undefined) && { notBy: "asker" as const }),
    ...(all.some(({ proof }) => proof !== undefined) && { proof: "signed" as const }),
  };
  return { ...named, terms };
}

function commonPeople(
  targets: readonly (PeopleTarget | undefined)[],
): PeopleTarget | "none" | undefined {
  const named = targets.flatMap((target) => {
    if (target?.user !== undefined) return [[{ user: target.user }]];
    return target?.any === undefined ? [] : [target.any];
  });
  const [first, ...others] = named;
  if (first === undefined) return undefined;
  const any = first.filter((each) => others.every((list) => list.some(isSame(each))));
  const [one, ...more] = any;
  if (one === undefined) return "none";
  return more.length === 0 && "user" in one ? one : { any };
}

function isSame(left: Addressee): (right: Addressee) => boolean {
  return (right) => JSON.stringify(left) === JSON.stringify(right);
}

function namedByAll(rules: readonly Rule[]): readonly string[] {
  const [first, ...others] = rules;
  return (first?.questions ?? []).filter((id) =>
    others.every(({ questions = [] }) => questions.includes(id)),
  );
}

function onRecord({ place, target, options: _options, ...rule }: Rule): DecidingRule {
  const written = target === undefined ? rule : { ...rule, target: peopleToJson(target) };
  const { from, key, file } = place;
  return { from, key, rule: written, ...(file !== undefined && { file }) };
}
