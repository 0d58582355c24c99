/** Schema of a tool's `policy`: rules that decide about a call by its arguments, and what applies where none does. */
import * as v from "valibot";
import { type Json, pathToText } from "../../../util/index.ts";
import { definedOnly } from "../defined-only.ts";
import { behaviour } from "./node.ts";
import { type PeopleTarget, peopleTargetSchema, peopleToJson } from "./people-target.ts";

/** Before a call runs, and before its result goes to the model. */
export const MODES = ["ask", "unattended", "edit", "skip"] as const;

export type RunMode = (typeof MODES)[number];

export const MODE_NAMES = ["ask", "plan", "edits", "sandbox"] as const;

/**
 * What a turn may do without asking. `ask`: as rules and settings say. `plan`: only tools that read. `edits`: files of the workspace
 * are changed without asking, and each change can be undone. `sandbox`: what runs inside the sandbox runs.
 */
export type Mode = (typeof MODE_NAMES)[number];

/** A rule as it is written: at most one condition on an argument, and what applies to the calls that meet it. */
export interface RuleConfig extends Matcher {
  readonly mode: RunMode;
  /** JSON Pointer to an argument. A list on the way means its elements. Empty for all arguments, as one object. */
  readonly arg?: string;
  /** The name of the tool, where a rule is for all of them; `*` stands for any characters. */
  readonly tool?: string;
  /** The name of its MCP server, likewise. */
  readonly server?: string;
  /** Questions of the tool itself that it answers as well, beyond those about creating and changing files. */
  readonly questions?: readonly string[];
  /** Who decides about the calls that it asks about. Those of the tool if absent. */
  readonly target?: PeopleTarget;
}

/** One of these, if there is an `arg`. */
export interface Matcher {
  readonly const?: Json;
  readonly enum?: readonly Json[];
  readonly pattern?: string;
  readonly prefix?: string;
  readonly glob?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusive_minimum?: number;
  readonly exclusive_maximum?: number;
}

export const MATCHERS = [
  "const",
  "enum",
  "pattern",
  "prefix",
  "glob",
  "minimum",
  "maximum",
  "exclusive_minimum",
  "exclusive_maximum",
] as const satisfies readonly (keyof Matcher)[];

/** A rule, and where it stands. */
export interface Rule extends RuleConfig {
  readonly place: RulePlace;
  /** Set if a person has granted it for the first words of a command: the only options that may follow. */
  readonly options?: readonly string[];
}

export interface RulePlace {
  /** `workspace`: a file of the workspace. All others are the user's own; `saved` and `turn`: from a prompt. */
  readonly from:
    | "user"
    | "workspace"
    | "environment"
    | "command_line"
    | "program"
    | "saved"
    | "turn";
  /** Below the file or flag, such as `conversation.tools.fs_edit.policy.run[2]`; the id of a saved rule, or of an inquiry. */
  readonly key: string;
  /** The file, variable or flag. */
  readonly layer: string;
  /** The SHA-256 of the file, as it was when the rule was read. */
  readonly file?: string;
  /** It is written for several tools, so that it may name arguments which some of them lack. */
  readonly isShared?: boolean;
}

/** The rules of one layer or several, and the plain word, which applies where no rule does. */
export interface PolicyList {
  readonly mode?: RunMode;
  /** In the order in which they count. `place` is absent until the layers are put together. */
  readonly rules: readonly (RuleConfig & Partial<Pick<Rule, "place">>)[];
}

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
  v.transform((rule) => definedOnly(rule) as RuleConfig), // The same keys; JSON, because it is from a file.
);

/** Undefined if it is not a rule. */
export function findRule(value: unknown): RuleConfig | undefined {
  const parsed = v.safeParse(ruleSchema, value);
  return parsed.success ? parsed.output : undefined;
}

/** Why it is not a rule. Undefined if it is one. */
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
  // Whom a call needs no permission of belongs to a person and a machine: no conversation records it.
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

/** Every list counts: the user's own rules first, those of higher layers before those of lower ones. */
export function mergePolicyLists(lower: PolicyList, upper: PolicyList): PolicyList {
  const mode = upper.mode ?? lower.mode;
  const rules = ownFirst([...upper.rules, ...lower.rules]);
  return { ...(mode !== undefined && { mode }), rules };
}

/** A workspace decides only what the user's own rules leave open. */
export function ownFirst<Of extends PolicyList["rules"][number]>(
  rules: readonly Of[],
): readonly Of[] {
  const isOfWorkspace = ({ place }: Of) => place?.from === "workspace";
  return [...rules.filter((rule) => !isOfWorkspace(rule)), ...rules.filter(isOfWorkspace)];
}

/** Where a rule of a tool stands. */
export function ruleKey(tool: string, of: "run" | "result", index: number): string {
  return `${pathToText(["conversation", "tools", tool, "policy", of])}[${index}]`;
}
