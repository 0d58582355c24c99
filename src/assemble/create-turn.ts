/**
 * Assembles a turn. The command, embedding programs and servers all go through `createTurn`, so that they cannot
 * drift apart.
 */
import {
  type Assistant,
  type DataValidator,
  guardObserver,
  guardPrompter,
  type InterruptMenu,
  noPrompter,
  type Toolbox,
  Turn,
} from "../core/agent/index.ts";
import { DEFAULT_LIMITS, resolveAssistant } from "../settings/config/index.ts";
import { knownPeople } from "../record/conversation/index.ts";
import type { InquiryBackend } from "../core/answer-model/index.ts";
import { createPolicy, type Policy } from "../core/policy/index.ts";
import type { ToolSchema } from "../reach/provider/index.ts";
import { findTracing } from "./telemetry/index.ts";
import { systemClock } from "../util/index.ts";
import { toCompactionSetup } from "./compaction.ts";
import {
  createInquiries,
  inquiryModelsOf,
  type InquiryModels,
  withSurroundings,
} from "./inquiry-models.ts";
import { toModel } from "./model.ts";
import { deferring } from "./tools.ts";
import type { TurnOptions } from "./turn-options.ts";

/** More parts, for programs that assemble a turn themselves, as the command does. */
export interface CreateTurnOptions extends Omit<TurnOptions, keyof ToolOptions> {
  /** Tools that are already open. */
  readonly toolbox: Toolbox;
  /** Lets the user choose what to do about an interrupted turn. */
  readonly menu?: InterruptMenu;
  /** Chooses a model for each question by its `target`, instead of `inquiryModel`. */
  readonly inquiryModels?: InquiryModels;
  /** Answers instead of any model. */
  readonly inquiries?: InquiryBackend;
  /** Checks data that already matches the message's JSON Schema, and may convert it. */
  readonly validateData?: DataValidator;
  /** Do not start while the last turn waits for a person. */
  readonly protectsPending?: boolean;
  /** See `TurnSetup`. */
  readonly startsNext?: boolean;
  /** See `TurnSetup`. */
  readonly waitForReader?: () => Promise<void>;
  /** False disables spans, even if an OpenTelemetry SDK is registered. */
  readonly isTraced?: boolean;
  /** Rules, saved permissions and the mode. Without it, only the rules in the tools' own config apply. */
  readonly policy?: Policy;
}

/** The options that become a toolbox. */
type ToolOptions = Pick<
  TurnOptions,
  "tools" | "mcpServers" | "variables" | "askUser" | "tellUser" | "toolConfig"
>;

const MAX_CYCLES = 50;

/** A turn that has not started. The caller has to pass on `signal`. */
export function createTurn(options: CreateTurnOptions): Turn {
  const { attachments = [], prompter = noPrompter, conversation } = options;
  const { clock = conversation.clock ?? systemClock } = options;
  const { answers, menu, steering, observer, validateData, waitForReader } = options;
  const model = toModel(options.model);
  const assistant = withSurroundings(createAssistant(options), options.surroundings);
  const { toolbox } = options;
  const tools = options.defer === true ? deferring(toolbox) : toolbox;
  let schemas: readonly ToolSchema[] = [];
  const { inquiryModel = model } = options;
  const inquiryModels = inquiryModelsOf(options, toModel(inquiryModel), assistant);
  const { tracesContent, isTraced = true } = options;
  const trace = isTraced ? findTracing({ tracesContent }) : undefined;
  return new Turn({
    conversation: options.conversation,
    model,
    assistant,
    tools: { ...tools, schemas: async (signal) => (schemas = await tools.schemas(signal)) },
    prompter: guardPrompter(prompter, clock),
    ...(options.userName !== undefined && { userName: options.userName }),
    ...knownPeople(options),
    ...(options.startedBy !== undefined && { startedBy: options.startedBy }),
    allowsForeignTurn: options.allowsForeignTurn ?? false,
    protectsPending: options.protectsPending ?? false,
    startsNext: options.startsNext ?? true,
    ...(answers !== undefined && { answers }),
    policy: options.policy ?? createPolicy({ root: "." }),
    ...(menu !== undefined && { menu }),
    ...(steering !== undefined && { steering }),
    // The inquiry model sees the same tools, so that both can share a cache.
    inquiries:
      options.inquiries ??
      createInquiries({
        ...inquiryModels,
        tools: () => schemas,
        attachments: () => attachments,
        clock,
      }),
    clock,
    maxCycles: options.maxCycles ?? MAX_CYCLES,
    attachments,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    compaction: toCompactionSetup(options.compaction),
    ...(validateData !== undefined && { validateData }),
    ...(trace !== undefined && { trace }),
    ...(waitForReader !== undefined && { waitForReader }),
    ...(observer !== undefined && { observer: guardObserver(observer, options.conversation.id) }),
  });
}

/** The program brings its own model; everything else uses the command's defaults. */
function createAssistant({
  systemPrompt,
  assistant,
}: Pick<TurnOptions, "systemPrompt" | "assistant">): Assistant {
  const { parameters, toolChoice, cache, request, sections } = resolveAssistant({
    assistant: { model: { id: { provider: "own", name: "own" } } },
  });
  return {
    sections,
    parameters,
    toolChoice,
    cache,
    request,
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...assistant,
  };
}
