/**
 * Proposes rules from a person's past decisions: the fewest and narrowest that would have given the answers they always
 * gave. Nothing is proposed for destructive calls, and everything refused once is still asked about: a rule that would
 * have let it run is dropped, or comes after one that asks.
 */
import type { Rule, RuleConfig } from "../../settings/config/index.ts";
import type { GrantScope } from "../../record/conversation/index.ts";
import type { Capabilities } from "../../record/tool/index.ts";
import { canonicalJson, type Json, type JsonObject, parsePointer } from "../../util/index.ts";
import { kindOf } from "./argument-values.ts";
import { readCommandLine } from "./command-units.ts";
import {
  DecidedCalls,
  type Group,
  type PastDecision,
  textsAt,
  type Unit,
} from "./decided-calls.ts";
import { type CompiledRule, compileRules, evaluateRules, type RuleVerdict } from "./evaluate.ts";
import { findOptions, withOptions } from "./grant-limits.ts";
import { commonFolder } from "./grants.ts";
import { findRefusedFiles } from "./refused-files.ts";
import { scopeOf } from "./rule-scope.ts";
import { type CallOfTool, runsCommands } from "./verdict.ts";

/** A rule in the form it would be saved, and its effect on past calls. */
export interface ProposedRule {
  readonly tool: string;
  readonly rule: RuleConfig;
  readonly scope: GrantScope;
  /** `unattended`: the prompts that it would have saved. `ask`: the refused calls that it keeps from running. */
  readonly count: number;
  /** The subjects of these calls, the most frequent first: files, a command line, a URL, or all arguments. */
  readonly calls: readonly { readonly about: string; readonly count: number }[];
  /** One of them. */
  readonly example: CallOfTool;
}

/**
 * Groups rules by tool, those that ask first; the tool that saves most prompts comes first. Decisions are in
 * chronological order.
 */
export async function proposeRules(
  decisions: AsyncIterable<PastDecision> | Iterable<PastDecision>,
  root: string,
): Promise<readonly ProposedRule[]> {
  const history = new DecidedCalls(root);
  for await (const decision of decisions) await history.add(decision);
  const refusedFiles = findRefusedFiles(history.edits);
  const proposed = await Promise.all(
    history.groups.map(async (group) => {
      const found = new RulesOfGroup(group, refusedFiles);
      const rules = found.find();
      const trial = await Trial.start(group, root, rules);
      const refused = await trial.evaluate(
        [...group.units.values()].filter((unit) => unit.refused > 0),
      );
      const leaks = refused.filter(({ verdict }) => verdict?.mode === "unattended");
      const asking = found.askAbout(leaks.map(({ unit }) => unit));
      return keepSafe([...asking, ...rules], group, root);
    }),
  );
  const spared = (rules: readonly ProposedRule[]) =>
    rules.reduce((total, { rule, count }) => total + (rule.mode === "unattended" ? count : 0), 0);
  return proposed
    .filter((rules) => spared(rules) >= MIN_GAIN * rules.length)
    .toSorted((a, b) => spared(b) - spared(a))
    .flat();
}

/** A rule that may be proposed, and the calls that it covers. */
interface Candidate {
  readonly rule: RuleConfig;
  readonly units: Set<Unit>;
}

/** The evidence needed to propose a rule, by how much it covers. */
const SUPPORT = {
  exact: { approvals: 5, different: 1 },
  some: { approvals: 4, different: 3 },
  folder: { approvals: 10, different: 5 },
};
/** The largest share of refused calls that a rule may cover. Those calls are asked about. */
const MAX_REFUSED = 0.05;
/** More refusals than this among the latest decisions mean that the person has changed their mind. */
const RECENT = { decisions: 20, refusals: 2 };
/** The largest share of calls decided both ways, apart from slips, among those decided at least this often. */
const MIXED = { decisions: 4, minority: 0.15, share: 0.3 };
/** A rule has to save this many prompts to be worth reading, including the rules that ask because of it. */
const MIN_GAIN = 3;

/** The rules of one tool. */
class RulesOfGroup {
  readonly #group: Group;
  readonly #kinds: NonNullable<CallOfTool["tool"]["argumentKinds"]>;
  readonly #refusedFiles: ReturnType<typeof findRefusedFiles>;

  constructor(group: Group, refusedFiles: ReturnType<typeof findRefusedFiles>) {
    const [first] = group.units.values();
    this.#group = group;
    this.#kinds = first?.call.tool.argumentKinds ?? {};
    this.#refusedFiles = refusedFiles;
  }

  /** Rules that ask come first. */
  find(): readonly RuleConfig[] {
    if (!this.#isConsistent()) return [];
    const allowed = this.#choose(this.#candidates().filter((each) => this.#isSupported(each)));
    if (allowed.length === 0) return [];
    // A wider rule makes narrower ones unnecessary.
    const rules = allowed.map(({ rule }) => rule).toSorted((a, b) => rank(a) - rank(b));
    return [...this.#exceptions(allowed), ...rules];
  }

  /** A person who decides the same call both ways gets no rules: calls they have not refused yet are chance. */
  #isConsistent(): boolean {
    const known = [...this.#group.units.values()].filter(
      ({ approved, refused }) => approved + refused >= MIXED.decisions,
    );
    const mixed = known.filter(
      ({ approved, refused }) =>
        Math.min(approved, refused) > MIXED.minority * (approved + refused),
    );
    return mixed.length <= MIXED.share * known.length;
  }

  #candidates(): readonly Candidate[] {
    const found = new Map<string, Candidate>();
    for (const unit of this.#group.units.values()) {
      for (const rule of unit.candidates) {
        const key = canonicalJson(rule as unknown as JsonObject); // Filled in here: JSON.
        const known = found.get(key) ?? { rule, units: new Set<Unit>() };
        known.units.add(unit);
        found.set(key, known);
      }
    }
    const all = [...found.values()];
    return [...all, ...this.#joinFolders(all)];
  }

  /** A call that changes files in several folders needs one rule for all of them. */
  #joinFolders(candidates: readonly Candidate[]): readonly Candidate[] {
    const several = [...this.#group.units.values()].filter(({ files }) => files.length > 1);
    const arg = candidates.find(({ rule }) => this.#kindOf(rule) === "path")?.rule.arg;
    if (several.length === 0 || arg === undefined) return [];
    const approved = several.filter((unit) => unit.approved > 0 && unit.refused === 0);
    const folders = Map.groupBy(
      new Set(approved.flatMap(({ files }) => files).filter((file) => file.includes("/"))),
      topOf,
    );
    const known = [...folders].flatMap(([top, files]) =>
      files.length >= SUPPORT.folder.different ? [top] : [],
    );
    if (known.length < 2) return [];
    const glob = `{${known.toSorted().map(escapeGlob).join(",")}}/**`;
    const isIn = ({ files }: Unit) =>
      files.length > 0 && files.every((file) => file.includes("/") && known.includes(topOf(file)));
    const units = new Set([...this.#group.units.values()].filter(isIn));
    return [{ rule: { mode: "unattended", arg, glob }, units }];
  }

  #kindOf(rule: RuleConfig) {
    return kindOf(rule, this.#kinds);
  }

  /** Whether a rule that asks covers it. That rule comes before all others. */
  #isAsked({ files }: Unit): boolean {
    return files.some((file) => this.#refusedFiles.some(({ matches }) => matches(file)));
  }

  #isSupported({ rule, units }: Candidate): boolean {
    const open = [...units].filter((unit) => !this.#isAsked(unit));
    const [approved, refused] = [sum(open, "approved"), sum(open, "refused")];
    const clean = open.filter((unit) => unit.refused === 0);
    const isExact = rule.prefix === undefined && rule.glob === undefined && !isHost(rule);
    const isTop = this.#kindOf(rule) === "path" && rule.prefix?.includes("/") !== true;
    const wanted = isExact ? SUPPORT.exact : isTop ? SUPPORT.folder : SUPPORT.some;
    if (approved < wanted.approvals || clean.length < wanted.different) return false;
    if (isExact) return refused === 0;
    const recent = this.#group.decisions
      .filter(({ unit }) => units.has(unit) && !this.#isAsked(unit))
      .slice(-RECENT.decisions);
    const isRecent = recent.filter(({ isApproved }) => !isApproved).length > RECENT.refusals;
    return refused <= MAX_REFUSED * (approved + refused) && !isRecent;
  }

  /** Picks the rule that saves most, until the rest is not worth a rule. */
  #choose(candidates: readonly Candidate[]): readonly Candidate[] {
    const open = new Set(
      [...this.#group.units.values()].filter((unit) => unit.refused === 0 && !this.#isAsked(unit)),
    );
    const gainOf = ({ units }: Candidate) =>
      [...units].reduce((total, unit) => total + (open.has(unit) ? unit.approved : 0), 0);
    const chosen: Candidate[] = [];
    // If two save as much, the narrower one wins.
    const left = candidates.toSorted(
      (a, b) => a.units.size - b.units.size || lengthOf(b.rule) - lengthOf(a.rule),
    );
    for (;;) {
      const gains = left.map((candidate) => ({ candidate, gain: gainOf(candidate) }));
      const best = gains.reduce((found, each) => (each.gain > found.gain ? each : found), {
        candidate: undefined,
        gain: MIN_GAIN - 1,
      } as { candidate: Candidate | undefined; gain: number });
      if (best.candidate === undefined) return chosen;
      for (const unit of best.candidate.units) open.delete(unit);
      chosen.push(best.candidate);
    }
  }

  /** Rules that ask about refused calls within the allowed ones. */
  #exceptions(allowed: readonly Candidate[]): readonly RuleConfig[] {
    const units = new Set(allowed.flatMap((candidate) => [...candidate.units]));
    const refused = [...units].filter((unit) => unit.refused > 0 && !this.#isAsked(unit));
    const folders = allowed.filter(
      ({ rule }) => this.#kindOf(rule) === "path" && (rule.prefix ?? rule.glob) !== undefined,
    );
    const tops = new Set(
      folders.flatMap((each) => [...each.units].flatMap(({ files }) => files.map(topOf))),
    );
    const arg = folders[0]?.rule.arg;
    const general = this.#refusedFiles
      .filter(({ tops: own }) => own === undefined || own.some((top) => tops.has(top)))
      .flatMap(({ condition }): readonly RuleConfig[] =>
        arg === undefined ? [] : [{ mode: "ask", arg, ...condition }],
      );
    return [...general, ...this.askAbout(refused)];
  }

  /** At most one rule per argument. */
  askAbout(refused: readonly Unit[]): readonly RuleConfig[] {
    const found = refused.flatMap((unit) => this.#valueToAsk(unit) ?? []);
    return [...Map.groupBy(found, ({ arg }) => arg)].map(([arg, all]): RuleConfig => {
      const [only, ...others] = new Set(all.map(({ value }) => value));
      return others.length === 0 && only !== undefined
        ? { mode: "ask", arg, const: only }
        : { mode: "ask", arg, enum: [only, ...others].filter((value) => value !== undefined) };
    });
  }

  /** With several files, the one that was approved least. */
  #valueToAsk({ files, call }: Unit): { readonly arg: string; readonly value: Json } | undefined {
    const kinds = this.#kinds;
    const command = Object.keys(kinds).find((at) => kinds[at] === "command");
    const arg = command ?? Object.keys(kinds)[0];
    if (arg === undefined) return undefined;
    if (kinds[arg] !== "path") {
      const [value] = textsAt(call.arguments, parsePointer(arg));
      return value === undefined ? undefined : { arg, value };
    }
    const approvals = (file: string) =>
      [...this.#group.units.values()].reduce(
        (total, unit) => total + (unit.files.includes(file) ? unit.approved : 0),
        0,
      );
    const [value] = files.toSorted((a, b) => approvals(a) - approvals(b));
    return value === undefined ? undefined : { arg, value };
  }
}

function lengthOf({ prefix = "" }: RuleConfig): number {
  return prefix.length;
}

function rank({ arg, prefix, glob }: RuleConfig): number {
  if (arg === "") return 2;
  return prefix === undefined && glob === undefined ? 1 : 0;
}

function isHost({ arg = "" }: RuleConfig): boolean {
  return arg.endsWith("/host");
}

function topOf(file: string): string {
  return file.slice(0, Math.max(0, file.indexOf("/")));
}

function escapeGlob(text: string): string {
  return text.replaceAll(/[*?[\]{}\\!,]/g, String.raw`\$&`);
}

/** Evaluates rules as a prompt would. */
class Trial {
  readonly #group: Group;
  readonly #root: string;
  rules: readonly CompiledRule[];

  private constructor(group: Group, root: string, rules: readonly CompiledRule[]) {
    this.#group = group;
    this.#root = root;
    this.rules = rules;
  }

  static async start(group: Group, root: string, rules: readonly RuleConfig[]): Promise<Trial> {
    const kinds = kindsOf(group);
    const calls = [...group.units.values()].filter(isAlwaysApproved);
    const approved = calls.map(({ call }) => call.arguments);
    const placed = await Promise.all(
      rules.map(async (rule, index): Promise<Rule> => {
        const isAsking = rule.mode !== "unattended";
        const options = isAsking ? undefined : await findOptions(rule, approved, kinds);
        const place = { from: "saved", layer: "", key: String(index) } as const;
        return { ...rule, ...(options !== undefined && { options }), place };
      }),
    );
    return new Trial(group, root, await compileRules(placed, { root, kinds }));
  }

  async evaluate(units: Iterable<Unit>): Promise<readonly Tried[]> {
    const kinds = kindsOf(this.#group);
    const tried: Tried[] = [];
    for (const unit of units) {
      const { tool, arguments: args } = unit.call;
      const call = { tool: tool.settings, arguments: args, kinds, root: this.#root };
      const readCommand = runsCommands(tool) ? readCommandLine : undefined;
      tried.push({ unit, verdict: await evaluateRules(this.rules, call, readCommand) });
    }
    return tried;
  }
}

interface Tried {
  readonly unit: Unit;
  readonly verdict: RuleVerdict | undefined;
}

function kindsOf({ units }: Group) {
  const [first] = units.values();
  return first?.call.tool.argumentKinds ?? {};
}

/** Evaluates the rules on each recorded call, and drops those that let a refused call run, or have no effect. */
async function keepSafe(
  rules: readonly RuleConfig[],
  group: Group,
  root: string,
): Promise<readonly ProposedRule[]> {
  const trial = await Trial.start(group, root, rules);
  let tried = await trial.evaluate(group.units.values());
  for (;;) {
    const decidedBy = ({ rule }: CompiledRule) =>
      tried.filter(({ verdict }) => verdict?.rules.includes(rule)).map(({ unit }) => unit);
    const left = trial.rules.filter((each) => {
      if (each.rule.mode !== "unattended") return true;
      const own = decidedBy(each);
      const isLeaking = tried.some(
        ({ unit, verdict }) =>
          unit.refused > 0 && verdict?.mode === "unattended" && verdict.rules.includes(each.rule),
      );
      return !isLeaking && sum(own, "approved") >= MIN_GAIN;
    });
    if (!left.some(({ rule }) => rule.mode === "unattended")) return [];
    if (left.length === trial.rules.length) {
      return left.map((each) => toProposal(each.rule, group, decidedBy(each)));
    }
    trial.rules = left;
    // Only calls decided by a dropped rule can have another verdict now.
    const isKept = ({ verdict }: Tried) =>
      verdict?.rules.every((rule) => left.some((each) => each.rule === rule)) ?? true;
    const open = tried.filter((each) => !isKept(each)).map(({ unit }) => unit);
    tried = [...tried.filter(isKept), ...(await trial.evaluate(open))];
  }
}

function sum(units: readonly Unit[], of: "approved" | "refused"): number {
  return units.reduce((total, unit) => total + unit[of], 0);
}

/** Approved, and never refused. */
function isAlwaysApproved({ approved, refused }: Unit): boolean {
  return approved > 0 && refused === 0;
}

function toProposal(
  { place: _place, options, ...rule }: Rule,
  group: Group,
  units: readonly Unit[],
): ProposedRule {
  const of = rule.mode === "unattended" ? "approved" : "refused";
  const calls = units
    .filter((unit) => unit[of] > 0)
    .toSorted((a, b) => b[of] - a[of])
    .map((unit) => ({ about: unit.about, count: unit[of] }));
  const kind = kindOf(rule, kindsOf(group));
  const [first] = units.length > 0 ? units : group.units.values();
  if (first === undefined) throw new Error("a rule for no calls");
  const { tool } = group;
  const limits = rule.mode === "ask" ? undefined : withOptions(commonCapabilities(units), options);
  return {
    tool,
    rule,
    scope: scopeOf(rule, kind, limits),
    count: sum(units, of),
    calls,
    example: first.call,
  };
}

/** The minimum that covers the capabilities of all these calls. */
function commonCapabilities(units: readonly Unit[]): Capabilities {
  const all = units.map(({ capabilities }) => capabilities);
  const confinements = all.flatMap(({ confinement }) => confinement ?? []);
  const confinement = confinements.find((each) => each === "none") ?? confinements[0];
  const outside = [...new Set(all.flatMap((each) => each.outside ?? []))];
  return {
    ...(confinement !== undefined && { confinement }),
    ...(all.some(({ network }) => network === true) && { network: true }),
    ...(all.some(({ git }) => git === true) && { git: true }),
    folder: commonFolder(all.map(({ folder }) => folder)),
    ...(outside.length > 0 && { outside }),
  };
}
