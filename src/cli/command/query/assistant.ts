/** Who answers: the config of the conversation, with what the command line says of the model. */
import { type AssistantSettings, mergeConfig, resolveAssistant } from "../../../config/index.ts";
import type { ConversationId } from "../../../conversation/index.ts";
import { isCodedError } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { findDefaultModel } from "../../detect-models.ts";
import type { ConfigFlags } from "../../load-config.ts";
import type { InteractionFlags } from "../../prompter.ts";
import { tellWithheld, type TrustedConfig, trustedConfig } from "../../trust.ts";

export interface AssistantFlags extends Omit<ConfigFlags, "id">, InteractionFlags {
  readonly model?: string;
  /** `key=value` or `key:=JSON`. */
  readonly param?: readonly string[];
}

export interface LoadedAssistant extends TrustedConfig {
  readonly assistant: AssistantSettings;
}

/** Throws what is wrong with the config, and `no_model`. */
export async function loadAssistant(
  context: CommandContext,
  { cfg = [], directives = [], model, param = [], ...interaction }: AssistantFlags,
  id: ConversationId | undefined,
): Promise<LoadedAssistant> {
  const settings = [
    ...cfg,
    ...(model === undefined ? [] : [`assistant.model.id=${model}`]),
    ...param.map((words) => `assistant.model.parameters.${words}`),
  ];
  const flags = { cfg: settings, directives, ...(id !== undefined && { id }) };
  const trusted = await trustedConfig(context, flags, interaction);
  tellWithheld(trusted, context);
  const { config } = trusted;
  try {
    return { ...trusted, assistant: resolveAssistant(config) };
  } catch (error) {
    if (!isCodedError(error) || error.code !== "no_model") throw error;
  }
  const found = await findDefaultModel(context, config);
  // From now on it is the model of this conversation.
  const withModel = mergeConfig(config, { assistant: { model: { id: found } } });
  return { ...trusted, config: withModel, assistant: resolveAssistant(withModel) };
}
