/** What rules on arguments, saved permissions and the mode say of a call, before anyone is asked. */
export { assertRules, createPolicy, matchRules } from "./policy.ts";
export {
  type CallOfTool,
  plainResultVerdict,
  plainVerdict,
  type Policy,
  type PolicyOptions,
  type RuleOnRecord,
  type Verdict,
} from "./verdict.ts";
