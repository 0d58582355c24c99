/** Runs a program's turn. Separate from `turn.ts`, so that programs load it with their first turn. */
import {
  assertNothingWaits,
  type DetachedDenial,
  isBesideReply,
  startTurn,
  type Turn,
  type TurnEnd,
  withConversation,
} from "../core/agent/index.ts";
import {
  type ConversationEvent,
  type ConversationStream,
  endOf,
  eventsOf,
  usageOf,
} from "../record/conversation/index.ts";
import type { ConversationWriter } from "../stores/index.ts";
import { assertNever, systemClock } from "../util/index.ts";
import { createTurn, type CreateTurnOptions } from "./create-turn.ts";
import {
  type DataOf,
  type DataSchema,
  type Message,
  toCheckedMessage,
  toDataCheck,
} from "./data.ts";
import { createOwnToolbox, openServers } from "./own-tools.ts";
import type { EnqueueOptions, ResumeOptions, TurnOptions, TurnResult } from "./turn-options.ts";

/** See `runTurn`, and `streamTurn` for a reader. */
export async function runOwnTurn<Schema extends DataSchema | undefined>(
  options: TurnOptions & Pick<CreateTurnOptions, "waitForReader">,
  message: string | Message<Schema>,
): Promise<TurnResult<DataOf<Schema>>> {
  const { message: request, check } = await toCheckedMessage(message);
  const protectsPending = options.discardsPending !== true;
  return untilEnd({ ...options, ...check, protectsPending }, (turn) => turn.run(request));
}

/** See `resumeTurn`. */
export async function resumeOwnTurn<Data>(
  conversation: ConversationWriter,
  { schema, ...others }: ResumeOptions<Data>,
): Promise<TurnResult<Data>> {
  return untilEnd({ ...others, conversation, ...toDataCheck(schema) }, (turn) => turn.resume());
}

/** See `enqueueTurn`. */
export async function enqueueOwnTurn(
  conversation: ConversationWriter,
  message: string | Message,
  { queue, discardsPending = false, directory, startedBy, ...others }: EnqueueOptions,
): Promise<void> {
  const { message: request } = await toCheckedMessage(message);
  if (!discardsPending) assertNothingWaits(conversation, request);
  const { clock = conversation.clock ?? systemClock } = others;
  const before = endOf(conversation.stream);
  await conversation.append(...startTurn(before, request, { clock, directory, startedBy }));
  if (queue !== undefined) conversation.leaveTo?.({ queue });
}

async function untilEnd<Data>(
  given: TurnOptions &
    Pick<CreateTurnOptions, "validateData" | "protectsPending" | "waitForReader">,
  start: (turn: Turn) => Promise<TurnEnd>,
): Promise<TurnResult<Data>> {
  const { conversation, signal, mcpServers } = given;
  const observer = given.observer && withConversation(given.observer, conversation.id);
  const options = { ...given, ...(observer !== undefined && { observer }) };
  await using opened = await openServers(mcpServers, options);
  const toolbox = await createOwnToolbox({ ...options, mcpServers: opened?.servers });
  const turn = createTurn({ ...options, toolbox });
  const onAbort = () => turn.leave();
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  try {
    const end = await start(turn);
    const result = createResult(end, conversation.stream, turn.denials);
    return result as TurnResult<Data>; // The schema that checked the data has this type.
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

/** The result of the last turn in the stream. */
function createResult(
  end: TurnEnd,
  stream: ConversationStream,
  denials: readonly DetachedDenial[],
): TurnResult {
  const entries = endOf(stream);
  const start = entries.findLastIndex(({ eventType }) => eventType === "turn_start");
  const events = [...eventsOf(entries.slice(start))];
  const turn = events.filter(({ type }) => !isBesideReply(type));
  const reply = turn.slice(turn.findLastIndex(({ type }) => type !== "chat_response") + 1);
  const text = reply.flatMap(saidIn).join("\n\n");
  return { ...end, text, events, denials, usage: usageOf(events) };
}

function saidIn(event: ConversationEvent): readonly string[] {
  if (event.type !== "chat_response") return [];
  const { content } = event;
  switch (content.type) {
    case "message":
      return [content.text];
    case "structured":
      return [JSON.stringify(content.data)];
    case "reasoning":
      return [];
    default:
      return assertNever(content);
  }
}
