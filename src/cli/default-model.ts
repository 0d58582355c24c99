/**
 * The model of somebody who has configured none: one that runs on this machine, else one whose key is
 * in the environment. Nothing is picked in silence.
 */
import { modelIdToText, type PartialConfig } from "../config/index.ts";
import { oneLine } from "../render/index.ts";
import type { ModelInfo, Providers } from "../provider/index.ts";
import { CodedError } from "../util/index.ts";
import type { CommandContext } from "./compose.ts";
import { openProviders } from "./models.ts";

export interface FoundModel {
  readonly provider: string;
  readonly name: string;
}

/** A server on this machine answers at once, or it is not there. */
const LOCAL_MS = 500;
const HOSTED_MS = 5000;

const LOCAL = ["ollama", "llamacpp"] as const;

/** What is asked for first where a key opens many models. */
const PREFERRED = {
  anthropic: /sonnet/,
  openai: /^gpt-[\d.]+$/,
  google: /^gemini-[\d.]+-flash$/,
  openrouter: /^openrouter\/auto$/,
} as const;

/** Says which it is and how to choose another. Throws `no_model`, with the ways to get one. */
export async function findDefaultModel(
  context: CommandContext,
  config: PartialConfig,
): Promise<FoundModel> {
  const providers = openProviders(context, config);
  const found = (await findLocal(providers)) ?? (await findHosted(context, config, providers));
  if (found === undefined) throw noModel();
  const id = oneLine(modelIdToText(found));
  context.output.notice(
    `No model is configured: this is ${id}. Keep it, or another: jp config set assistant.model.id ${id}`,
  );
  return found;
}

async function findLocal(providers: Providers): Promise<FoundModel | undefined> {
  const found = await Promise.all(
    LOCAL.map(async (provider) => {
      const [first] = await list(providers, provider, LOCAL_MS);
      return first && { provider, name: first.name };
    }),
  );
  return found.find((model) => model !== undefined);
}

async function findHosted(
  { environment }: CommandContext,
  config: PartialConfig,
  providers: Providers,
): Promise<FoundModel | undefined> {
  for (const [provider, preferred] of Object.entries(PREFERRED)) {
    const key = config.providers?.llm?.[provider as keyof typeof PREFERRED]?.api_key_env ?? "";
    if ((environment.variables[key] ?? "") === "") continue;
    const models = await list(providers, provider, HOSTED_MS);
    const model = models.find(({ name }) => preferred.test(name)) ?? models[0];
    if (model !== undefined) return { provider, name: model.name };
  }
  return undefined;
}

/** Nothing, for whatever reason, is no model. */
async function list(
  providers: Providers,
  provider: string,
  milliseconds: number,
): Promise<readonly ModelInfo[]> {
  try {
    return await providers.list(provider, AbortSignal.timeout(milliseconds));
  } catch {
    return [];
  }
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
