/** The policy of a turn. Most calls need none of it, so that rules are loaded with the first call that does. */
import type { Mode, Rule } from "../config/index.ts";
import { loadModule } from "../util/index.ts";
import { type CallOfTool, plainResultVerdict, plainVerdict, type Policy } from "./verdict.ts";

export interface PolicyOptions {
  /** The workspace, which paths in arguments are relative to. */
  readonly root: string;
  readonly mode?: Mode;
  /** Rules that the user has saved for this workspace and that count now. They come before those of the config. */
  readonly saved?: (call: CallOfTool) => Promise<readonly Rule[]>;
  /** What runs outside a sandbox may run unasked, as far as rules allow it. */
  readonly allowsUnsandboxed?: boolean;
}

export function createPolicy(options: PolicyOptions): Policy {
  const { mode = "ask", saved } = options;
  const isPlain = mode === "ask" && saved === undefined;
  return {
    judge: async (call) => {
      const { settings, confinement } = call.tool;
      if (isPlain && settings.policy.run.length === 0 && confinement === undefined) {
        return plainVerdict(settings);
      }
      const { judgeRun } = await loadJudge();
      return judgeRun(call, options);
    },
    judgeResult: async (call) => {
      const { settings } = call.tool;
      if (settings.policy.result.length === 0) return plainResultVerdict(settings);
      const { judgeResult } = await loadJudge();
      return judgeResult(call, options);
    },
  };
}

function loadJudge() {
  return loadModule(() => import("./judge.ts"));
}
