/** The rules of a tool's `policy`, from one file or several. */
import { type Json, pathToText } from "../../util/index.ts";
import type { PeopleTarget } from "./schema/people-target.ts";

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
