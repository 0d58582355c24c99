/** How much a model is to think, by name. */
import { ProviderError } from "../provider-error.ts";

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

export type Effort = (typeof EFFORTS)[number];

/** A number of tokens becomes the name that is nearest to it, for providers that take only names. */
export function toEffort(effort: string | number): Effort {
  if (typeof effort === "number") return effortOfTokens(effort);
  const known = EFFORTS.find((name) => name === effort);
  if (known !== undefined) return known;
  throw new ProviderError("invalid_request", `There is no reasoning effort "${effort}".`, {
    isRetryable: false,
    hint: `Use one of ${EFFORTS.join(", ")}, or a number of tokens.`,
  });
}

function effortOfTokens(tokens: number): Effort {
  if (tokens === 0) return "none";
  if (tokens <= 2048) return "low";
  return tokens <= 16_384 ? "medium" : "high";
}
