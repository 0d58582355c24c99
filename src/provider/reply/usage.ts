/** What a reply has cost, as far as the provider tells. */
import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Usage } from "../port.ts";

export function toUsage(usage: LanguageModelV4Usage, cost: number | undefined): Usage {
  const { inputTokens, outputTokens } = usage;
  return {
    ...(inputTokens.total !== undefined && { input: inputTokens.total }),
    ...(inputTokens.cacheRead !== undefined && { cachedInput: inputTokens.cacheRead }),
    ...(inputTokens.cacheWrite !== undefined && { cacheWrites: inputTokens.cacheWrite }),
    ...(outputTokens.total !== undefined && { output: outputTokens.total }),
    ...(outputTokens.reasoning !== undefined && { reasoning: outputTokens.reasoning }),
    ...(cost !== undefined && { cost }),
  };
}
