/** How a turn of `jp query` starts: new, replacing the last one, or continuing one that another process left incomplete. */
import { closeTurn, type TurnMessage } from "../../../agent/index.ts";
import type { PartialConfig } from "../../../config/index.ts";
import {
  type CallProgress,
  type ChatRequest,
  type ConversationEvent,
  type ConversationId,
  type ConversationStream,
  findRequest,
  type InquiryId,
  lastTurnOf,
  type PendingItem,
  pendingOf,
  readTurnProgress,
  type TurnProgress,
  turnsOf,
} from "../../../conversation/index.ts";
import {
  describeCalls,
  describeIncomplete,
  describeRemembered,
  describeWaiting,
  firstLine,
  oneLine,
  truncate,
  wrapProse,
  shellWord,
} from "../../../render/index.ts";
import type { Conversation, ConversationWriter } from "../../../storage/index.ts";
import { booleanQuestion, selectQuestion } from "../../../tool/index.ts";
import { JpError } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { usageError } from "../../exit-status.ts";
import { findQuietPrompter, type InteractionFlags } from "../../prompter.ts";

export interface IncompleteTurnFlags extends InteractionFlags {
  readonly continueTurn?: boolean;
  readonly discardTurn?: boolean;
  readonly persist?: boolean;
  /** Send the last message again, in place of its turn. */
  readonly replay?: boolean;
}

interface StartFlags extends IncompleteTurnFlags {
  readonly hasMessage: boolean;
  /** As in the workspace: a copy has another one. */
  readonly conversationId: ConversationId;
}

/** How to continue: with the turn as it is, with a new one (perhaps with this text to edit), or not at all. */
export type Start =
  | { readonly type: "resume" }
  /** With a new one that replaces the turn with this request. */
  | { readonly type: "replay"; readonly request: ChatRequest }
  | {
      readonly type: "new";
      readonly text?: string;
      /** The text may come from someone else: what it mentions is not attached. */
      readonly isForeign?: boolean;
    }
  | { readonly type: "quit" };

export function isIncomplete(stream: ConversationStream): boolean {
  const events = lastTurnOf(stream.entries);
  return events.length > 0 && readTurnProgress(events).next !== "done";
}

/** The calls that the last turn is left with. */
export function openCalls(stream: ConversationStream): readonly CallProgress[] {
  return readTurnProgress(lastTurnOf(stream.entries)).calls;
}

interface AskingContext extends CommandContext {
  readonly config: PartialConfig;
}

/** Throws `usage`, and `incomplete_turn` and `foreign_turn` if no terminal is available. */
export async function chooseStart(
  conversation: ConversationWriter,
  flags: StartFlags,
  context: AskingContext,
): Promise<Start> {
  const { continueTurn = false, discardTurn = false, replay = false, hasMessage } = flags;
  if (continueTurn && hasMessage) {
    throw usageError(
      "--continue-turn takes no message.",
      "To say something new, use --discard-turn.",
    );
  }
  // A turn that may still do something is never replaced unseen.
  if (replay && !discardTurn)
    throw describeIncompleteError({ stream: conversation.stream, id: flags.conversationId });
  const start = continueTurn
    ? ({ type: "resume" } as const)
    : discardTurn
      ? ({ type: "new" } as const)
      : await ask(conversation, flags, context);
  if (start.type === "resume" && flags.persist === false) {
    throw usageError(
      "A turn cannot be continued with --no-persist.",
      "What its calls do would not be on record, and they would run again the next time.",
    );
  }
  if (start.type === "resume") return confirmForeign(conversation, flags, context);
  if (start.type !== "new") return start;
  await conversation.append(
    ...closeTurn(lastTurnOf(conversation.stream.entries), context.clock, "user"),
  );
  return start;
}

/**
 * A clone may bring a turn whose calls this user has never permitted, with the permission on record. Throws
 * `foreign_turn` if no terminal is available.
 */
async function confirmForeign(
  { stream, id, isOwnTurn }: ConversationWriter,
  flags: InteractionFlags,
  { config, ...context }: AskingContext,
): Promise<Start> {
  if (isOwnTurn) return { type: "resume" };
  const prompter = findQuietPrompter(context, config, flags);
  if (prompter?.canAsk() !== true) throw foreignError(id);
  const { output } = context;
  output.notice("Someone else started this turn, or its record has changed since you left it.");
  output.notice("If you continue it, jp accepts these recorded permissions and answers:");
  const remembered = describeRemembered(lastTurnOf(stream.entries));
  for (const line of [...describeCalls(openCalls(stream)), ...remembered])
    output.notice(`  ${line}`);
  const result = await prompter.ask({
    inquiryId: "foreign-turn" as InquiryId, // Not recorded.
    question: booleanQuestion("foreign", "Continue it?", { default: false, persistence: "none" }),
    signal: new AbortController().signal,
  });
  return result.type === "answered" && result.answer === true
    ? { type: "resume" }
    : { type: "quit" };
}

function foreignError(id: string): JpError {
  return new JpError(
    "foreign_turn",
    "Someone else started the last turn, or its record has changed since you left it.",
    {
      hint:
        "Its recorded permissions and answers may not be yours.\n" +
        `To look at it:                    jp conversation print ${id}\n` +
        `To close it and start a new turn: jp query --discard-turn --id ${id}\n` +
        "To continue it, use --continue-turn on a terminal.",
    },
  );
}

async function ask(
  { stream, isOwnTurn }: ConversationWriter,
  flags: StartFlags,
  { config, ...context }: AskingContext,
): Promise<Start> {
  const events = lastTurnOf(stream.entries);
  const progress = readTurnProgress(events);
  const lines = describeIncomplete(progress);
  const prompter = findQuietPrompter(context, config, flags);
  if (prompter?.canAsk() !== true) throw incompleteError(lines, flags.conversationId);
  context.output.notice("This conversation has an incomplete turn:");
  for (const line of lines) context.output.notice(`  ${line}`);
  const request = pendingRequest(events, progress);
  const result = await prompter.ask({
    inquiryId: "incomplete-turn" as InquiryId, // Not recorded.
    question: selectQuestion("start", "What now?", {
      options: waysToStart(flags.hasMessage, request !== undefined),
      persistence: "none",
    }),
    signal: new AbortController().signal,
  });
  const answer = result.type === "answered" ? result.answer : "quit";
  if (answer === "resume") return { type: "resume" };
  if (answer === "discard") return { type: "new" };
  return answer === "edit" && request !== undefined
    ? { type: "new", text: request, isForeign: !isOwnTurn }
    : { type: "quit" };
}

/** Says what becomes of the message, if there is one. */
function waysToStart(hasMessage: boolean, canEdit: boolean) {
  const [resume, discard, edit] = hasMessage
    ? [
        "continue it, without your message",
        "close it and send your message",
        "edit and send the earlier message instead",
      ]
    : ["continue it", "close it and start a new turn", "edit the message first"];
  return [
    { value: "resume", description: resume },
    { value: "discard", description: discard },
    ...(canEdit ? [{ value: "edit", description: edit }] : []),
    { value: "quit", description: "leave it as it is" },
  ];
}

/** The message that the model has not replied to. */
function pendingRequest(
  events: readonly ConversationEvent[],
  { hasCalls, next }: TurnProgress,
): string | undefined {
  const request = events.find((event) => event.type === "chat_request");
  return hasCalls || next !== "request" ? undefined : request?.content;
}

function describeIncompleteError({ stream, id }: Pick<Conversation, "stream" | "id">): JpError {
  const lines = describeIncomplete(readTurnProgress(lastTurnOf(stream.entries)));
  return incompleteError(lines, id);
}

function incompleteError(lines: readonly string[], id: string): JpError {
  return new JpError(
    "incomplete_turn",
    `The last turn is incomplete:\n${lines.map((line) => `  ${line}`).join("\n")}`,
    {
      hint:
        `To continue it:                   jp query --continue-turn --id ${id}\n` +
        `To close it and start a new turn: jp query --discard-turn --id ${id}`,
    },
  );
}

export interface DeferFlags {
  /** Leave everything that needs a person for later. */
  readonly defer?: boolean;
  /** The same, except for this call. */
  readonly onlyCall?: string;
}

/** Prints what is waiting, and how to answer it. */
export function printPending(
  stream: ConversationStream,
  { output }: CommandContext,
): readonly PendingItem[] {
  const { calls } = readTurnProgress(lastTurnOf(stream.entries));
  const pending = pendingOf({ calls });
  for (const item of pending) {
    const [what = "", ...below] = describeWaiting(item, calls);
    for (const line of [`Waiting: ${what}`, ...below]) output.notice(line);
    output.notice(`  jp inquiry answer ${shellWord(item.id)}`);
  }
  return pending;
}

/** The message of the last turn. Throws `nothing_to_replace`, and `incomplete_turn` if the turn may still do something. */
export function chooseReplay(conversation: Conversation | undefined): Start {
  const request = conversation && findRequest(lastTurnOf(conversation.stream.entries));
  if (conversation === undefined || request === undefined) {
    throw new JpError("nothing_to_replace", "There is no earlier message to send again.");
  }
  if (isIncomplete(conversation.stream)) throw describeIncompleteError(conversation);
  return { type: "replay", request };
}

/**
 * What the new turn takes from the one it replaces, if it replaces one. Prints how to go back to that one. Throws
 * `record_changed` if another process has used the conversation since the request was read.
 */
export function startReplay(
  start: Start,
  { stream, id }: ConversationWriter,
  { output, persist = true }: Pick<CommandContext, "output"> & { readonly persist?: boolean },
): Omit<TurnMessage, "content"> | undefined {
  if (start.type !== "replay") return undefined;
  const { request } = start;
  const last = findRequest(lastTurnOf(stream.entries));
  if (last?.timestamp !== request.timestamp || last.content !== request.content) {
    throw new JpError(
      "record_changed",
      "Another process has used the conversation in the meantime.",
      {
        hint: "Look at it with `jp conversation print`, and try again.",
      },
    );
  }
  const number = turnsOf(stream.entries).length;
  const asked = oneLine(firstLine(request.content));
  output.notice(truncate(`Asking again: ${asked}`, output.noticeWidth));
  if (persist) {
    const kept = `The earlier answer stays on record as turn ${number}. To go back to it:`;
    for (const row of wrapProse(kept, output.noticeWidth)) output.notice(row);
    output.notice(`  jp conversation fork ${id} --turn ..${number} --activate`);
  }
  return replayed(request);
}

/** The same message, except for its text. It replaces the turn with this request. */
export function replayed({ schema, files }: ChatRequest): Omit<TurnMessage, "content"> {
  return {
    replacesTurn: true,
    ...(schema !== undefined && { schema }),
    ...(files !== undefined && { files }),
  };
}
