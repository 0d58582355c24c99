/** Finds models that are ready to use: on local servers, or with an API key that is set. */
import type { PartialConfig } from "../settings/config/index.ts";
import type { ProviderName, Providers } from "../reach/provider/index.ts";
import { isDeepEqual, isJpError, JpError, oneLine } from "../util/index.ts";
import { machineOf, type Place } from "./place.ts";
import { openProviders } from "./providers.ts";
import { rememberedConfig } from "./remembered-config.ts";

/**
 * For a user without a configured model: the first one found, with a notice that names it. Throws `no_model`, with
 * ways to get one. In a session, both name its commands.
 */
export async function findDefaultModel(
  place: Place,
  config: PartialConfig,
  { isSession }: { readonly isSession: boolean },
): Promise<Pick<DetectedModel, "provider" | "name">> {
  for await (const { id, provider, name } of detectModels(place, config)) {
    if (!(await isInUse(place, { provider, name }))) {
      const way = isSession ? "/model" : `jp config set assistant.model.id ${id}`;
      noticeOnce(place, `No model configured; using ${id}. To choose one: ${way}`);
    }
    return { provider, name };
  }
  throw new JpError("no_model", "No model is configured, and none was found.", {
    hint: [
      "Do one of these:",
      "  - start Ollama or a llama.cpp server on this machine",
      "  - set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY",
      "  - choose a model: jp config set assistant.model.id provider/name",
      `  - choose one for ${isSession ? "this conversation: /model" : "a conversation: jp query -m"} provider/name`,
    ].join("\n"),
  });
}

function noticeOnce({ printed, notice }: Place, text: string): void {
  if (!printed.has(text)) notice(text);
  printed.add(text);
}

/** Whether the newest conversation uses it, so the user has already seen the notice. */
async function isInUse(
  place: Place,
  { provider, name }: Pick<DetectedModel, "provider" | "name">,
): Promise<boolean> {
  try {
    const { conversations } = place.workspace;
    const [newest] = await conversations.list({ limit: 1 });
    if (newest === undefined) return false;
    const { stream } = await conversations.load(newest.id);
    const { assistant } = await rememberedConfig(stream);
    const { id } = assistant?.model ?? {};
    return isDeepEqual(id, { provider, name });
  } catch (error) {
    if (isJpError(error)) return false; // Opening that conversation reports it.
    throw error;
  }
}

export interface DetectedModel {
  /** `provider/name`. */
  readonly id: string;
  readonly provider: ProviderName;
  readonly name: string;
  /** Why it is available. */
  readonly reason: string;
}

/** A refused connection is reported at once; this is for a server that accepts and stays silent. */
const LOCAL_TIMEOUT_MS = 2000;
const HOSTED_TIMEOUT_MS = 5000;
const MAX_PER_PROVIDER = 6;

export const LOCAL_PROVIDERS = ["ollama", "llamacpp"] as const;

/** A key gives access to many models. These suit conversation and tool use, the best default first. */
const PREFERRED = {
  anthropic: [/sonnet/, /opus|haiku/],
  openai: [/^gpt-[\d.]+$/, /^gpt-[\d.]+-mini$/],
  google: [/^gemini-[\d.]+-flash$/, /^gemini-[\d.]+-pro$/],
  openrouter: [
    /^openrouter\/auto$/,
    /^(?:anthropic\/claude-sonnet|openai\/gpt|google\/gemini)-[\d.]+$/,
  ],
} as const;

/** Local models first. No hosted provider is contacted unless the caller asks for more. */
export async function* detectModels(
  place: Place,
  config: PartialConfig,
): AsyncGenerator<DetectedModel, void> {
  const providers = openProviders(machineOf(place), config);
  const local = await Promise.all(
    LOCAL_PROVIDERS.map((name) => listNames(providers, name, LOCAL_TIMEOUT_MS)),
  );
  for (const [index, provider] of LOCAL_PROVIDERS.entries())
    for (const name of (local[index] ?? []).slice(0, MAX_PER_PROVIDER))
      yield { id: `${provider}/${name}`, provider, name, reason: "runs on this machine" };
  for (const [provider, patterns] of Object.entries(PREFERRED) as [Hosted, readonly RegExp[]][]) {
    const variable = keyVariable(provider, config) ?? "";
    if ((place.environment.variables[variable] ?? "") === "") continue;
    const names = await listNames(providers, provider, HOSTED_TIMEOUT_MS);
    const preferred = patterns.flatMap((pattern) => names.filter((name) => pattern.test(name)));
    const shown = preferred.length === 0 ? names : preferred;
    for (const name of shown.slice(0, MAX_PER_PROVIDER))
      yield { id: `${provider}/${name}`, provider, name, reason: `${variable} is set` };
  }
}

type Hosted = keyof typeof PREFERRED;

/** The environment variable with the provider's API key; undefined if it needs none. */
export function keyVariable(provider: ProviderName, config: PartialConfig): string | undefined {
  const settings = config.providers?.llm?.[provider];
  return settings !== undefined && "api_key_env" in settings ? settings.api_key_env : undefined;
}

/** Empty if the provider does not answer. */
async function listNames(
  providers: Providers,
  provider: ProviderName,
  limit: number,
): Promise<readonly string[]> {
  try {
    const models = await providers.list(provider, AbortSignal.timeout(limit));
    // A name with control characters cannot be shown, so it cannot be offered.
    return models.map(({ name }) => name).filter((name) => oneLine(name) === name);
  } catch {
    return [];
  }
}
