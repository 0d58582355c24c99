export { anchorHeads, anchorState, isAnchorDue, readAnchors } from "./anchor-log.ts";
export { type Anchor, digestOfDocument } from "./anchor.ts";
export { exportEvidence, type ExportSummary } from "./export.ts";
export { openClone } from "./git-anchor.ts";
export { ensureMachineKey, keyIdOfPem, machineKeyFile, publicKeyToPem } from "./machine-key.ts";
export {
  type DecisionRow,
  DecisionSheet,
  reportToCsv,
  reportToMarkdown,
  Sample,
} from "./report.ts";
export type { NotJudgedReason, UnmetCode } from "./judge-links.ts";
export { digestOfPlace, type FindingCode } from "./statement.ts";
export {
  type EvidenceProblem,
  type EvidenceProblemCode,
  JUDGED_CODES,
  type Verification,
  verifyEvidence,
  type VerifyOptions,
} from "./verify.ts";
export { parseCertificates, type VerifiedAnchor } from "./verify-anchors.ts";
