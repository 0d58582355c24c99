/** The models that could be used right away: of servers on this machine, and of keys that are set. */
import type { PartialConfig } from "../config/index.ts";
import type { ProviderName, Providers } from "../provider/index.ts";
import { oneLine } from "../render/index.ts";
import { CodedError } from "../util/index.ts";
import type { CommandContext } from "./context.ts";
import { openProviders } from "./models.ts";

export interface DetectedModel {
  /** `provider/name`. */
  readonly id: string;
  readonly provider: ProviderName;
  readonly name: string;
  /** Why it can be used. */
  readonly reason: string;
}

/** Where no server is, that is known at once. */
const LOCAL_MS = 2000;
const HOSTED_MS = 5000;
const MOST_OF_ONE = 6;

const LOCAL = ["ollama", "llamacpp"] as const;

/** A key opens many models; these are the ones to talk and to work with, the best to begin with first. */
const PREFERRED = {
  anthropic: [/sonnet/, /opus|haiku/],
  openai: [/^gpt-[\d.]+$/, /^gpt-[\d.]+-mini$/],
  google: [/^gemini-[\d.]+-flash$/, /^gemini-[\d.]+-pro$/],
  openrouter: [
    /^openrouter\/auto$/,
    /^(?:anthropic\/claude-sonnet|openai\/gpt|google\/gemini)-[\d.]+$/,
  ],
} as const;

/** Those of this machine first; nobody else is asked before they are taken. */
export async function* detectModels(
  context: CommandContext,
  config: PartialConfig,
): AsyncGenerator<DetectedModel, void> {
  const providers = openProviders(context, config);
  const local = await Promise.all(LOCAL.map((name) => listNames(providers, name, LOCAL_MS)));
  for (const [index, provider] of LOCAL.entries())
    for (const name of (local[index] ?? []).slice(0, MOST_OF_ONE))
      yield { id: `${provider}/${name}`, provider, name, reason: "runs on this machine" };
  for (const [provider, patterns] of Object.entries(PREFERRED) as [Hosted, readonly RegExp[]][]) {
    const variable = keyVariable(provider, config) ?? "";
    if ((context.environment.variables[variable] ?? "") === "") continue;
    const names = await listNames(providers, provider, HOSTED_MS);
    const preferred = patterns.flatMap((pattern) => names.filter((name) => pattern.test(name)));
    const shown = preferred.length === 0 ? names : preferred;
    for (const name of shown.slice(0, MOST_OF_ONE))
      yield { id: `${provider}/${name}`, provider, name, reason: `its key is in ${variable}` };
  }
}

type Hosted = keyof typeof PREFERRED;

/** The environment variable that holds its key; undefined for a server that wants none. */
export function keyVariable(provider: ProviderName, config: PartialConfig): string | undefined {
  const settings = config.providers?.llm?.[provider];
  return settings !== undefined && "api_key_env" in settings ? settings.api_key_env : undefined;
}

/** A provider that does not answer has none. */
async function listNames(
  providers: Providers,
  provider: ProviderName,
  limit: number,
): Promise<readonly string[]> {
  try {
    const models = await providers.list(provider, AbortSignal.timeout(limit));
    // What cannot be shown as it is cannot be chosen by its name either.
    return models.map(({ name }) => name).filter((name) => oneLine(name) === name);
  } catch {
    return [];
  }
}

/** Says which it is and how to choose another. Throws `no_model`, with the ways to get one. */
export async function findDefaultModel(
  context: CommandContext,
  config: PartialConfig,
): Promise<Pick<DetectedModel, "provider" | "name">> {
  for await (const { id, provider, name } of detectModels(context, config)) {
    context.output.notice(
      `No model is configured: this is ${id}. Keep it, or another: jp config set assistant.model.id ${id}`,
    );
    return { provider, name };
  }
  throw noModel();
}

function noModel(): CodedError {
  return new CodedError("no_model", "No model is configured, and none was found.", {
    hint: [
      "There are three ways to get one:",
      "  - start Ollama or a llama.cpp server on this machine;",
      "  - put a key into ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY;",
      "  - name a model: jp config set assistant.model.id provider/name, or -m provider/name.",
    ].join("\n"),
  });
}
