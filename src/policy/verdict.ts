/** What config, saved rules and the mode have decided about a call, before anyone is asked. */
import type { Mode, Rule, RunMode, ToolSettings } from "../config/index.ts";
import type { RunnableTool } from "../executor/index.ts";
import type { JsonObject } from "../util/index.ts";

/** Decides what is not asked. Read anew for each call: files, links and saved rules may have changed. */
export interface Policy {
  /** Whether the call may run. Never throws. */
  judge(call: CallOfTool): Promise<Verdict>;
  /** Whether the model may see its result. Never throws. */
  judgeResult(call: CallOfTool): Promise<Verdict>;
}

export interface PolicyOptions {
  /** The workspace, which paths in arguments are relative to. */
  readonly root: string;
  readonly mode?: Mode;
  /** Rules that the user has saved for this workspace and that count now. They come before those of the config. */
  readonly saved?: (call: CallOfTool) => Promise<readonly Rule[]>;
  /** What runs outside a sandbox may run unasked, as far as rules allow it. */
  readonly allowsUnsandboxed?: boolean;
}

export interface CallOfTool {
  readonly tool: RunnableTool & { readonly settings: ToolSettings };
  /** Checked, with defaults filled in. */
  readonly arguments: JsonObject;
}

export interface Verdict {
  readonly mode: RunMode;
  /** What decided it: a key of the config, or a code such as `mode.plan`. */
  readonly key: string;
  /** Set if rules did. */
  readonly rules?: readonly RuleOnRecord[];
  /** Why it is skipped, if that is not because config says so. */
  readonly cause?: "planning";
  /** The ids of questions of a tool of jp's own that are answered with yes. */
  readonly answers?: readonly string[];
  /** Only a person may let it run: not what is configured for when no one is there. */
  readonly needsPerson?: boolean;
  /** It is asked about each time, whatever was decided for the whole turn. */
  readonly isAskedEachTime?: boolean;
}

/** A rule as a record has it. */
export interface RuleOnRecord {
  /** A code: `user`, `workspace`, `environment`, `command_line`, `program` or `saved`. */
  readonly from: string;
  /** Where it stands there: a key of the config, or the id of a saved rule. */
  readonly key: string;
  readonly rule: JsonObject;
}

/** Such a tool may be confined, and rules about it are about the parts of a command line. */
export function runsCommands({ argumentKinds = {} }: CallOfTool["tool"]): boolean {
  return Object.values(argumentKinds).includes("command");
}

/** What applies where there are no rules and no mode. */
export function plainVerdict({ name, run }: Pick<ToolSettings, "name" | "run">): Verdict {
  return { mode: run, key: `conversation.tools.${name}.run` };
}

export function plainResultVerdict({
  name,
  result,
}: Pick<ToolSettings, "name" | "result">): Verdict {
  return { mode: result, key: `conversation.tools.${name}.result` };
}
