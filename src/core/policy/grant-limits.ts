/** Limits of a rule granted at a prompt: it lets calls run only if they can do no more than the person was shown. */
import type { Rule, RuleConfig } from "../../settings/config/index.ts";
import type { ArgumentKinds } from "../../reach/executor/index.ts";
import {
  type Capabilities,
  coversCapabilities,
  type GrantLimits,
} from "../../record/tool/index.ts";
import {
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  loadModule,
} from "../../util/index.ts";
import type { CallOfTool } from "./verdict.ts";

/** A rule with its limits. Without limits, it is from an older version, and applies to any call of its tool. */
export interface LimitedRule {
  readonly rule: Rule;
  readonly limits?: GrantLimits | undefined;
}

/** The rule as it applies to a call with these capabilities. Undefined if the call can do more than was shown. */
export function limitRule({ rule, limits }: LimitedRule, asked: Capabilities): Rule | undefined {
  if (limits === undefined) return rule;
  if (!coversCapabilities(limits, asked)) return undefined;
  const { options } = limits;
  return options === undefined ? rule : { ...rule, options };
}

/** The limits of a rule granted for this call, given the capabilities that the person was shown. */
export async function limitsFor(
  rule: RuleConfig,
  { tool, arguments: args }: CallOfTool,
  shown: Capabilities,
): Promise<GrantLimits> {
  return withOptions(shown, await findOptions(rule, [args], tool.argumentKinds ?? {}));
}

export function withOptions(
  shown: Capabilities,
  options: readonly string[] | undefined,
): GrantLimits {
  return options === undefined ? shown : { ...shown, options };
}

/** The options that these calls have after the rule's prefix. Undefined if the rule has none. */
export async function findOptions(
  { arg = "", prefix }: RuleConfig,
  calls: readonly JsonObject[],
  kinds: ArgumentKinds,
): Promise<readonly string[] | undefined> {
  if (prefix === undefined || kinds[arg] !== "command") return undefined;
  const { optionsAfter } = await loadModule(() => import("./command-units.ts"));
  const lines = calls.map((args) => args[arg.slice(1)]).filter((line) => typeof line === "string");
  return [...new Set(lines.flatMap((line) => optionsAfter(prefix, line)))];
}

/** Undefined if any field is unknown: a newer version may have narrowed the limits. */
export function parseLimits(raw: Json | undefined): GrantLimits | undefined {
  if (!isJsonObject(raw)) return undefined;
  const { folder, confinement, network, git, outside, options, ...others } = raw;
  const isKnown =
    Object.keys(others).length === 0 &&
    (confinement === undefined || confinement === "sandbox" || confinement === "none") &&
    [network, git].every((opened) => opened === undefined || opened === true) &&
    [outside, options].every((list) => list === undefined || isTexts(list));
  if (!isKnown || typeof folder !== "string") return undefined;
  return {
    ...(confinement !== undefined && { confinement }),
    ...(network === true && { network }),
    ...(git === true && { git }),
    folder,
    ...(isTexts(outside) && { outside }),
    ...(isTexts(options) && { options }),
  };
}

function isTexts(value: Json | undefined): value is readonly string[] {
  return isJsonArray(value) && value.every((each) => typeof each === "string");
}
