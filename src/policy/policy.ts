/** The policy of a turn. Most calls need none of it, so that rules are loaded with the first call that does. */
import { loadModule } from "../util/index.ts";
import { plainResultVerdict, plainVerdict, type Policy, type PolicyOptions } from "./verdict.ts";

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
