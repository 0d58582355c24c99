/**
 * Reruns the turns of a recorded conversation in memory, with the recorded answers, permissions and deliveries. Stops
 * at the first difference from the record.
 */
import { closeTurn, type Toolbox, type Turn, type TurnMessage } from "../../core/agent/index.ts";
import {
  type AnswerEvent,
  type CallProgress,
  canGoOn,
  type ChatRequest,
  type ConversationEvent,
  type ConversationStream,
  digestCall,
  type Directory,
  findAnswerTo,
  isAnswer,
  parseConversationId,
  pendingOf,
  readTurnProgress,
  SecretAnswer,
  type StreamEntry,
  TurnCounter,
  turnsOf,
  whomOf,
  lastTurn,
} from "../../record/conversation/index.ts";
import type { ToolSettings } from "../../settings/config/index.ts";
import { checkArguments } from "../../reach/executor/index.ts";
import { type CallOfTool, createPolicy, type Policy } from "../../core/policy/index.ts";
import { type ConversationWriter, MemoryConversationStore } from "../../stores/index.ts";
import { type JsonObject, systemClock } from "../../util/index.ts";
import {
  observedExecutor,
  observedModel,
  recordedCheck,
  recordedExecutor,
  recordedInquiries,
  recordedMenu,
  recordedModel,
  recordedSteering,
} from "./recorded-parts.ts";
import { namedPeople, processesOf, type RecordedProcess } from "./recorded-process.ts";
import {
  hasFailed,
  recordedAnswers,
  RecordedPrompter,
  type RecordedPrompterOptions,
  UNKNOWN_SECRET,
} from "./recorded-prompter.ts";
import {
  modeVerdictThen,
  recordedGrants,
  grantedRulesThen,
  sourceThen,
  toolThen,
} from "./recorded-tool.ts";
import { readTurn } from "./recorded-turn.ts";
import { ReplayClock, stoppedClock } from "./replay-order.ts";
import { type Divergence, ReplayScript } from "./replay-script.ts";
import { createTurn, type CreateTurnOptions, toModel, type Tools } from "../../assemble/index.ts";

type Replaced =
  | "answers"
  | "conversation"
  | "directory"
  | "menu"
  | "model"
  | "policy"
  | "prompter"
  | "toolbox"
  | "toolConfig"
  | "tools";

/** The record to rerun, and its environment. All other options are those of any turn. */
export interface ReplayOptions extends Omit<CreateTurnOptions, Replaced | "signal"> {
  /** The recorded conversation, which is only read. */
  readonly stream: ConversationStream;
  /** A live model. If absent, the recorded replies are used. */
  readonly model?: CreateTurnOptions["model"];
  /** The tools with their policy. */
  readonly toolbox: Toolbox;
  /** The workspace that path rules refer to. */
  readonly root?: string;
  /** Run tools for real, with the recorded permissions. Otherwise their recorded results are used. */
  readonly runsTools?: boolean;
}

export interface ReplayResult {
  /** Number of turns run. */
  readonly turns: number;
  /** Absent if everything matched. */
  readonly divergence?: Divergence;
}

/** Throws `ProviderError` if there is a live model. */
export async function replayConversation(options: ReplayOptions): Promise<ReplayResult> {
  // Preloads the validator: from now on, a check ends within one turn of the event loop.
  await checkArguments({ name: "", parameters: ANYTHING }, {});
  const { runsTools = false } = options;
  const turns = turnsOf(options.stream.entries);
  const compactions = compactionsByTurn(options);
  let state: ReplayState = { entries: [], ids: new Map(), delayMs: 0 };
  for (const { events: recorded, index } of turns) {
    const events = readTurn(recorded, { runsTools });
    const request = events.find((event) => event.type === "chat_request");
    const [first, ...others] = request === undefined ? [] : processesOf(events);
    if (request === undefined || first === undefined) continue;
    state = { ...state, entries: [...state.entries, ...(compactions.get(index) ?? [])] };
    const turn = { number: index + 1, turn: events };
    let run = await replayProcess(options, { ...turn, process: first, state, request });
    for (const process of others) {
      if (run.divergence !== undefined) break;
      run = await replayProcess(options, { ...turn, process, state: run });
    }
    if (run.divergence !== undefined) return { turns: index + 1, divergence: run.divergence };
    state = { ...run, ids: new Map() };
  }
  return { turns: turns.length };
}

/** The compactions before each turn. Only a live model looks at earlier turns. */
function compactionsByTurn({
  stream: { entries },
  model,
}: ReplayOptions): ReadonlyMap<number, readonly StreamEntry[]> {
  if (model === undefined) return new Map();
  const counter = new TurnCounter();
  const found = new Map<number, StreamEntry[]>();
  let next = 0;
  for (const entry of entries) {
    const { eventType, content } = entry;
    if (eventType !== undefined) next = counter.next(eventType) + 1;
    else if (content.kind === "compaction") found.set(next, [...(found.get(next) ?? []), entry]);
  }
  return found;
}

/** A process's initial state. */
interface ReplayState {
  readonly entries: readonly StreamEntry[];
  /** Recorded IDs of calls whose ID differs now. */
  readonly ids: ReadonlyMap<string, string>;
  readonly delayMs: number;
}

interface ReplayedProcess {
  /** The number of its turn. The first is 1. */
  readonly number: number;
  readonly turn: readonly ConversationEvent[];
  readonly process: RecordedProcess;
  readonly state: ReplayState;
  /** Set if the process started the turn. */
  readonly request?: ChatRequest;
}

interface Run extends ReplayState {
  readonly audience: Audience;
  /** How many recorded events have happened again. */
  readonly progress: number;
  readonly divergence?: Divergence;
}

/** Who a process could ask. */
type Audience = Pick<RecordedPrompterOptions, "canAsk" | "people" | "asksModel">;

/**
 * The record does not say who a process could ask. So it is first rerun with the user and, if that differs, with
 * other people or no one. The best match wins. Only then do live parts run, which may have effects.
 */
async function replayProcess(options: ReplayOptions, replayed: ReplayedProcess): Promise<Run> {
  const { model, runsTools = false, ...others } = options;
  const [user, ...audiences] = audiencesOf(replayed);
  let best = await runProcess(others, replayed, user);
  for (const audience of audiences) {
    if (best.divergence === undefined) break;
    const run = await runProcess(others, replayed, audience);
    if (run.divergence === undefined || run.progress > best.progress) best = run;
  }
  return model === undefined && !runsTools ? best : runProcess(options, replayed, best.audience);
}

/** With more people than this, the replay does not try every combination. */
const MAX_OTHERS = 3;

/** All possible audiences, most likely first. */
function audiencesOf({ turn, process }: ReplayedProcess): readonly [Audience, ...Audience[]] {
  const { reached, others } = namedPeople(turn, process);
  const user: Audience = { canAsk: true, people: reached, asksModel: false };
  const more = others.length > MAX_OTHERS ? [others] : subsetsOf(others).slice(1);
  const audiences = [
    ...more.map((people) => ({ ...user, people: [...reached, ...people] })),
    { ...user, canAsk: false },
  ];
  // A failed prompt and a failed model leave the same record.
  const isAmbiguous = process.events.some((event) => isAnswer(event) && hasFailed(event));
  const withModel = [user, ...audiences].map((each) => ({ ...each, asksModel: true }));
  return [user, ...audiences, ...(isAmbiguous ? withModel : [])];
}

/** The empty set first. */
function subsetsOf(names: readonly string[]): readonly (readonly string[])[] {
  const [first, ...rest] = names;
  if (first === undefined) return [[]];
  return subsetsOf(rest).flatMap((subset) => [subset, [first, ...subset]]);
}

async function runProcess(
  options: ReplayOptions,
  replayed: ReplayedProcess,
  audience: Audience,
): Promise<Run> {
  const { process, state, request } = replayed;
  const { model, runsTools = false, clock: machine = systemClock } = options;
  const isLive = model !== undefined || runsTools;
  const clock = new ReplayClock(isLive ? machine : stoppedClock, state.delayMs);
  for (const first of process.events.slice(0, 1)) clock.skipTo(first);
  const { baseConfig } = options.stream;
  const given = { baseConfig, entries: state.entries, isOwnTurn: true };
  await using conversation = await new MemoryConversationStore(clock).create(given);
  if (request !== undefined) {
    await conversation.append(...closeTurn(lastTurn(conversation), clock, "interrupted"));
  }
  const script = new ReplayScript({
    ...replayed,
    ids: state.ids,
    comparesWords: model === undefined,
    clock,
    onEnd: () => running.leave(),
  });
  const interrupt = () => running.interrupt();
  const running = createReplay({ ...options, ...audience, clock, conversation, script, interrupt });
  if (request === undefined) await running.resume();
  else await running.run(toMessage(request));
  script.end();
  for (const answer of process.answers) {
    await conversation.append(...toPending({ script, conversation, isLive: false }, answer));
  }
  const { divergence, ids, progress } = script;
  return {
    entries: conversation.stream.entries,
    ids,
    delayMs: clock.delayMs,
    audience,
    progress,
    ...(divergence !== undefined && { divergence }),
  };
}

/** Redirects a recorded answer to the item that is pending now. Empty if none is. */
function toPending(
  { script, conversation, isLive }: Pick<Parts, "script" | "conversation"> & { isLive: boolean },
  recorded: AnswerEvent,
): readonly AnswerEvent[] {
  const event = script.toNow(recorded);
  const items = pendingOf(readTurnProgress(lastTurn(conversation)), isLive);
  const item = items.find((each) => findAnswerTo([event], each) !== undefined);
  if (item === undefined) return [];
  const { id, digest } = item;
  if (event.type !== "permission_decision" || event.arguments === undefined) {
    return [{ ...event, id, ...(digest !== undefined && { digest }) }];
  }
  // Edited arguments have their own digest.
  const source = sourceThen(script, script.idOnRecord(item.toolCallId));
  const { tool, toolCallId, arguments: args } = event;
  const call = { conversation: REPLAY_ID, toolCallId, tool, source, arguments: args };
  const subject = digestCall(call, whomOf(item));
  return [{ ...event, id, digest: subject.digest }];
}

function toMessage({ type: _type, timestamp: _timestamp, ...message }: ChatRequest): TurnMessage {
  return { ...message, isChecked: message.isChecked ?? false };
}

interface Parts extends ReplayOptions, Audience {
  readonly clock: ReplayClock;
  readonly conversation: ConversationWriter;
  readonly script: ReplayScript;
  readonly interrupt: () => void;
}

/** The call of each tool that was found. */
type Lanes = WeakMap<ToolSettings, string>;

function createReplay(parts: Parts): Turn {
  const lanes: Lanes = new WeakMap();
  const { stream: _stream, toolbox: _toolbox, runsTools = false, ...others } = parts;
  const { script, interrupt, inquiryModel, inquiryModels } = parts;
  const live = parts.model && observedModel(toModel(parts.model), script);
  return createTurn({
    ...others,
    conversation: comparingWriter(parts),
    model: live ?? recordedModel(script, interrupt),
    ...(inquiryModel && { inquiryModel: observedModel(toModel(inquiryModel), script) }),
    ...(inquiryModels && {
      inquiryModels: {
        ...inquiryModels,
        model: async (settings) => observedModel(await inquiryModels.model(settings), script),
      },
    }),
    ...(live === undefined && { inquiries: recordedInquiries(script) }),
    toolbox: replayToolbox(parts, lanes),
    policy: replayPolicy(parts, lanes),
    directory: NO_PEOPLE,
    prompter: new RecordedPrompter({ ...parts, knowsSecrets: !runsTools }),
    answers: recordedAnswers({ script, knowsSecrets: !runsTools }),
    menu: recordedMenu(script),
    steering: recordedSteering(script),
    validateData: recordedCheck(script),
    startsNext: false, // The record has it as a separate turn.
    isTraced: false, // A replay must not be traced as if it happened again.
  });
}

/** Shared by all processes, so that a decision in one still counts in the next. */
const REPLAY_ID = parseConversationId("jp-c0");

/** Compares all events with the record before writing them. */
function comparingWriter({ conversation, script, runsTools = false }: Parts): ConversationWriter {
  const secret = { secret: new SecretAnswer(UNKNOWN_SECRET) };
  return {
    id: REPLAY_ID,
    metadata: conversation.metadata,
    isOwnTurn: true,
    get stream() {
      return conversation.stream;
    },
    append: (...events) => script.record(events, (taken) => conversation.append(...taken)),
    appendEntries: (entries) => conversation.appendEntries(entries),
    updateMetadata: (change) => conversation.updateMetadata(change),
    onAnswer: (listener) => {
      script.listener = async ({ event }) => {
        const isSecret = event.type === "inquiry_response" && event.outcome === "redacted";
        const [answer = event] = toPending({ script, conversation, isLive: true }, event);
        return listener({ event: answer, ...(isSecret && !runsTools && secret) });
      };
      return { [Symbol.dispose]: () => (script.listener = undefined) };
    },
    release: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Today's config, with the recorded rules and mode. */
function replayPolicy({ script, root = "." }: Parts, lanes: Lanes): Policy {
  const laneOf = ({ tool }: CallOfTool) => lanes.get(tool.settings) ?? "";
  const policy = createPolicy({
    root,
    saved: async (call) => grantedRulesThen(script, laneOf(call)),
  });
  return {
    // Reading rules and files takes time, and nothing else may happen first.
    verdictOf: async (call) =>
      modeVerdictThen(script, laneOf(call)) ?? script.order.during(policy.verdictOf(call)),
    resultVerdictOf: (call) => script.order.during(policy.resultVerdictOf(call)),
    grants: recordedGrants,
  };
}

function replayToolbox(
  { toolbox, model, runsTools = false, ...parts }: Parts,
  lanes: Lanes,
): Toolbox {
  const { script } = parts;
  const nextCall = callFinder(parts);
  return {
    ...toolbox,
    schemas: async (signal) => (model === undefined ? [] : toolbox.schemas(signal)),
    find: async (name, signal) => {
      const call = nextCall(name);
      const lane = script.idOnRecord(call?.request.id ?? "");
      // A question that an earlier process asked is already on record, so it is asked again at once.
      const isAsked = call !== undefined && pendingOf({ calls: [call] }, true).length > 0;
      await script.untilBegun(lane, isAsked);
      const found = await script.order.during(toolbox.find(name, signal));
      if (found === undefined) return undefined;
      const tool = toolThen(found, lane, { script, runsTools });
      lanes.set(tool.settings, lane);
      if (runsTools && !script.isUnstable(lane)) {
        return { ...tool, executor: observedExecutor(script, lane, tool.executor) };
      }
      const executor = recordedExecutor(script, lane, tool);
      if (tool.description.parameters !== ANYTHING) return { ...tool, executor };
      const parameters = withDefaults(script.argumentsOf(lane));
      return { ...tool, executor, description: { ...tool.description, parameters } };
    },
  };
}

/** A toolbox is not told which call it is for. Calls are found in order, and again if they continue. */
function callFinder({ conversation }: Pick<Parts, "conversation">) {
  const found = new Map<string, number>();
  return (name: string): CallProgress | undefined => {
    const { calls } = readTurnProgress(lastTurn(conversation));
    const timesFound = (call: CallProgress) => found.get(call.request.id) ?? 0;
    const [next] = calls
      .filter((call) => call.request.name === name)
      .filter((call) => timesFound(call) === 0 || canGoOn(call))
      .toSorted((left, right) => timesFound(left) - timesFound(right));
    if (next !== undefined) found.set(next.request.id, timesFound(next) + 1);
    return next;
  };
}

/** The parameters of a tool whose server is not started. */
const ANYTHING: JsonObject = { type: "object" };

function withDefaults(args: JsonObject): JsonObject {
  const properties = Object.entries(args).map(
    ([name, value]) => [name, { default: value }] as const,
  );
  return { ...ANYTHING, properties: Object.fromEntries(properties) };
}

const NO_PEOPLE: Directory = { list: () => [], findHere: () => undefined, isReplay: true };

/** The enabled tools, without starting a server or a program. None of them can run. */
export function offlineToolbox({
  findOffline,
  describeOffline,
  open,
}: Pick<Tools, "findOffline" | "describeOffline" | "open">): Toolbox {
  return {
    schemas: async () => [],
    find: async (name, signal) => {
      const found = findOffline(name);
      if (found?.isEnabled !== true) return undefined;
      const isRemote = found.source.type === "mcp";
      const unknown = { name, summary: "", parameters: ANYTHING };
      const describeSource = async () => describeOffline(found);
      const tool = isRemote ? { description: unknown, describeSource } : await open(name, signal);
      const { isIdempotent = "isIdempotent" in tool && tool.isIdempotent } = found;
      // The result of an invalid call tells the model whether it can ask for details about the tool.
      const hasDetails = findOffline("describe_tools")?.isEnabled === true;
      const description = { ...tool.description, hasDetails };
      const executor = { attempt: cannotRun };
      return { ...tool, description, executor, isIdempotent, settings: found };
    },
  };
}

async function cannotRun(): Promise<never> {
  throw new Error("a tool of a replay has no recorded result");
}
