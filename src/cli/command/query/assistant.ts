/** The assistant of a query: its config, its model, and what it is told about where it is. */
import type { Assistant, Toolbox } from "../../../agent/index.ts";
import { type AssistantSettings, mergeConfig, resolveAssistant } from "../../../config/index.ts";
import type { Attachment } from "../../../conversation/index.ts";
import { type Model, ProviderError, type Providers } from "../../../provider/index.ts";
import type { Surroundings, Tools } from "../../../runtime/index.ts";
import type { Conversation } from "../../../storage/index.ts";
import type { TrustedConfig } from "../../../trust/index.ts";
import { isJpError } from "../../../util/index.ts";
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

/** Throws `ProviderError`. The hint helps where a conversation remembers a model that is gone. */
export async function findModel(
  providers: Providers,
  { assistant: { model } }: LoadedAssistant,
  isContinuing: boolean,
): Promise<Model> {
  try {
    return await providers.model(model.provider, model.name);
  } catch (error) {
    if (!isContinuing || !(error instanceof ProviderError)) throw error;
    const { kind, message, isRetryable } = error;
    const hint =
      `${error.hint ?? ""} This conversation uses ${model.provider}/${model.name}. ` +
      "Choose another model with -m, or start a new conversation with -n.";
    throw new ProviderError(kind, message, { isRetryable, hint, cause: error });
  }
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
