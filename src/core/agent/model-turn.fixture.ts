/** A whole turn with a scripted model. */
import { setImmediate } from "node:timers/promises";
import { vi } from "vitest";
import { type ConversationEvent, eventsOf } from "../../record/conversation/index.ts";
import { transcript } from "../../record/conversation/transcript.fixture.ts";
import type { Model } from "../../reach/provider/index.ts";
import type { ConversationWriter } from "../../stores/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  type PrompterScript,
  type ScriptedAnswers,
  ScriptedInquiryBackend,
  ScriptedModel,
  type ScriptedModelOptions,
  ScriptedPrompter,
  type ScriptedStep,
} from "../../testing/index.ts";
import {
  type Assistant,
  type Toolbox,
  Turn,
  type TurnEnd,
  type TurnMessage,
  type TurnSetup,
  type TurnUpdate,
  type Prompter,
} from "./index.ts";
import { toolboxOf, type ToolTurnOptions } from "./tool-turn.fixture.ts";

export interface ModelTurnOptions extends Partial<Pick<ToolTurnOptions, "tools" | "config">> {
  readonly replies: ScriptedModelOptions["replies"];
  readonly script?: PrompterScript;
  readonly answers?: ScriptedAnswers;
  readonly assistant?: Partial<Assistant>;
  readonly attachments?: TurnSetup["attachments"];
  readonly maxCycles?: number;
  readonly limits?: TurnSetup["limits"];
  /** Whether there is a person. True by default. */
  readonly isInteractive?: boolean;
  /** In place of the scripted one. */
  readonly prompter?: Prompter;
  /** Whether Ctrl-C opens a menu. True by default. */
  readonly hasMenu?: boolean;
  readonly userName?: string;
  /** Whether a pause before a retry lasts until the test moves the clock. Otherwise it ends at once. */
  readonly waitsForRetries?: boolean;
  readonly schemas?: Toolbox["schemas"];
  readonly steering?: TurnSetup["steering"];
  readonly conversation?: ConversationWriter;
  /** Called before each write; it may fail or be slow. */
  readonly beforeAppend?: (events: readonly ConversationEvent[]) => Promise<void> | void;
}

export class ModelTurn {
  readonly model: ScriptedModel;
  readonly prompter: ScriptedPrompter;
  readonly inquiries: ScriptedInquiryBackend;
  readonly clock = new FakeClock();
  readonly conversation: ConversationWriter;
  /** Everything that was observed. */
  readonly updates: TurnUpdate[] = [];
  readonly #options: ModelTurnOptions;
  readonly #turn: Turn;

  private constructor(options: ModelTurnOptions, conversation: ConversationWriter) {
    const { tools = [], config = {}, hasMenu = true, maxCycles = 10 } = options;
    this.#options = options;
    this.conversation = conversation;
    this.model = new ScriptedModel({ replies: options.replies });
    this.prompter = new ScriptedPrompter(options.script);
    this.prompter.isAvailable = options.isInteractive ?? true;
    this.inquiries = new ScriptedInquiryBackend(options.answers ?? {});
    const toolbox = toolboxOf({ tools, config });
    this.#turn = new Turn({
      conversation: withCheckedAppends(conversation, options.beforeAppend),
      model: withUnfinishedSteps(this.model),
      assistant: { ...ASSISTANT, ...options.assistant },
      attachments: options.attachments ?? [],
      tools: options.schemas === undefined ? toolbox : { ...toolbox, schemas: options.schemas },
      prompter: options.prompter ?? this.prompter,
      ...(hasMenu && { menu: this.prompter }),
      ...(options.steering !== undefined && { steering: options.steering }),
      inquiries: this.inquiries,
      clock: this.clock,
      maxCycles,
      ...(options.limits !== undefined && { limits: options.limits }),
      ...(options.userName !== undefined && { userName: options.userName }),
      observer: { observe: (update) => this.#observe(update) },
    });
  }

  static async create(options: ModelTurnOptions): Promise<ModelTurn> {
    const { conversation } = options;
    return new ModelTurn(
      options,
      conversation ?? (await new MemoryConversationStore(new FakeClock()).create({})),
    );
  }

  run(request: string | TurnMessage = "Hello"): Promise<TurnEnd> {
    return this.#turn.run(typeof request === "string" ? { content: request } : request);
  }

  /** Continues the turn that the record ends with. */
  resume(): Promise<TurnEnd> {
    return this.#turn.resume();
  }

  /** Ctrl-C. */
  press(): void {
    this.#turn.interrupt();
  }

  /** A request from outside to end the turn. */
  leave(): void {
    this.#turn.leave();
  }

  /** Waits until an update of this kind was observed. */
  async saw(type: TurnUpdate["type"], ofEvent?: ConversationEvent["type"]): Promise<void> {
    await until(() =>
      this.updates.some(
        (update) =>
          update.type === type &&
          (ofEvent === undefined || (update.type === "event" && update.event.type === ofEvent)),
      ),
    );
  }

  get events(): readonly ConversationEvent[] {
    return [...eventsOf(this.conversation.stream.entries)];
  }

  /** The record, a line per event. */
  get record(): readonly string[] {
    return transcript(this.events);
  }

  /** The lines that the model was shown with each request. */
  get shown(): readonly (readonly string[])[] {
    return this.model.requests.map(({ parts }) => transcript(parts.events));
  }

  #observe(update: TurnUpdate): void {
    this.updates.push(update);
    if (update.type !== "retry_start" || this.#options.waitsForRetries === true) return;
    queueMicrotask(() => this.clock.advance(update.delayMs)); // The pause begins after this.
  }
}

const UNFINISHED = { isUnfinished: true };

/** A step of the model: a text that has not ended yet. */
export function unfinished(text: string, type: "text" | "reasoning" = "text"): ScriptedStep {
  return { type, text, metadata: UNFINISHED };
}

/** A step of the model: a call whose arguments never arrive. */
export function unfinishedCall(): ScriptedStep {
  return { type: "tool_call", id: "unfinished", name: "any", metadata: UNFINISHED };
}

/** Scripted steps always end; the end of those marked as unfinished is removed here. */
function withUnfinishedSteps(model: Model): Model {
  return {
    id: model.id,
    async *stream(request) {
      for await (const event of model.stream(request)) {
        if ("metadata" in event && event.metadata === UNFINISHED) continue;
        yield event;
      }
    },
  };
}

/** Waits for a condition that other work fulfils. */
export async function until(isSo: () => boolean): Promise<void> {
  const check = () => {
    if (!isSo()) throw new Error("It has not come to that.");
  };
  await vi.waitFor(check, { interval: 1, timeout: 20_000 });
}

/** Lets all work run that is ready to. */
export async function settle(): Promise<void> {
  await setImmediate();
}

const ASSISTANT: Assistant = {
  sections: [],
  parameters: { other: {} },
  toolChoice: "auto",
  cache: "off",
  request: {
    maxRetries: 2,
    baseBackoffMs: 1000,
    maxBackoffMs: 60_000,
    idleTimeoutMs: 0,
    promptTimeoutMs: 0,
    maxResponseBytes: 0,
  },
};

export const REQUEST_LIMITS = ASSISTANT.request;

function withCheckedAppends(
  conversation: ConversationWriter,
  check: ModelTurnOptions["beforeAppend"],
): ConversationWriter {
  const append: ConversationWriter["append"] = async (...events) => {
    await check?.(events);
    await conversation.append(...events);
  };
  return new Proxy(conversation, {
    get(target, key) {
      if (key === "append") return append;
      const value = Reflect.get(target, key) as unknown;
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
