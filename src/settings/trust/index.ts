export {
  findClaims,
  type FoundProgram,
  type InstructingFile,
  isClaimWithin,
  withoutClaims,
} from "./claims.ts";
export { listClaims } from "./describe-claim.ts";
export {
  assertTrusted,
  describeWithheld,
  resolveTrustedConfig,
  TRUST_HINT,
  type TrustedConfig,
  trustQuestion,
  type TrustRequest,
  WorkspaceTrust,
} from "./workspace-trust.ts";
