/** Whether what the workspace brings is trusted. What is not is not tried, either. */
import { type Layer, type PartialConfig, withoutClaims } from "../../../config/index.ts";
import type { CommandContext } from "../../compose.ts";
import { describeWithheld, TRUST_HINT, untrustedClaims } from "../../trust.ts";
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
  const claims = await untrustedClaims(context, layers);
  const config = withoutClaims(layers, claims);
  if (claims.length === 0) return { findings: [], config };
  return {
    findings: [
      { check: "trust", state: "warning", message: describeWithheld(claims), hint: TRUST_HINT },
    ],
    config,
  };
}
