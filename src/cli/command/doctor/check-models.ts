/** The model that answers, and the servers on this machine. Keys are looked for, and never shown. */
import { type PartialConfig, resolveAssistant } from "../../../config/index.ts";
import {
  type ModelInfo,
  PROVIDER_NAMES,
  ProviderError,
  type Providers,
} from "../../../provider/index.ts";
import { isCodedError } from "../../../util/index.ts";
import { machineOf } from "../../load-config.ts";
import type { CommandContext } from "../../compose.ts";
import { openProviders } from "../../../runtime/index.ts";
import { keyVariable } from "../../detect-models.ts";
import { type Finding, findingOf } from "./finding.ts";

const LOCAL = ["ollama", "llamacpp"] as const;
const LOCAL_MS = 1000;
const HOSTED_MS = 5000;

export async function checkModels(
  context: CommandContext,
  config: PartialConfig,
): Promise<readonly Finding[]> {
  const providers = openProviders(machineOf(context), config);
  const [model, ...servers] = await Promise.all([
    checkModel(providers, config),
    ...LOCAL.map((name) => checkServer(providers, name, config)),
  ]);
  const hasKey = PROVIDER_NAMES.some((name) => {
    const variable = keyVariable(name, config) ?? "";
    return (context.environment.variables[variable] ?? "") !== "";
  });
  const hasServer = servers.some(({ hasModels }) => hasModels);
  return [model ?? withoutModel(hasKey || hasServer), ...servers.map(({ finding }) => finding)];
}

/** jp query looks for one by itself, if there is one to be found. */
function withoutModel(isToBeFound: boolean): Finding {
  const check = "model";
  if (isToBeFound) {
    return {
      check,
      state: "warning",
      message: "No model is configured; the first that is found answers.",
      hint: "Choose one: jp config set assistant.model.id provider/name",
    };
  }
  return {
    check,
    state: "problem",
    message: "No model is configured, and none was found.",
    hint: "Start Ollama or a llama.cpp server, or put a provider's key into its variable.",
  };
}

/**
 * Its provider is asked for its list: that shows whether it is there, and takes the key. Undefined if
 * none is configured.
 */
async function checkModel(
  providers: Providers,
  config: PartialConfig,
): Promise<Finding | undefined> {
  const check = "model";
  let model: { readonly provider: string; readonly name: string };
  try {
    ({ model } = resolveAssistant(config));
  } catch (error) {
    if (isCodedError(error) && error.code === "no_model") return undefined;
    return findingOf(check, error);
  }
  const id = `${model.provider}/${model.name}`;
  try {
    const listed = await list(providers, model.provider);
    if (listed.some(({ name }) => name === model.name)) {
      return { check, state: "ok", message: `${id} can be reached` };
    }
    const message = `${model.provider} can be reached, but does not list ${model.name}.`;
    return { check, state: "warning", message, hint: `See: jp model ls ${model.provider}` };
  } catch (error) {
    return findingOf(check, explain(error, `${id} did not answer in time.`));
  }
}

interface CheckedServer {
  readonly finding: Finding;
  readonly hasModels: boolean;
}

/** Not everybody has one: that none is there is nothing wrong. */
async function checkServer(
  providers: Providers,
  name: (typeof LOCAL)[number],
  config: PartialConfig,
): Promise<CheckedServer> {
  const url = config.providers?.llm?.[name]?.base_url ?? "";
  try {
    const { length } = await list(providers, name);
    const models = length === 1 ? "1 model" : `${length} models`;
    const finding = { check: name, state: "ok", message: `${models} at ${url}` } as const;
    return { finding, hasModels: length > 0 };
  } catch (error) {
    const isAbsent = !(error instanceof ProviderError) || error.kind === "network";
    const finding: Finding = isAbsent
      ? { check: name, state: "ok", message: `none at ${url}` }
      : findingOf(name, error, "warning");
    return { finding, hasModels: false };
  }
}

async function list(providers: Providers, provider: string): Promise<readonly ModelInfo[]> {
  const isLocal = LOCAL.some((name) => name === provider);
  const limit = isLocal ? LOCAL_MS : HOSTED_MS;
  return providers.list(provider, AbortSignal.timeout(limit));
}

function explain(error: unknown, late: string): unknown {
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  return isLate ? late : error;
}
