/** Creates a turn from config. Every config setting that affects the command's turns is applied here. */
import type { Assistant, Turn } from "../core/agent/index.ts";
import { type PartialConfig, resolveAssistant, resolveLimits } from "../settings/config/index.ts";
import type { Model, Providers } from "../reach/provider/index.ts";
import { configuredCompaction } from "./compaction.ts";
import { configuredInquiryModels } from "./inquiry-models.ts";
import type { Tools } from "./tools.ts";
import { createTurn, type CreateTurnOptions } from "./create-turn.ts";

/** Options that config does not decide, and parts already opened with that config. */
export interface ConfiguredTurnOptions extends Pick<
  CreateTurnOptions,
  | "conversation"
  | "attachments"
  | "surroundings"
  | "answers"
  | "prompter"
  | "directory"
  | "defer"
  | "allowsForeignTurn"
  | "menu"
  | "observer"
  | "clock"
  | "tracesContent"
> {
  readonly model: Model;
  /** Provides the models that answer questions and write summaries. */
  readonly providers: Providers;
  readonly tools: Pick<Tools, "toolbox" | "policy">;
}

/** A turn that has not started. Throws `no_model`. */
export function createConfiguredTurn(
  config: PartialConfig,
  { providers, tools, ...options }: ConfiguredTurnOptions,
): Turn {
  const { user: { name: userName } = {}, conversation: { max_cycles: maxCycles = 1 } = {} } =
    config;
  return createTurn({
    ...options,
    toolbox: tools.toolbox,
    policy: tools.policy,
    assistant: configuredAssistant(config),
    inquiryModels: configuredInquiryModels(config, providers),
    compaction: configuredCompaction(config, providers),
    limits: resolveLimits(config),
    maxCycles,
    ...(userName !== undefined && { userName }),
  });
}

function configuredAssistant(config: PartialConfig): Assistant {
  const assistant = resolveAssistant(config);
  const { anthropic: { chain_on_max_tokens: isChained = false } = {} } =
    config.providers?.llm ?? {};
  return { ...assistant, isChained: isChained && assistant.model.provider === "anthropic" };
}
