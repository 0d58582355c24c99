/** Whether what the workspace brings is trusted. What is not is not tried, either. */
import type { Layer, PartialConfig } from "../../../config/index.ts";
import { describeWithheld, TRUST_HINT, withoutClaims } from "../../../trust/index.ts";
import type { CommandContext } from "../../compose.ts";
import { findWorkspace } from "../../load-config.ts";
import { workspaceTrust } from "../../trust.ts";
import type { Finding } from "./finding.ts";

export interface CheckedTrust {
  readonly findings: readonly Finding[];
  /** Safe to act on. */
  readonly config: PartialConfig;
}

export async function checkTrust(
  context: CommandContext,
  layers: readonly Layer[],
): Promise<CheckedTrust> {
  const workspace = findWorkspace(context);
  const claims =
    workspace === undefined ? [] : await workspaceTrust(context, workspace).findUntrusted(layers);
  const config = withoutClaims(layers, claims);
  if (claims.length === 0) return { findings: [], config };
  return {
    findings: [
      { check: "trust", state: "warning", message: describeWithheld(claims), hint: TRUST_HINT },
    ],
    config,
  };
}
