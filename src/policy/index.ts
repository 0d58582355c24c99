/** What rules on arguments, saved permissions and the mode say of a call, before anyone is asked. */
export { createPolicy, type PolicyOptions } from "./policy.ts";
export {
  type CallOfTool,
  plainResultVerdict,
  plainVerdict,
  type Policy,
  type RuleOnRecord,
  type Verdict,
} from "./verdict.ts";
