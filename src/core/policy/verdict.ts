/** The verdict of config, saved rules and the mode on a call, before anyone is asked. */
import type {
  Mode,
  PeopleTarget,
  Rule,
  RunMode,
  ToolSettings,
} from "../../settings/config/index.ts";
import type { Decider, DecidingRule, Grant, GrantScope } from "../../record/conversation/index.ts";
import type { RunnableTool } from "../../reach/executor/index.ts";
import type { Capabilities } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";

/** Decides what is not asked. Evaluated for each call: files, links and saved rules may have changed. */
export interface Policy {
  /** Whether the call may run. Never throws. */
  verdictOf(call: CallOfTool): Promise<Verdict>;
  /** Whether the model may see its result. Never throws. */
  resultVerdictOf(call: CallOfTool): Promise<Verdict>;
  /** Grants that a person may add to a yes. Absent if nothing can be saved. */
  readonly grants?: Grants;
  /**
   * The absolute paths of the files that the call's arguments may name, following links as they are now. Undefined if it
   * names none. Throws only `module_not_loaded`.
   */
  filesOf?(call: CallOfTool): Promise<readonly string[] | undefined>;
}

/** Widens a yes with a rule. */
export interface Grants {
  /**
   * The narrowest sensible rules, the narrowest useful one first. None for a call that may destroy something, and none that would
   * cover more than a person sees. `questionId`: the tool's own question, which the rule would answer too. Never
   * throws.
   */
  propose(call: CallOfTool, questionId?: string): Promise<readonly ProposedGrant[]>;
  /** Whether a rule that the person wrote can be granted: it has to cover this call too. Never throws. */
  check(rule: JsonObject, call: CallOfTool): Promise<CheckedGrant>;
  /**
   * Saves it for the workspace. Does nothing if the same rule was saved before, even if it was removed since. Throws
   * `write_failed`.
   */
  save(grant: GrantToSave): Promise<void>;
  /** Reports that these rules decided a call. Must not throw. */
  noteUsed(rules: readonly DecidingRule[]): void;
}

/** A rule that would let calls like this one run, and what it covers. */
export interface ProposedGrant extends GrantScope {
  readonly rule: JsonObject;
}

/** The rule, or what is wrong with it. */
export type CheckedGrant = ProposedGrant | { readonly problem: string };

export interface GrantToSave extends Pick<Grant, "rule" | "until"> {
  readonly call: CallOfTool;
  /** The capabilities that the person was shown. */
  readonly shown: Capabilities;
  readonly by: Extract<Decider, { readonly kind: "user" }>;
  /** Unique: the conversation, and the inquiry in which it was granted. */
  readonly inquiry: string;
}

/** A rule that a person has granted for the turn. */
export interface GrantedRule {
  readonly rule: JsonObject;
  /** The inquiry in which the person granted it. */
  readonly from: string;
  /** The arguments of the call that it was granted for. */
  readonly arguments?: JsonObject;
}

export interface PolicyOptions {
  /** The workspace folder, which paths in arguments are relative to. */
  readonly root: string;
  /** Called for each call: a person may change it during a turn. `ask`, if absent. */
  readonly mode?: () => Mode;
  /** Rules that the user has saved for this workspace and that apply now. They come before those of the config. */
  readonly saved?: (call: CallOfTool) => Promise<readonly Rule[]>;
  /** Whether there may be any. Called for each call, so it has to be quick. True if absent. */
  readonly hasSaved?: () => boolean;
  /** Absent if nothing can be granted beyond a yes. */
  readonly store?: Pick<Grants, "save" | "noteUsed">;
  /** Calls outside a sandbox may run without asking, as far as rules allow it. */
  readonly allowsUnsandboxed?: boolean;
}

export interface CallOfTool {
  readonly tool: RunnableTool & { readonly settings: ToolSettings };
  /** Checked, with defaults filled in. */
  readonly arguments: JsonObject;
  /** Rules that a person has granted in this turn, for this tool. They come before the saved ones. */
  readonly granted?: readonly GrantedRule[];
}

export interface Verdict {
  readonly mode: RunMode;
  /** The config key that decided, or a code such as `mode.plan`. */
  readonly key: string;
  /** Set if rules decided. */
  readonly rules?: readonly DecidingRule[];
  /** Why it is skipped, if not because of config. */
  readonly cause?: "planning";
  /** The ids of questions of jp's own tools that are answered with yes. */
  readonly answers?: readonly string[];
  /** Only a person may let it run; `detached` settings may not. */
  readonly needsPerson?: boolean;
  /** It is asked about each time, even after an answer for the whole turn. */
  readonly isAskedEachTime?: boolean;
  /** Who decides if someone is asked; anyone if absent. */
  readonly target?: PeopleTarget;
}

/**
 * Questions that rules on file tools also answer, unless they name more: overwriting and deleting are asked about each
 * time.
 */
export const OWN_QUESTIONS = ["create_file", "apply_changes"];

/** Verdicts by mode. */
export const MODE_VERDICTS = {
  plan: { mode: "skip", key: "mode.plan", cause: "planning" },
  edits: { mode: "unattended", key: "mode.edits", answers: OWN_QUESTIONS },
  sandbox: { mode: "unattended", key: "mode.sandbox" },
} as const satisfies Readonly<Record<Exclude<Mode, "ask">, Verdict>>;

/** Such a tool may be confined, and rules about it match the parts of a command line. */
export function runsCommands({ argumentKinds = {} }: CallOfTool["tool"]): boolean {
  return Object.values(argumentKinds).includes("command");
}

/** The verdict without rules and mode. */
export function plainVerdict(settings: Pick<ToolSettings, "name" | "run" | "target">): Verdict {
  const { name, run, target } = settings;
  return { mode: run, key: `conversation.tools.${name}.run`, ...(target && { target }) };
}

export function plainResultVerdict(
  settings: Pick<ToolSettings, "name" | "result" | "target">,
): Verdict {
  const { name, result, target } = settings;
  return { mode: result, key: `conversation.tools.${name}.result`, ...(target && { target }) };
}
