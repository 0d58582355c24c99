/** The assistant of a query: its config, its model, and what it is told about where it is. */
import type { Assistant, Toolbox } from "../../../agent/index.ts";
import { type AssistantSettings, mergeConfig, resolveAssistant } from "../../../config/index.ts";
import type { Attachment } from "../../../conversation/index.ts";
import {
  isLocalProvider,
  type Model,
  type ModelInfo,
  ProviderError,
  type Providers,
} from "../../../provider/index.ts";
import type { Surroundings, Tools } from "../../../runtime/index.ts";
import type { Conversation } from "../../../storage/index.ts";
import type { TrustedConfig } from "../../../trust/index.ts";
import { findClosest, isJpError } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { findDefaultModel } from "../../detect-models.ts";
import type { ConfigFlags } from "../../load-config.ts";
import type { InteractionFlags } from "../../prompter.ts";
import { surroundingsOf } from "../../surroundings.ts";
import { trustedConfig, warnWithheld } from "../../trust.ts";

export interface AssistantFlags extends Omit<ConfigFlags, "id">, InteractionFlags {
  readonly model?: string;
  /** `key=value` or `key:=JSON`. */
  readonly param?: readonly string[];
}

export interface LoadedAssistant extends TrustedConfig {
  readonly assistant: AssistantSettings;
  readonly surroundings: Promise<Surroundings>;
}

/** Throws what is wrong with the config, and `no_model`. */
export async function loadAssistant(
  context: CommandContext,
  { cfg = [], directives = [], model, param = [], ...interaction }: AssistantFlags,
  conversation: Conversation | undefined,
): Promise<LoadedAssistant> {
  const settings = [
    ...cfg,
    ...(model === undefined ? [] : [`assistant.model.id=${model}`]),
    ...param.map((words) => `assistant.model.parameters.${words}`),
  ];
  const flags = {
    cfg: settings,
    directives,
    usesInstructions: true,
    ...(conversation !== undefined && { id: conversation.id, conversation }),
  };
  const trusted = await trustedConfig(context, flags, interaction);
  warnWithheld(trusted, context);
  const { config } = trusted;
  const surroundings = surroundingsOf(context, trusted);
  try {
    return { ...trusted, surroundings, assistant: resolveAssistant(config) };
  } catch (error) {
    if (!isJpError(error) || error.code !== "no_model") throw error;
  }
  const found = await findDefaultModel(context, config);
  // The conversation keeps this model.
  const withModel = mergeConfig(config, { assistant: { model: { id: found } } });
  return { ...trusted, surroundings, config: withModel, assistant: resolveAssistant(withModel) };
}

interface ModelFlags extends Pick<AssistantFlags, "model"> {
  /** The conversation starts with this turn. */
  readonly isNew: boolean;
}

interface FoundModel {
  readonly model: Model;
  /** The server could not say whether it has a model of the name that the user typed. */
  readonly isNameInDoubt: boolean;
}

/** Throws `ProviderError`. The hint helps where a conversation remembers a model that is gone. */
export async function findModel(
  providers: Providers,
  loaded: LoadedAssistant,
  { model: typed, isNew }: ModelFlags,
): Promise<FoundModel> {
  const { model } = loaded.assistant;
  try {
    const found = await providers.model(model.provider, model.name);
    const { aliases = {} } = loaded.config.providers?.llm ?? {};
    const isChecked = typed !== undefined && !Object.hasOwn(aliases, typed);
    return {
      model: found,
      isNameInDoubt: isChecked && (await isInDoubt(providers, model)),
    };
  } catch (error) {
    if (isNew || typed !== undefined || !(error instanceof ProviderError)) throw error;
    const { kind, message, isRetryable } = error;
    const hint =
      `${error.hint ?? ""} This conversation uses ${model.provider}/${model.name}. ` +
      "Choose another model with -m, or start a new conversation with -n.";
    throw new ProviderError(kind, message, { isRetryable, hint, cause: error });
  }
}

const LIST_TIMEOUT_MS = 5000;

/** A model name that the user has typed, compared with those that the provider lists. */
export type CheckedName =
  /** Or a name for whatever the server has. */
  | { readonly type: "listed" }
  | { readonly type: "unlisted"; readonly error: ProviderError; readonly isMistyped: boolean }
  /** The provider cannot be asked. */
  | { readonly type: "unknown"; readonly reason: unknown };

export async function checkName(
  providers: Providers,
  { provider, name }: AssistantSettings["model"],
): Promise<CheckedName> {
  let listed: readonly ModelInfo[];
  try {
    listed = await providers.list(provider, AbortSignal.timeout(LIST_TIMEOUT_MS));
  } catch (reason) {
    return { type: "unknown", reason };
  }
  const names = listed.map((model) => model.name);
  if (names.length === 0)
    return { type: "unknown", reason: new Error(`${provider} lists no models.`) };
  // Ollama adds the tag itself.
  if (names.includes(name) || names.includes(`${name}:latest`)) return { type: "listed" };
  const closest = findClosest(name, names);
  // A server with one model is often asked for `default` or the like.
  const takesAny = listed.some(({ isForAnyName }) => isForAnyName === true);
  if (takesAny && closest === undefined) return { type: "listed" };
  const message = `${provider} does not list the model ${name}.`;
  const hint =
    closest === undefined
      ? `Run \`jp model ls ${provider}\` to list the available models.`
      : `Did you mean ${provider}/${closest}?`;
  const error = new ProviderError("unknown_model", message, { isRetryable: false, hint });
  return { type: "unlisted", error, isMistyped: closest !== undefined && isTypo(name, closest) };
}

/** Letters that are missing, added or swapped. Another letter or number is more likely another model. */
function isTypo(name: string, meant: string): boolean {
  const typed = lettersOf(name);
  const known = lettersOf(meant);
  if (typed.join("") === known.join("")) return false;
  return typed.length !== known.length || typed.toSorted().join("") === known.toSorted().join("");
}

function lettersOf(name: string): readonly string[] {
  return name.match(/[a-z]/gi) ?? [];
}

/**
 * A local server may take any name, and answer with the model it has. All others refuse a wrong one themselves. Throws
 * `unknown_model`.
 */
async function isInDoubt(
  providers: Providers,
  model: AssistantSettings["model"],
): Promise<boolean> {
  if (!isLocalProvider(model.provider)) return false;
  const checked = await checkName(providers, model);
  if (checked.type === "unlisted" && checked.isMistyped) throw checked.error;
  return checked.type !== "listed";
}

/** What a request is made of. */
export interface RequestParts {
  readonly assistant: Assistant;
  readonly surroundings: Surroundings;
  readonly toolbox: Toolbox;
  readonly attachments: readonly Attachment[];
}

interface LoadedParts extends Pick<RequestParts, "attachments"> {
  readonly loaded: LoadedAssistant;
  readonly tools: Pick<Tools, "toolbox">;
}

/** Besides the conversation. */
export async function requestParts({
  loaded: { config, assistant, surroundings },
  tools: { toolbox },
  attachments,
}: LoadedParts): Promise<RequestParts> {
  const isChained =
    assistant.model.provider === "anthropic" &&
    (config.providers?.llm?.anthropic?.chain_on_max_tokens ?? false);
  return {
    assistant: { ...assistant, isChained },
    surroundings: await surroundings,
    toolbox,
    attachments,
  };
}
