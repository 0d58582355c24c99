/** Schema of a tool's `policy`: rules that decide about a call by its arguments, and the mode if none matches. */
import * as v from "valibot";
import type { Json } from "../../../util/index.ts";
import { definedOnly } from "../defined-only.ts";
import { MATCHERS, MODES, type PolicyList, type RuleConfig } from "../policy-list.ts";
import { behaviour } from "./node.ts";
import { peopleTargetSchema, peopleToJson } from "./people-target.ts";

/** RFC 6901; empty for all arguments together. */
const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/;

const ruleSchema = v.pipe(
  v.strictObject({
    mode: v.picklist(MODES),
    arg: v.optional(v.pipe(v.string(), v.regex(POINTER, "expected a JSON Pointer such as /path"))),
    tool: v.optional(v.pipe(v.string(), v.nonEmpty("expected a name"))),
    server: v.optional(v.pipe(v.string(), v.nonEmpty("expected a name"))),
    questions: v.optional(v.array(v.string())),
    target: v.optional(peopleTargetSchema),
    const: v.optional(v.unknown()),
    enum: v.optional(v.pipe(v.array(v.unknown()), v.minLength(1, "expected at least one value"))),
    pattern: v.optional(v.string()),
    prefix: v.optional(v.string()),
    glob: v.optional(v.string()),
    minimum: v.optional(v.number()),
    maximum: v.optional(v.number()),
    exclusive_minimum: v.optional(v.number()),
    exclusive_maximum: v.optional(v.number()),
  }),
  v.check(
    (rule) => {
      const matchers = MATCHERS.filter((key) => rule[key] !== undefined);
      return rule.arg === undefined ? matchers.length === 0 : matchers.length === 1;
    },
    `expected one of ${MATCHERS.join(", ")} with arg, and none without`,
  ),
  v.check(
    ({ mode, target }) => target === undefined || mode === "ask" || mode === "edit",
    "target is for rules with the mode ask or edit",
  ),
  v.transform((rule) => definedOnly(rule) as RuleConfig), // The same keys; JSON, as read from a file.
);

/** Undefined if it is not a rule. */
export function findRule(value: unknown): RuleConfig | undefined {
  const parsed = v.safeParse(ruleSchema, value);
  return parsed.success ? parsed.output : undefined;
}

/** Why it is not a rule; undefined if it is one. */
export function explainRule(value: unknown): string | undefined {
  const { success, issues = [] } = v.safeParse(ruleSchema, value);
  if (success) return undefined;
  return issues
    .map((issue) => [v.getDotPath(issue), issue.message].filter((part) => part !== null).join(": "))
    .join("; ");
}

export const policyListSchema = v.pipe(
  v.union([v.picklist(MODES), v.array(ruleSchema)]),
  v.transform((value): PolicyList =>
    Array.isArray(value) ? { rules: value } : { mode: value, rules: [] },
  ),
  // Permissions belong to a person and a machine: no conversation records them.
  behaviour<PolicyList>({ merge: "rules", isMachineSpecific: true, toJson: listToJson }),
);

function listToJson({ mode, rules }: PolicyList): Json {
  if (rules.length === 0) return mode ?? [];
  const fallback = mode === undefined ? [] : [{ mode }];
  const written = rules.map((rule): Json => {
    const { place: _place, target, ...own } = rule;
    return { ...own, ...(target !== undefined && { target: peopleToJson(target) }) };
  });
  return [...written, ...fallback];
}
