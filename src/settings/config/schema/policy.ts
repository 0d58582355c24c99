/** Schema of a tool's `policy`: rules that decide about a call by its arguments, and the mode if none matches. */
import * as v from "valibot";
import { type Json, pathToText } from "../../../util/index.ts";
import { definedOnly } from "../defined-only.ts";
import { behaviour } from "./node.ts";
import { type PeopleTarget, peopleTargetSchema, peopleToJson } from "./people-target.ts";

/** Applied before a call runs, and before its result goes to the model. */
export const MODES = ["ask", "unattended", "edit", "skip"] as const;

export type RunMode = (typeof MODES)[number];

export const MODE_NAMES = ["ask", "plan", "edits", "sandbox"] as const;

/**
 * How much a turn may do without asking. `ask`: follows rules and settings. `plan`: only tools that read, and commands that rules allow. `edits`: files
 * of the workspace are changed without asking, and each change can be undone. `sandbox`: anything inside the sandbox
 * runs.
 */
export type Mode = (typeof MODE_NAMES)[number];

/** A rule as written: at most one condition on an argument, and the mode for matching calls. */
export interface RuleConfig extends Matcher {
  readonly mode: RunMode;
  /**
   * JSON Pointer to an argument. A list on the way matches each of its elements. Empty for all arguments, as one object.
   */
  readonly arg?: string;
  /** The name of the tool, in a rule for all tools; `*` matches any characters. */
  readonly tool?: string;
  /** The name of its MCP server; `*` matches any characters. */
  readonly server?: string;
  /** Other questions of the tool that it also answers, besides those about creating and changing files. */
  readonly questions?: readonly string[];
  /** Who decides about calls that it asks about. Default: the tool's target. */
  readonly target?: PeopleTarget;
}

/** With an `arg`, exactly one of these is set. */
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

/** A rule and its place. */
export interface Rule extends RuleConfig {
  readonly place: RulePlace;
  /** Set if a person granted it for the first words of a command: only these options may follow. */
  readonly options?: readonly string[];
}

export interface RulePlace {
  /** `workspace`: a file of the workspace. All others are the user's own; `saved` and `turn` come from a prompt. */
  readonly from:
    | "user"
    | "workspace"
    | "environment"
    | "command_line"
    | "program"
    | "saved"
    | "turn";
  /**
   * The key within the file or flag, such as `conversation.tools.fs_edit.policy.run[2]`; or the id of a saved rule, or of
   * an inquiry.
   */
  readonly key: string;
  /** The file, variable or flag. */
  readonly layer: string;
  /** The SHA-256 of the file when the rule was read. */
  readonly file?: string;
  /** It is written for several tools, so it may name arguments that some of them lack. */
  readonly isShared?: boolean;
}

/** The rules of one or more layers, and the fallback mode if none matches. */
export interface PolicyList {
  readonly mode?: RunMode;
  /** In order of precedence. `place` is absent until the layers are merged. */
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

/** All lists count: the user's own rules come first, and higher layers before lower ones. */
export function mergePolicyLists(lower: PolicyList, upper: PolicyList): PolicyList {
  const mode = upper.mode ?? lower.mode;
  const rules = ownFirst([...upper.rules, ...lower.rules]);
  return { ...(mode !== undefined && { mode }), rules };
}

/** A workspace's rules apply only where the user's own do not. */
export function ownFirst<Of extends PolicyList["rules"][number]>(
  rules: readonly Of[],
): readonly Of[] {
  const isOfWorkspace = ({ place }: Of) => place?.from === "workspace";
  return [...rules.filter((rule) => !isOfWorkspace(rule)), ...rules.filter(isOfWorkspace)];
}

/** The config key of a tool's rule. */
export function ruleKey(tool: string, of: "run" | "result", index: number): string {
  return `${pathToText(["conversation", "tools", tool, "policy", of])}[${index}]`;
}
