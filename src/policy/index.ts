/** What rules on arguments say of a call, before anyone is asked. */
export {
  type CallToJudge,
  type CompiledRule,
  compileRules,
  evaluateRules,
  type RuleVerdict,
} from "./evaluate.ts";
