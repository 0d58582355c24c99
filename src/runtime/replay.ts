/**
 * Runs the turns of a recorded conversation again, in a new one that is kept in memory, with the answers,
 * permissions and deliveries of then. It ends where something else happens than is on record.
 */
import { closeTurn, lastTurn, type Toolbox, type TurnRequest } from "../agent/index.ts";
import type { ToolSettings } from "../config/index.ts";
import {
  type CancellationReason,
  type ConversationEvent,
  type ConversationStream,
  type EventType,
  type InquiryResponse,
  readTurnProgress,
  timestampToMilliseconds,
  turnsOf,
} from "../conversation/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import { MemoryConversationStore } from "../storage/index.ts";
import { abortable, type JsonObject, systemClock } from "../util/index.ts";
import {
  type Interrupter,
  recordedExecutor,
  recordedInquiries,
  recordedMenu,
  recordedModel,
} from "./recorded-parts.ts";
import { RecordedPrompter } from "./recorded-prompter.ts";
import { type Divergence, type Lane, RecordedTurn } from "./recorded-turn.ts";
import { ReplayClock } from "./replay-clock.ts";
import type { Tools } from "./tools.ts";
import { createTurn, type CreateTurnOptions } from "./turn.ts";

type Replaced = "conversation" | "model" | "tools" | "toolConfig" | "toolbox" | "prompter" | "menu";

/** What is run again, and with what. The rest is as for any turn. */
export interface ReplayOptions extends Omit<CreateTurnOptions, Replaced | "signal"> {
  /** The recorded conversation. It is only read. */
  readonly stream: ConversationStream;
  /** Replies anew. If absent, the recorded replies are used, and no model is asked. */
  readonly model?: CreateTurnOptions["model"];
  /** The tools with their policy. */
  readonly toolbox: Toolbox;
  /** Tools run for real, with the permissions on record. Otherwise their recorded results are used. */
  readonly runsTools?: boolean;
}

export interface ReplayResult {
  /** How many turns were run. */
  readonly turns: number;
  /** Absent if everything was as recorded. */
  readonly divergence?: Divergence;
}

/** Throws `ProviderError`, only if there is a live model. */
export async function replayConversation(options: ReplayOptions): Promise<ReplayResult> {
  const { stream } = options;
  const { baseConfig } = stream;
  const clock = new ReplayClock(options.clock ?? systemClock);
  await using conversation = await new MemoryConversationStore(clock).create({ baseConfig });
  const turns = turnsOf(stream.entries);
  for (const [index, { events }] of turns.entries()) {
    const divergence = await replayTurn({ ...options, clock, conversation }, events, index + 1);
    if (divergence !== undefined) return { turns: index + 1, divergence };
  }
  return { turns: turns.length };
}

interface Parts extends ReplayOptions {
  readonly clock: ReplayClock;
  readonly conversation: ConversationWriter;
}

async function replayTurn(
  parts: Parts,
  events: readonly ConversationEvent[],
  number: number,
): Promise<Divergence | undefined> {
  const { conversation, clock } = parts;
  let running: Interrupter | undefined;
  const [first] = events;
  const delay = first === undefined ? 0 : clock.now().getTime() - timeOf(first);
  const recorded = new RecordedTurn({
    number,
    events,
    comparesWords: parts.model === undefined,
    onNext: (event) => clock.skipTo(timeOf(event) + delay),
    onDivergence: () => running?.leave(),
  });
  const { request } = recorded;
  if (request === undefined) return undefined;
  const { type: _type, timestamp: _timestamp, ...message } = request;
  const begin = () => {
    const turn = createReplay(parts, recorded, {
      interrupt: () => running?.interrupt(),
      leave: () => running?.leave(),
    });
    running = turn;
    return turn;
  };
  await begin().run(message satisfies TurnRequest);
  for (let left = Infinity; recorded.upcoming().length < left && isContinued(recorded, parts);) {
    left = recorded.upcoming().length;
    await begin().resume();
  }
  await comparing(parts, recorded).append(...closedThen(recorded, parts));
  recorded.end();
  await conversation.append(...closeTurn(lastTurn(conversation), clock, "interrupted"));
  return recorded.divergence;
}

function timeOf({ timestamp }: ConversationEvent): number {
  return timestampToMilliseconds(timestamp);
}

/** Whether another process has gone on, and done more than close the turn. */
function isContinued(recorded: RecordedTurn, parts: Parts): boolean {
  const left = recorded.upcoming();
  if (left.length === 0 || recorded.divergence !== undefined) return false;
  const { next } = readTurnProgress(lastTurn(parts.conversation));
  const isClosed = canClose(left) && left.length <= closedThen(recorded, parts).length;
  return next === "calls" && !isClosed;
}

/** Whoever closes a turn gives one reason for all of its questions. */
function canClose(events: readonly ConversationEvent[]): boolean {
  const reasons = events.flatMap((event) =>
    event.type === "inquiry_response" ? [reasonOf(event)] : [],
  );
  return (
    new Set(reasons).size <= 1 &&
    reasons.every((reason) => reason === "user" || reason === "interrupted") &&
    events.every(({ type }) => CLOSING.has(type))
  );
}

const CLOSING: ReadonlySet<EventType> = new Set([
  "inquiry_response",
  "tool_call_response",
  "turn_end",
]);

function reasonOf(response: InquiryResponse): CancellationReason | undefined {
  return response.outcome === "cancelled" ? response.reason : undefined;
}

/** What closes the turn, if it was closed then without being continued. */
function closedThen(
  recorded: RecordedTurn,
  { conversation, clock }: Parts,
): readonly ConversationEvent[] {
  const upcoming = recorded.upcoming();
  const isClosed = upcoming.some(
    (event) => event.type === "turn_end" && event.reason === "discarded",
  );
  if (!isClosed || recorded.divergence !== undefined) return [];
  const isByUser = upcoming.some(
    (event) => event.type === "inquiry_response" && reasonOf(event) === "user",
  );
  return closeTurn(lastTurn(conversation), clock, isByUser ? "user" : "interrupted");
}

function createReplay(parts: Parts, recorded: RecordedTurn, interrupter: Interrupter) {
  const { stream: _stream, model, toolbox: _toolbox, runsTools = false, ...others } = parts;
  const calls = openCalls(parts.conversation);
  const settings = new Map<Lane, ToolSettings>();
  return createTurn({
    ...others,
    conversation: comparing(parts, recorded, (id, name) => calls.push({ id, name })),
    model: model ?? recordedModel(recorded, interrupter),
    toolbox: replayToolbox(parts, recorded, { calls, settings, interrupter }),
    prompter: new RecordedPrompter(recorded, { knowsSecrets: !runsTools, settings }),
    menu: recordedMenu(recorded),
    ...(model === undefined && { inquiries: recordedInquiries(recorded) }),
  });
}

interface MadeCall {
  readonly id: string;
  readonly name: string;
}

function openCalls(conversation: ConversationWriter): MadeCall[] {
  return readTurnProgress(lastTurn(conversation)).calls.map(({ request: { id, name } }) => {
    return { id, name };
  });
}

/** Compares everything that is to be recorded with the record. */
function comparing(
  { conversation }: Parts,
  recorded: RecordedTurn,
  onCall: (id: string, name: string) => void = () => undefined,
): ConversationWriter {
  return {
    id: conversation.id,
    metadata: conversation.metadata,
    problems: conversation.problems,
    get isOwnTurn() {
      return conversation.isOwnTurn;
    },
    get stream() {
      return conversation.stream;
    },
    append: async (...events) => {
      const noteRecorded = await recorded.take(events);
      for (const event of events) {
        if (event.type === "tool_call_request") onCall(event.id, event.name);
      }
      await conversation.append(...events);
      noteRecorded();
    },
    appendEntries: (entries) => conversation.appendEntries(entries),
    updateMetadata: (change) => conversation.updateMetadata(change),
    onAnswer: (listener) => conversation.onAnswer(listener),
    release: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

interface ReplayedCalls {
  /** Those that are still to be found, in their order. */
  readonly calls: MadeCall[];
  /** Those of the tools that were found. */
  readonly settings: Map<Lane, ToolSettings>;
  readonly interrupter: Interrupter;
}

function replayToolbox(
  { toolbox, model, runsTools = false }: Parts,
  recorded: RecordedTurn,
  { calls, settings, interrupter }: ReplayedCalls,
): Toolbox {
  return {
    ...toolbox,
    schemas: async (signal) => (model === undefined ? [] : toolbox.schemas(signal)),
    find: async (name, signal) => {
      const position = calls.findIndex((call) => call.name === name);
      const [call = { id: "" }] = position === -1 ? [] : calls.splice(position, 1);
      const lane = recorded.laneOf(call.id);
      await abortable(recorded.untilNext(recorded.upcoming(lane)[0]), signal);
      const tool = await toolbox.find(name, signal);
      if (tool !== undefined) settings.set(lane, tool.settings);
      if (tool === undefined || runsTools) return tool;
      const executor = recordedExecutor(recorded, lane, { interrupter, tool });
      const filledIn = recorded.upcoming(lane).find(({ type }) => type === "permission_request");
      const isUndescribed = tool.description.parameters === ANYTHING;
      if (!isUndescribed || filledIn?.type !== "permission_request") return { ...tool, executor };
      const parameters = withDefaults(filledIn.arguments ?? {});
      return { ...tool, executor, description: { ...tool.description, parameters } };
    },
  };
}

/** The parameters of a tool whose server is not asked. */
const ANYTHING: JsonObject = { type: "object" };

function withDefaults(args: JsonObject): JsonObject {
  const properties = Object.entries(args).map(
    ([name, value]) => [name, { default: value }] as const,
  );
  return { ...ANYTHING, properties: Object.fromEntries(properties) };
}

/** The enabled tools, without starting a server or a program. None of them can run. */
export function offlineToolbox({ settings, open }: Pick<Tools, "settings" | "open">): Toolbox {
  return {
    schemas: async () => [],
    find: async (name, signal) => {
      const found = settings.get(name);
      if (found?.isEnabled !== true) return undefined;
      const isRemote = found.source.type === "mcp";
      const description = { name, summary: "", parameters: ANYTHING };
      const tool = isRemote ? { description } : await open(name, signal);
      const { isIdempotent = "isIdempotent" in tool && tool.isIdempotent } = found;
      return { ...tool, executor: { attempt: cannotRun }, isIdempotent, settings: found };
    },
  };
}

async function cannotRun(): Promise<never> {
  throw new Error("a tool of a replay has no recorded result");
}
