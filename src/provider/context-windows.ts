/** How much some well-known models can read, in tokens. Rather too little than too much. */

const CONTEXT_WINDOWS: readonly (readonly [RegExp, number])[] = [
  [/^claude-/, 200_000],
  [/^gpt-4\.1/, 1_047_576],
  [/^gpt-4o/, 128_000],
  [/^gpt-5.*-chat/, 128_000],
  [/^gpt-5/, 272_000],
  [/^o[134]/, 200_000],
  [/^gemini-/, 1_000_000],
];

/** Names as OpenRouter has them, `anthropic/claude-…`, are known too. */
export function findContextWindow(provider: string, modelName: string): number | undefined {
  const name = provider === "openrouter" ? modelName.replace(/^[^/]+\//, "") : modelName;
  const isHosted = ["anthropic", "google", "openai", "openrouter"].includes(provider);
  return isHosted ? CONTEXT_WINDOWS.find(([pattern]) => pattern.test(name))?.[1] : undefined;
}
