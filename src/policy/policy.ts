/** The policy of a turn. Most calls need none of it, so that rules are loaded with the first call that does. */
import { invalidConfigError, type Rule } from "../config/index.ts";
import { loadModule } from "../util/index.ts";
import {
  type CallOfTool,
  plainResultVerdict,
  plainVerdict,
  type Policy,
  type PolicyOptions,
  runsCommands,
} from "./verdict.ts";

export function createPolicy(options: PolicyOptions): Policy {
  const { mode = "ask", saved } = options;
  const isPlain = mode === "ask" && saved === undefined;
  return {
    judge: async (call) => {
      const { settings } = call.tool;
      const isUnruled = isPlain && settings.policy.run.length === 0;
      if (isUnruled && !runsCommands(call.tool)) return plainVerdict(settings);
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

/** Throws `config_invalid` if a rule about the tool cannot mean what was written. */
export async function assertRules(tool: CallOfTool["tool"], root: string): Promise<void> {
  const { run, result } = tool.settings.policy;
  if (run.length === 0 && result.length === 0) return;
  const { findRuleProblems } = await loadModule(() => import("./check-rules.ts"));
  const { name, parameters } = tool.description;
  const known = { name, parameters, kinds: tool.argumentKinds ?? {} };
  const problems = [
    ...(await findRuleProblems(run, known, root)),
    ...(await findRuleProblems(result, known, root)),
  ];
  const [first] = problems;
  if (first === undefined) return;
  throw invalidConfigError(
    problems.map(({ rule: { place }, message }) => `${place.layer}: ${place.key}: ${message}`),
  );
}

/** Which of the rules about a call match it, each taken by itself. In order. */
export async function matchRules(
  rules: readonly Rule[],
  call: CallOfTool,
  root: string,
): Promise<readonly boolean[]> {
  const { evaluate } = await loadJudge();
  const verdicts = await Promise.all(rules.map((rule) => evaluate([rule], call, { root })));
  return verdicts.map((verdict) => verdict !== undefined);
}
