/** A turn without a model: tool calls, and everything the coordinator does about them. */
import {
  parseConfigOrThrow,
  resolveTools,
  type ToolSettings,
} from "../../settings/config/index.ts";
import { toolCall, turnStart } from "../../record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  eventsOf,
  type InquiryResponse,
  lastTurn,
  readTurnProgress,
  type PermissionDecision,
  type ToolCallRequest,
  type ToolCallResponse,
} from "../../record/conversation/index.ts";
import { createBuiltinExecutor, type Executor } from "../../reach/executor/index.ts";
import type { ConversationWriter } from "../../stores/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  type PrompterScript,
  type ScriptedAnswers,
  ScriptedInquiryBackend,
  ScriptedPrompter,
} from "../../testing/index.ts";
import type { Tool } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { RememberedAnswer } from "./memory.ts";
import {
  type CallableTool,
  createJournal,
  PromptQueue,
  type Toolbox,
  ToolCycle,
  type TurnContext,
  TurnState,
} from "./index.ts";

export interface ToolTurnOptions {
  /** Builtin tools, or executors by name. */
  readonly tools: readonly (Tool | NamedExecutor)[];
  /** By tool. Defaults apply, except that tools run unattended. */
  readonly config?: Readonly<Record<string, JsonObject>>;
  readonly script?: PrompterScript;
  readonly answers?: ScriptedAnswers;
  readonly isInteractive?: boolean;
  readonly conversation?: ConversationWriter;
  /** Replacements for the usual parts. */
  readonly parts?: Partial<
    Pick<TurnContext, "tools" | "prompter" | "inquiries" | "limits" | "observer" | "policy">
  >;
}

export interface NamedExecutor extends Partial<
  Pick<CallableTool, "isReadOnly" | "effect" | "argumentKinds">
> {
  readonly name: string;
  readonly executor: Executor;
}

export class ToolTurn {
  readonly prompter: ScriptedPrompter;
  readonly inquiries: ScriptedInquiryBackend;
  readonly clock = new FakeClock();
  readonly conversation: ConversationWriter;
  parts: TurnContext;

  private constructor(options: ToolTurnOptions, conversation: ConversationWriter) {
    this.conversation = conversation;
    this.prompter = new ScriptedPrompter(options.script);
    this.prompter.isAvailable = options.isInteractive ?? true;
    this.inquiries = new ScriptedInquiryBackend(options.answers ?? {});
    this.parts = {
      journal: createJournal(conversation, options.parts?.observer),
      tools: toolboxOf(options),
      prompter: this.prompter,
      prompts: new PromptQueue(),
      inquiries: this.inquiries,
      state: new TurnState(),
      clock: this.clock,
      ...options.parts,
    };
  }

  static async start(options: ToolTurnOptions): Promise<ToolTurn> {
    const conversation =
      options.conversation ?? (await new MemoryConversationStore(new FakeClock()).create({}));
    await conversation.append(turnStart());
    return new ToolTurn(options, conversation);
  }

  /** Keeps everything but the memory of the turn. */
  async nextTurn(): Promise<void> {
    await this.conversation.append(turnStart());
    this.parts = { ...this.parts, state: new TurnState() };
  }

  /** Records the calls. `run` starts them. */
  async begin(...requests: readonly ToolCallRequest[]): Promise<ToolCycle> {
    await this.conversation.append(...requests);
    const { calls } = readTurnProgress(lastTurn(this.conversation));
    return new ToolCycle(this.parts, calls.slice(calls.length - requests.length));
  }

  /** One cycle of calls, to its end. */
  async run(...requests: readonly ToolCallRequest[]): Promise<readonly ToolCallResponse[]> {
    return (await this.begin(...requests)).run();
  }

  /** One call of the tool, to its end. */
  async call(name: string, args: JsonObject = {}): Promise<ToolCallResponse | undefined> {
    const [response] = await this.run(toolCall("call_1", name, args));
    return response;
  }

  /** The remembered answer to the last request about the tool. */
  remembered(tool: string): RememberedAnswer | undefined {
    const request = this.events.findLast(
      (event) => event.type === "inquiry_request" || event.type === "permission_request",
    );
    return request && this.parts.state.find(tool, request);
  }

  get events(): readonly ConversationEvent[] {
    return [...eventsOf(this.conversation.stream.entries)];
  }

  /** The events of one type, in the order of the record. */
  recorded<Type extends ConversationEvent["type"]>(
    type: Type,
  ): readonly Extract<ConversationEvent, { type: Type }>[] {
    return this.events.filter(
      (event): event is Extract<ConversationEvent, { type: Type }> => event.type === type,
    );
  }
}

/** The event without its digest and time. Digests are tested where they matter. */
export function undigested<Event extends InquiryResponse | PermissionDecision>({
  digest: _digest,
  timestamp: _timestamp,
  ...event
}: Event): Omit<Event, "digest" | "timestamp"> {
  return event;
}

export function toolboxOf({
  tools,
  config = {},
}: Pick<ToolTurnOptions, "tools" | "config">): Toolbox {
  const callable = new Map(
    tools.map((tool) => [tool.name, callableTool(tool, config[tool.name] ?? {})]),
  );
  return { schemas: async () => [], find: async (name) => callable.get(name) };
}

function callableTool(tool: Tool | NamedExecutor, config: JsonObject): CallableTool {
  const { name } = tool;
  const isBuiltin = "execute" in tool;
  const { isReadOnly, effect, argumentKinds } = isBuiltin ? {} : tool;
  const settings = settingsOf(name, { source: isBuiltin ? "builtin" : "local", ...config });
  const { isIdempotent } = settings;
  return {
    settings,
    ...(isBuiltin && tool.questions && { questionIds: Object.keys(tool.questions) }),
    ...(isIdempotent !== undefined && { isIdempotent }),
    ...(isReadOnly !== undefined && { isReadOnly }),
    ...(effect !== undefined && { effect }),
    ...(argumentKinds !== undefined && { argumentKinds }),
    executor: isBuiltin ? createBuiltinExecutor(tool, name) : tool.executor,
    describeSource: async () => ({
      origin: isBuiltin ? { type: "builtin" } : { type: "local", command: name },
    }),
    description: {
      name,
      summary: "",
      parameters: isBuiltin ? tool.parameters : { type: "object" },
    },
  };
}

export function settingsOf(name: string, config: JsonObject): ToolSettings {
  const raw = { conversation: { tools: { [name]: { run: "unattended", ...config } } } };
  const settings = resolveTools(parseConfigOrThrow("the test", raw)).get(name);
  if (settings === undefined) throw new Error(`No tool ${name}.`);
  return settings;
}
