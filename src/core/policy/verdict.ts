/** What config, saved rules and the mode have decided about a call, before anyone is asked. */
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

/** Decides what is not asked. Read anew for each call: files, links and saved rules may have changed. */
export interface Policy {
  /** Whether the call may run. Never throws. */
  verdictOf(call: CallOfTool): Promise<Verdict>;
  /** Whether the model may see its result. Never throws. */
  resultVerdictOf(call: CallOfTool): Promise<Verdict>;
  /** What a person may add to a yes. Absent where nothing can be saved. */
  readonly grants?: Grants;
}

/** Widens a yes by a rule. */
export interface Grants {
  /**
   * The narrowest sensible rules, narrowest first. None for a call that may destroy something, and none that would cover more than
   * a person sees. `questionId`: of the tool's own question, which the rule would answer too. Never throws.
   */
  propose(call: CallOfTool, questionId?: string): Promise<readonly ProposedGrant[]>;
  /** Whether a rule of the person's own can be granted: it has to be about this call too. Never throws. */
  check(rule: JsonObject, call: CallOfTool): Promise<CheckedGrant>;
  /** Saves it for the workspace. Does nothing if the same was saved, or saved and removed, before. Throws `write_failed`. */
  save(grant: GrantToSave): Promise<void>;
  /** These have decided about a call. Must not throw. */
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
  /** What the person was shown that the call can do. */
  readonly shown: Capabilities;
  readonly by: Extract<Decider, { readonly kind: "user" }>;
  /** Unique: the conversation, and the inquiry in which it was granted. */
  readonly inquiry: string;
}

/** A rule that a person has granted for the turn. */
export interface GrantedRule {
  readonly rule: JsonObject;
  /** The inquiry in which the person did. */
  readonly from: string;
  /** The arguments of the call that it was granted for. */
  readonly arguments?: JsonObject;
}

export interface PolicyOptions {
  /** The workspace, which paths in arguments are relative to. */
  readonly root: string;
  /** Called for each call: a person may change it during a turn. `ask`, if absent. */
  readonly mode?: () => Mode;
  /** Rules that the user has saved for this workspace and that count now. They come before those of the config. */
  readonly saved?: (call: CallOfTool) => Promise<readonly Rule[]>;
  /** Whether there may be any. Called for each call, so it has to be quick. Always, if absent. */
  readonly hasSaved?: () => boolean;
  /** Absent if nothing can be granted beyond a yes. */
  readonly store?: Pick<Grants, "save" | "noteUsed">;
  /** What runs outside a sandbox may run unasked, as far as rules allow it. */
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
  /** What decided it: a key of the config, or a code such as `mode.plan`. */
  readonly key: string;
  /** Set if rules did. */
  readonly rules?: readonly DecidingRule[];
  /** Why it is skipped, if that is not because config says so. */
  readonly cause?: "planning";
  /** The ids of questions of a tool of jp's own that are answered with yes. */
  readonly answers?: readonly string[];
  /** Only a person may let it run: not what is configured for when no one is there. */
  readonly needsPerson?: boolean;
  /** It is asked about each time, whatever was decided for the whole turn. */
  readonly isAskedEachTime?: boolean;
  /** Who decides if someone is asked; anyone who is if absent. */
  readonly target?: PeopleTarget;
}

/** What rules on file tools also answer, unless they name more: overwriting and deleting are asked about each time. */
export const OWN_QUESTIONS = ["create_file", "apply_changes"];

/** On calls that the mode decides about. */
export const MODE_VERDICTS = {
  plan: { mode: "skip", key: "mode.plan", cause: "planning" },
  edits: { mode: "unattended", key: "mode.edits", answers: OWN_QUESTIONS },
  sandbox: { mode: "unattended", key: "mode.sandbox" },
} as const satisfies Readonly<Record<Exclude<Mode, "ask">, Verdict>>;

/** Such a tool may be confined, and rules about it are about the parts of a command line. */
export function runsCommands({ argumentKinds = {} }: CallOfTool["tool"]): boolean {
  return Object.values(argumentKinds).includes("command");
}

/** What applies where there are no rules and no mode. */
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
