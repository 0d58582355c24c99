/** The policy of a turn. Most calls need no rules, so they are loaded with the first call that does. */
import { statSync } from "node:fs";
import path from "node:path";
import { invalidConfigError, type Rule } from "../../settings/config/index.ts";
import type { DescribeOptions } from "../../reach/executor/index.ts";
import { capabilitiesOf, type GrantLimits } from "../../record/tool/index.ts";
import { type Clock, type Json, loadModule } from "../../util/index.ts";
import type { RuleProblem } from "./check-rules.ts";
import type { PastDecision } from "./decided-calls.ts";
import type { LimitedRule } from "./grant-limits.ts";
import type { ProposedRule } from "./propose.ts";
import type { SavedRules } from "./saved-rules.ts";
import type { UncountedRule } from "./uncounted-rules.ts";
import {
  type CallOfTool,
  type Grants,
  plainResultVerdict,
  plainVerdict,
  type Policy,
  type PolicyOptions,
  runsCommands,
} from "./verdict.ts";

export function createPolicy(options: PolicyOptions): Policy {
  const { mode = () => "ask", saved, hasSaved = () => true, store } = options;
  return {
    verdictOf: async (call) => {
      const { settings } = call.tool;
      const hasRules = settings.policy.run.length > 0 || call.granted !== undefined;
      const isPlain = mode() === "ask" && !hasRules && !runsCommands(call.tool);
      if (isPlain && (saved === undefined || !hasSaved())) return plainVerdict(settings);
      const { findRunVerdict } = await loadVerdicts();
      return findRunVerdict(call, options);
    },
    resultVerdictOf: async (call) => {
      const { settings } = call.tool;
      if (settings.policy.result.length === 0) return plainResultVerdict(settings);
      const { findResultVerdict } = await loadVerdicts();
      return findResultVerdict(call, options);
    },
    ...(store !== undefined && { grants: createGrants(store, options) }),
    filesOf: async ({ tool: { argumentKinds: kinds = {} }, arguments: args }) => {
      const { findFiles } = await loadModule(() => import("./argument-values.ts"));
      return findFiles({ arguments: args, kinds, root: options.root });
    },
  };
}

function createGrants(store: NonNullable<PolicyOptions["store"]>, options: PolicyOptions): Grants {
  return {
    save: (grant) => store.save(grant),
    noteUsed: (rules) => store.noteUsed(rules),
    propose: async (call, questionId) => {
      const { proposeGrants } = await loadGrants();
      return proposeGrants(call, { ...options, questionId });
    },
    check: async (rule, call) => {
      const { checkGrant } = await loadGrants();
      return checkGrant(rule, call, options);
    },
  };
}

/** Where a workspace's saved rules are stored. */
export interface SavedRulesPlace {
  /** The user's data folder. */
  readonly dataFolder: string;
  /** The workspace folder. */
  readonly root: string;
  readonly clock: Clock;
  /** Called if they cannot be used. One line; must not throw. */
  readonly onWarning: (message: string) => void;
}

/** A policy's access to saved rules. Disposing records which were used. */
export interface OpenSavedRules extends AsyncDisposable {
  readonly options: Pick<PolicyOptions, "saved" | "hasSaved" | "store">;
  /** Throws `module_not_loaded`. */
  load(): Promise<SavedRules>;
}

/** If none were ever saved, this only checks for a folder. */
export function openSavedRules({ dataFolder, ...place }: SavedRulesPlace): OpenSavedRules {
  const folder = savedRulesFolder(dataFolder);
  let opened: Promise<SavedRules> | undefined;
  const load = () => {
    opened ??= loadSavedRules().then((module) => new module.SavedRules({ ...place, folder }));
    return opened;
  };
  return {
    load,
    options: {
      hasSaved: () => statSync(folder, { throwIfNoEntry: false }) !== undefined,
      saved: async (call) => (await load()).find(call),
      store: {
        save: async (grant) => (await load()).save(grant),
        noteUsed: (rules) => void load().then((saved) => saved.noteUsed(rules)),
      },
    },
    [Symbol.asyncDispose]: async () => (await opened)?.close(),
  };
}

function savedRulesFolder(dataFolder: string): string {
  return path.join(dataFolder, "permissions");
}

/** The saved rules of all workspaces. Never throws. */
export async function listAllSavedRules({ dataFolder, ...place }: Omit<SavedRulesPlace, "root">) {
  const module = await loadSavedRules();
  return module.listAllSavedRules({ ...place, folder: savedRulesFolder(dataFolder) });
}

function loadSavedRules() {
  return loadModule(() => import("./saved-rules.ts"));
}

function loadGrants() {
  return loadModule(() => import("./grants.ts"));
}

function loadVerdicts() {
  return loadModule(() => import("./find-verdict.ts"));
}

/** Throws `config_invalid` if a rule about the tool cannot mean what was written. */
export async function assertRules(tool: CallOfTool["tool"], root: string): Promise<void> {
  const { run, result } = tool.settings.policy;
  if (run.length === 0 && result.length === 0) return;
  const { findRuleProblems } = await loadChecks();
  const known = parametersOf(tool);
  const problems = [
    ...(await findRuleProblems(run, known, root)),
    ...(await findRuleProblems(result, known, root)),
  ];
  const [first] = problems;
  if (first === undefined) return;
  throw invalidConfigError(
    problems.map(({ rule: { place }, message }) => `${place.layer}: ${place.key}: ${message}`),
  );
}

function parametersOf({ description, argumentKinds: kinds = {} }: CallOfTool["tool"]) {
  const { name, parameters } = description;
  return { name, parameters, kinds };
}

/** The rules about a call that match it, each taken by itself. In order. */
export async function matchRules(
  rules: readonly Rule[],
  call: CallOfTool,
  root: string,
): Promise<readonly boolean[]> {
  const { evaluate } = await loadVerdicts();
  const verdicts = await Promise.all(rules.map((rule) => evaluate([rule], call, { root })));
  return verdicts.map((verdict) => verdict !== undefined);
}

/** The rules that seem to let a call run and do not count, with the reasons. In order. */
export async function explainUncounted(
  rules: readonly Rule[],
  call: CallOfTool,
  root: string,
): Promise<readonly UncountedRule[]> {
  const { findUncountedRules } = await loadModule(() => import("./uncounted-rules.ts"));
  const { prepare } = await loadVerdicts();
  return findUncountedRules(...(await prepare(rules, call, root)));
}

/** The rules that let calls run by a path, in an argument without a type. In order. */
export async function findUntyped(
  rules: readonly Rule[],
  tool: CallOfTool["tool"],
): Promise<readonly RuleProblem[]> {
  const { findUntypedRules } = await loadChecks();
  return tool.settings.source.type === "builtin" ? [] : findUntypedRules(rules, parametersOf(tool));
}

/** The rules that would have answered these decisions, which are in chronological order. Throws `module_not_loaded`. */
export async function proposeFrom(
  decisions: AsyncIterable<PastDecision>,
  root: string,
): Promise<readonly ProposedRule[]> {
  const { proposeRules } = await loadModule(() => import("./propose.ts"));
  return proposeRules(decisions, root);
}

/** The rules that apply to the call, within their limits. */
export async function limitRules(
  rules: readonly LimitedRule[],
  { tool, arguments: args }: CallOfTool,
): Promise<readonly Rule[]> {
  const { limitRule } = await loadLimits();
  const asked = capabilitiesOf(await tool.describeSource(args));
  return rules.flatMap((each) => limitRule(each, asked) ?? []);
}

/** The files outside the workspace that the arguments name, by real path. A path that may be anywhere counts as outside. */
export async function findOutsideFiles(
  { tool: { argumentKinds: kinds = {} }, arguments: args }: CallOfArguments,
  root: string,
): Promise<readonly string[]> {
  const module = await loadModule(() => import("./argument-values.ts"));
  return module.findOutsideFiles({ arguments: args, kinds, root });
}

interface CallOfArguments extends Pick<CallOfTool, "arguments"> {
  readonly tool: Pick<CallOfTool["tool"], "argumentKinds">;
}

/** Undefined if any field of the limits is unknown. */
export async function parseLimits(raw: Json): Promise<GrantLimits | undefined> {
  return (await loadLimits()).parseLimits(raw);
}

function loadChecks() {
  return loadModule(() => import("./check-rules.ts"));
}

function loadLimits() {
  return loadModule(() => import("./grant-limits.ts"));
}

/** The identities of a call's tool, the current one first: see `toolIdentities`. Without options, as saved rules know it. */
export async function identitiesOfCall(
  call: CallOfTool,
  options?: DescribeOptions,
): Promise<readonly string[]> {
  return (await loadSavedRules()).identitiesOf(call, options);
}

/** The subject of a call, in one line: files, a command line, a URL, or all arguments. */
export async function subjectOfCall(call: CallOfTool, root: string): Promise<string> {
  const { subjectOf } = await loadModule(() => import("./decided-calls.ts"));
  return subjectOf(call, root);
}

/** For calls that are judged after a wait. Throws `module_not_loaded`. */
export async function preloadPolicy({
  runsCommands: areRead,
  hasPatterns,
}: PreloadOptions): Promise<void> {
  await Promise.all([
    loadVerdicts(),
    loadGrants(),
    loadSavedRules(),
    ...(areRead ? [loadModule(() => import("./command-units.ts"))] : []),
    ...(hasPatterns ? [loadModule(() => import("re2js"))] : []),
  ]);
}

interface PreloadOptions {
  /** A tool that runs command lines is enabled. */
  readonly runsCommands: boolean;
  /** A rule has a pattern or a glob. */
  readonly hasPatterns: boolean;
}
