/** Who answers: the config of the conversation, with what the command line says of the model. */
import {
  type AssistantSettings,
  mergeConfig,
  type PartialConfig,
  resolveAssistant,
} from "../../../config/index.ts";
import type { ConversationId } from "../../../conversation/index.ts";
import { isCodedError } from "../../../util/index.ts";
import type { CommandContext } from "../../compose.ts";
import { findDefaultModel } from "../../default-model.ts";
import { type ConfigFlags, configInForce } from "../../load-config.ts";

export interface AssistantFlags extends Omit<ConfigFlags, "id"> {
  readonly model?: string;
  /** `key=value` or `key:=JSON`. */
  readonly param?: readonly string[];
}

export interface LoadedAssistant {
  readonly config: PartialConfig;
  readonly assistant: AssistantSettings;
}

/** Throws what is wrong with the config, and `no_model`. */
export async function loadAssistant(
  context: CommandContext,
  { cfg = [], directives = [], model, param = [] }: AssistantFlags,
  id: ConversationId | undefined,
): Promise<LoadedAssistant> {
  const settings = [
    ...cfg,
    ...(model === undefined ? [] : [`assistant.model.id=${model}`]),
    ...param.map((words) => `assistant.model.parameters.${words}`),
  ];
  const flags = { cfg: settings, directives, ...(id !== undefined && { id }) };
  const config = await configInForce(context, flags);
  try {
    return { config, assistant: resolveAssistant(config) };
  } catch (error) {
    if (!isCodedError(error) || error.code !== "no_model") throw error;
  }
  const found = await findDefaultModel(context, config);
  // From now on it is the model of this conversation.
  const withModel = mergeConfig(config, { assistant: { model: { id: found } } });
  return { config: withModel, assistant: resolveAssistant(withModel) };
}
