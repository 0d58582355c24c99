/** The verdict of argument rules, saved permissions and the mode on a call, before anyone is asked. */
export {
  assertRules,
  createPolicy,
  explainUncounted,
  findOutsideFiles,
  findUntyped,
  identitiesOfCall,
  limitRules,
  listAllSavedRules,
  matchRules,
  type OpenSavedRules,
  openSavedRules,
  parseLimits,
  preloadPolicy,
  proposeFrom,
  subjectOfCall,
} from "./policy.ts";
export type { RuleProblem } from "./check-rules.ts";
export type { PastDecision } from "./decided-calls.ts";
export type { LimitedRule } from "./grant-limits.ts";
export type { ProposedRule } from "./propose.ts";
export type { ListedRule } from "./saved-rules.ts";
export type { Obstacle, UncountedRule } from "./uncounted-rules.ts";
export {
  type CallOfTool,
  type CheckedGrant,
  type GrantedRule,
  type Grants,
  MODE_VERDICTS,
  plainResultVerdict,
  plainVerdict,
  type Policy,
  type PolicyOptions,
  type ProposedGrant,
  type Verdict,
} from "./verdict.ts";
