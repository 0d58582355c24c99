export { exportEvidence, type ExportOptions, type ExportSummary } from "./export.ts";
export { ensureMachineKey, keyIdOfPem, machineKeyFile, publicKeyToPem } from "./machine-key.ts";
export { DecisionSheet, reportToCsv, reportToMarkdown, Sample } from "./report.ts";
export {
  type EvidenceProblem,
  type EvidenceProblemCode,
  type Verification,
  verifyEvidence,
} from "./verify.ts";
