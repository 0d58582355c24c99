/** The models that could be used right away: of servers on this machine, and of keys that are set. */
import type { PartialConfig } from "../../../config/index.ts";
import { PROVIDER_NAMES, type ProviderName, type Providers } from "../../../provider/index.ts";
import { oneLine } from "../../../render/index.ts";
import type { CommandContext } from "../../compose.ts";
import { openProviders } from "../../models.ts";

export interface DetectedModel {
  /** `provider/name`. */
  readonly id: string;
  /** Why it can be used. */
  readonly reason: string;
}

/** A server on this machine answers at once, or it is not there. */
const LOCAL_MS = 500;
const HOSTED_MS = 5000;
const MOST_OF_ONE = 6;

/** A key opens many models; these are the ones to talk and to work with. */
const WORTHWHILE: Readonly<Record<ProviderName, RegExp>> = {
  ollama: /./,
  llamacpp: /./,
  anthropic: /sonnet|opus|haiku/,
  openai: /^gpt-[\d.]+(?:-mini)?$/,
  google: /^gemini-[\d.]+-(?:pro|flash)$/,
  openrouter: /^openrouter\/auto$|^(?:anthropic\/claude-sonnet|openai\/gpt|google\/gemini)-[\d.]+$/,
};

/** Those of this machine first. A provider that does not answer has none. */
export async function detectModels(
  context: CommandContext,
  config: PartialConfig,
): Promise<readonly DetectedModel[]> {
  const providers = openProviders(context, config);
  const found = await Promise.all(
    PROVIDER_NAMES.map(async (name) => {
      const variable = keyVariable(name, config);
      const isLocal = variable === undefined;
      if (!isLocal && (context.environment.variables[variable] ?? "") === "") return [];
      const ids = await listIds(providers, name, isLocal ? LOCAL_MS : HOSTED_MS);
      const reason = isLocal ? "runs on this machine" : `its key is in ${variable}`;
      return ids.map((id) => ({ id, reason, isLocal }));
    }),
  );
  const models = found.flat();
  return [...models.filter(({ isLocal }) => isLocal), ...models.filter(({ isLocal }) => !isLocal)];
}

/** The environment variable that holds its key; undefined for a server that wants none. */
export function keyVariable(provider: ProviderName, config: PartialConfig): string | undefined {
  const settings = config.providers?.llm?.[provider];
  return settings !== undefined && "api_key_env" in settings ? settings.api_key_env : undefined;
}

async function listIds(
  providers: Providers,
  provider: ProviderName,
  limit: number,
): Promise<readonly string[]> {
  try {
    const models = await providers.list(provider, AbortSignal.timeout(limit));
    return (
      models
        .map(({ name }) => name)
        // What cannot be shown as it is cannot be chosen by its name either.
        .filter((name) => WORTHWHILE[provider].test(name) && oneLine(name) === name)
        .slice(0, MOST_OF_ONE)
        .map((name) => `${provider}/${name}`)
    );
  } catch {
    return [];
  }
}
