/**
 * Rules that a person may add to a yes: proposes the narrowest sensible ones for a call, and checks those that the
 * person writes. A proposal never covers more than is on the screen.
 */
import { stat } from "node:fs/promises";
import path from "node:path";
import { explainRule, findRule, type Rule, type RuleConfig } from "../../settings/config/index.ts";
import { capabilitiesOf, opensOf } from "../../record/tool/index.ts";
import { isJsonObject, type JsonObject } from "../../util/index.ts";
import { findValues, kindOf } from "./argument-values.ts";
import { findRuleProblems } from "./check-rules.ts";
import { limitsFor } from "./grant-limits.ts";
import { evaluate, findConfinement, hasInput } from "./find-verdict.ts";
import { scopeOf } from "./rule-scope.ts";
import {
  type CallOfTool,
  type CheckedGrant,
  OWN_QUESTIONS,
  type PolicyOptions,
  type ProposedGrant,
  runsCommands,
} from "./verdict.ts";

interface ProposeOptions extends PolicyOptions {
  /** The id of the tool's own question. */
  readonly questionId?: string | undefined;
}

/**
 * The narrowest useful rule first. A rule for the exact call comes last: a call of the same kind with other arguments is
 * more likely than the same call again. Never throws.
 */
export async function proposeGrants(
  call: CallOfTool,
  { questionId, ...options }: ProposeOptions,
): Promise<readonly ProposedGrant[]> {
  if (questionId !== undefined && !OWN_QUESTIONS.includes(questionId)) return [];
  const { tool } = call;
  const effect = tool.settings.effect ?? tool.effect;
  if (effect === "destroys" || (await isAskedAnyway(call, options))) return [];
  const rules = await narrowRules(call, options.root);
  const matching = await Promise.all(rules.map((rule) => doesAllow(rule, call, options)));
  const found = rules.filter((_, index) => matching[index] === true);
  const [exact, others] = [found.filter(isExactCall), found.filter((rule) => !isExactCall(rule))];
  return Promise.all([...others, ...exact].map((rule) => toProposal(rule, call)));
}

/** The rules that could let a call run, narrowest first, even if they are of little use. */
export async function narrowRules(call: CallOfTool, root: string): Promise<readonly RuleConfig[]> {
  const own = (await needsExact(call)) ? [] : await rulesFor(call, root);
  return hasExact(call, own) ? own : [...exactCall(call), ...own];
}

/** A rule that the person wrote may say anything, as long as it is about this tool and lets this call run. Never throws. */
export async function checkGrant(
  written: JsonObject,
  call: CallOfTool,
  options: PolicyOptions,
): Promise<CheckedGrant> {
  const rule = findRule(written);
  if (rule === undefined) return { problem: explainRule(written) ?? "It is not a rule." };
  const { settings, description, argumentKinds: kinds = {} } = call.tool;
  if (rule.mode !== "unattended") return { problem: 'The mode has to be "unattended".' };
  if (rule.tool !== undefined && rule.tool !== settings.name) {
    return { problem: `The rule has to be about ${settings.name}.` };
  }
  const known = { name: settings.name, parameters: description.parameters, kinds };
  const [wrong] = await findRuleProblems([asRule(rule)], known, options.root);
  if (wrong !== undefined) return { problem: wrong.message };
  if (!(await doesAllow(rule, call, options)))
    return { problem: "The rule does not match this call." };
  return toProposal(rule, call);
}

/** Whether it is asked about even if a rule allows it. */
async function isAskedAnyway(
  call: CallOfTool,
  { allowsUnsandboxed = false }: PolicyOptions,
): Promise<boolean> {
  if (!runsCommands(call.tool) || allowsUnsandboxed) return false;
  return (await findConfinement(call)).confinement === "none";
}

/** Whether a rule about the command alone would not let it run. */
async function needsExact(call: CallOfTool): Promise<boolean> {
  if (!runsCommands(call.tool)) return false;
  return hasInput(call) || opensOf(await findConfinement(call)).length > 0;
}

async function doesAllow(
  rule: RuleConfig,
  call: CallOfTool,
  options: PolicyOptions,
): Promise<boolean> {
  const verdict = await evaluate([asRule(rule)], call, options);
  return verdict?.mode === "unattended";
}

function asRule(rule: RuleConfig): Rule {
  return { ...rule, place: { from: "saved", key: "rule", layer: "prompt" } };
}

async function toProposal(rule: RuleConfig, call: CallOfTool): Promise<ProposedGrant> {
  const kind = kindOf(rule, call.tool.argumentKinds ?? {});
  const shown = capabilitiesOf(await call.tool.describeSource(call.arguments));
  const scope = scopeOf(rule, kind, await limitsFor(rule, call, shown));
  return { rule: rule as unknown as JsonObject, ...scope }; // As it was written, or filled in here: JSON.
}

/** Rules by the kind of argument. Only if no other argument could change what a later call does. */
async function rulesFor(call: CallOfTool, root: string): Promise<readonly RuleConfig[]> {
  const kinds = call.tool.argumentKinds ?? {};
  const commands = Object.keys(kinds).filter((arg) => kinds[arg] === "command");
  const others = Object.keys(kinds).filter((arg) => kinds[arg] === "path" || kinds[arg] === "url");
  // The command matters more than the folder it runs in.
  const [arg, ...more] = commands.length > 0 ? commands : others;
  if (arg === undefined || more.length > 0 || !(await isAllThatMatters(call))) return [];
  switch (kinds[arg]) {
    case "command":
      return commandRules(arg, call);
    case "path":
      return pathRules(arg, call, root);
    case "url":
      return hostRules(arg, call);
    default:
      return [];
  }
}

/**
 * The other arguments of jp's own tools only say what is read, written or run there. What another tool's arguments do
 * is unknown.
 */
async function isAllThatMatters({ tool, arguments: args }: CallOfTool): Promise<boolean> {
  const { properties, additionalProperties: rest = false } = tool.description.parameters;
  const count = isJsonObject(properties) ? Object.keys(properties).length : 0;
  if (count === 1 && rest === false) return true;
  return (await tool.describeSource(args)).origin.type === "builtin";
}

/** Programs whose first words say what the command does, as far as that is possible. */
const SUBCOMMANDS: Readonly<Record<string, number>> = {
  bun: 1,
  cargo: 1,
  deno: 1,
  docker: 1,
  dotnet: 1,
  gh: 2,
  git: 1,
  go: 1,
  gradle: 1,
  kubectl: 1,
  make: 1,
  mvn: 1,
  npm: 1,
  pnpm: 1,
  uv: 1,
  yarn: 1,
};
/** `npm run test`, `cargo run`: the next word is what runs. */
const RUNNERS = new Set(["run", "exec"]);
/** `python3 -m unittest`: the module is what runs. */
const PYTHON = /^python\d*(?:\.\d+)?$/;
/** Only plain words, with nothing that a shell would interpret. */
const PLAIN_LINE = /^[\w@%+:,./=-]+(?: [\w@%+:,./=-]+)*$/;

function commandRules(arg: string, { arguments: args }: CallOfTool): readonly RuleConfig[] {
  const line = args[arg.slice(1)];
  if (typeof line !== "string" || !PLAIN_LINE.test(line)) return [];
  const words = line.split(" ");
  const [program = "", subcommand] = words;
  if (program.includes("=")) return [];
  const isModule = PYTHON.test(program) && subcommand === "-m";
  const own = Object.hasOwn(SUBCOMMANDS, program) ? (SUBCOMMANDS[program] ?? 0) : 0;
  const count = isModule
    ? 3
    : 1 + own + (subcommand !== undefined && RUNNERS.has(subcommand) ? 1 : 0);
  const first = words.slice(0, count);
  const names = isModule ? first.slice(2) : first;
  const isNamed =
    (isModule || own > 0) && first.length === count && !names.some((word) => word.startsWith("-"));
  const exact: RuleConfig = { mode: "unattended", arg, const: line };
  return isNamed ? [exact, { mode: "unattended", arg, prefix: first.join(" ") }] : [exact];
}

/** These folders control what else may run. */
const OWN_FOLDERS = new Set([".jp", ".git"]);

async function pathRules(
  arg: string,
  { tool, arguments: args }: CallOfTool,
  root: string,
): Promise<readonly RuleConfig[]> {
  const kinds = tool.argumentKinds ?? {};
  const { values, isMissing } = await findValues(arg, { arguments: args, kinds, root });
  // The first form is the one without links. If it differs, it does not match the rule below. Outside of the workspace it is absolute.
  const files = values.flatMap(({ exact }) => exact?.slice(0, 1) ?? []);
  const names = [...new Set(files.filter((file) => typeof file === "string"))];
  const isKnown = files.length === values.length && !isMissing && names.length > 0;
  if (!isKnown || names.some((file) => path.isAbsolute(file) || hasOwnFolder(file))) return [];
  const folders = await Promise.all(names.map((file) => folderOf(file, root)));
  const folder = commonFolder(folders);
  const [only, ...others] = names;
  const these: RuleConfig =
    others.length === 0 && only !== undefined
      ? { mode: "unattended", arg, const: only }
      : { mode: "unattended", arg, enum: names };
  if (names.includes(".")) return [];
  return folder === "." ? [these] : [these, { mode: "unattended", arg, prefix: folder }];
}

function hasOwnFolder(file: string): boolean {
  return file.split("/").some((name) => OWN_FOLDERS.has(name.normalize("NFKC").toLowerCase()));
}

/** The path itself, if it is a folder. */
async function folderOf(file: string, root: string): Promise<string> {
  const stats = await stat(path.join(root, file)).catch(() => undefined);
  return stats?.isDirectory() === true ? file : path.posix.dirname(file);
}

/** `.` if they share only the workspace. */
export function commonFolder(folders: readonly string[]): string {
  const [names = [], ...others] = folders.map((folder) => folder.split("/"));
  const end = names.findIndex((name, index) => others.some((other) => other[index] !== name));
  const common = end === -1 ? names : names.slice(0, end);
  return common.length === 0 ? "." : common.join("/");
}

/** Only for the default port: another port may be another service. */
function hostRules(arg: string, { arguments: args }: CallOfTool): readonly RuleConfig[] {
  const text = args[arg.slice(1)];
  if (typeof text !== "string" || !URL.canParse(text)) return [];
  const { hostname, port, protocol, username, password } = new URL(text);
  const isWeb = protocol === "https:" || protocol === "http:";
  if (!isWeb || port !== "" || username !== "" || password !== "" || hostname === "") return [];
  return [{ mode: "unattended", arg: `${arg}/host`, const: hostname.replace(/\.$/, "") }];
}

/** Whether no rule for the exact call is needed: a full command line is exact enough, and no edit is made twice. */
function hasExact({ tool }: CallOfTool, own: readonly RuleConfig[]): boolean {
  const kinds = tool.argumentKinds ?? {};
  const isEdit = (tool.settings.effect ?? tool.effect) === "edits";
  return own.some((rule) => kindOf(rule, kinds) === "command" || isEdit);
}

function exactCall({ arguments: args }: CallOfTool): readonly RuleConfig[] {
  return [{ mode: "unattended", arg: "", const: args }];
}

function isExactCall({ arg }: RuleConfig): boolean {
  return arg === "";
}
