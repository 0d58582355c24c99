/** How a `jp query` turn starts: new, as a replacement of the last one, or by continuing an incomplete one. */
import { directoryOf, type LastTurn, type NewStart, type Start } from "../../../assemble/index.ts";
import { closeTurn } from "../../../core/agent/index.ts";
import type { PartialConfig } from "../../../settings/config/index.ts";
import {
  type ConversationEvent,
  type ConversationId,
  type ConversationStream,
  endOf,
  findRequest,
  type InquiryId,
  isForKnown,
  isIncomplete,
  lastTurnIndex,
  lastTurnOf,
  noPeopleHint,
  openCalls,
  type PendingItem,
  pendingOf,
  readTurnProgress,
  type TurnProgress,
  visibleOf,
} from "../../../record/conversation/index.ts";
import {
  describeCalls,
  describeIncomplete,
  describeRemembered,
  describeWaiting,
  truncate,
  wrapCommand,
  wrapProse,
} from "../../../surfaces/render/index.ts";
import type { Conversation, ConversationWriter } from "../../../stores/index.ts";
import type { TerminalPrompter } from "../../../surfaces/terminal/index.ts";
import { booleanQuestion } from "../../../record/tool/index.ts";
import { firstLine, JpError, oneLine, shellWord } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { usageError } from "../../exit-status.ts";
import { whyNotHere } from "../../person-here.ts";

/** Flags that decide what happens to the last turn. */
export interface StartFlags {
  readonly continueTurn?: boolean | undefined;
  readonly discardTurn?: boolean | undefined;
  /** Resend the last message, replacing its turn. */
  readonly replay?: boolean | undefined;
  /** There is a new message. */
  readonly hasMessage?: boolean | undefined;
}

/** The person to ask about the last turn, and where to print notices for them. */
interface Person {
  readonly context: CommandContext;
  /** Undefined if no terminal is available. */
  readonly prompter: TerminalPrompter | undefined;
  /** Withdraws the questions without deciding anything. */
  readonly signal: AbortSignal;
}

/**
 * Throws `usage`, `nothing_to_replace`; and `incomplete_turn` and `foreign_turn` if the user has to be asked, but no
 * terminal is available.
 */
export async function chooseStart(
  { found, left, isSaved }: Pick<LastTurn, "found" | "left"> & Saved,
  flags: StartFlags,
  person: Person,
): Promise<Start> {
  const start: Start =
    left === undefined || found === undefined
      ? { type: "new" }
      : await startAfter({ left, id: found.id, isSaved }, flags, person);
  return flags.replay === true && start.type !== "quit" ? chooseReplay(left ?? found) : start;
}

interface Saved {
  /** Everything from here on is recorded. */
  readonly isSaved: boolean;
}

interface IncompleteTurn extends Saved {
  readonly left: ConversationWriter;
  /** The ID in the workspace: a copy has another one. */
  readonly id: ConversationId;
}

async function startAfter(
  { left, id, isSaved }: IncompleteTurn,
  flags: StartFlags,
  person: Person,
): Promise<Start> {
  const { continueTurn = false, discardTurn = false, replay = false, hasMessage = false } = flags;
  if (continueTurn && hasMessage) {
    throw usageError(
      "--continue-turn takes no message.",
      "To say something new, use --discard-turn.",
    );
  }
  // A turn that may still act is never replaced without asking.
  const isFailed = (hasMessage || replay) && hasOnlyFailed(left);
  if (replay && !discardTurn && !isFailed)
    throw describeIncompleteError({ stream: left.stream, id });
  const start = continueTurn
    ? ({ type: "resume" } as const)
    : discardTurn || isFailed
      ? ({ type: "new" } as const)
      : await ask({ left, id, hasMessage }, person);
  if (start.type === "resume" && !isSaved) {
    throw usageError(
      "A turn cannot be continued with --no-persist.",
      "What its calls do would not be on record, and they would run again the next time.",
    );
  }
  if (start.type === "resume") return confirmForeign(left, person);
  if (start.type !== "new") return start;
  const { clock } = person.context;
  // A script may have passed the flag. In the menu, it is a person who chooses.
  const by = discardTurn || isFailed ? "interrupted" : "user";
  await left.append(...closeTurn(lastTurnOf(endOf(left.stream)), clock, by));
  return start;
}

/**
 * Only the reply is missing, the turn is this user's own, and they know that there is none: the model was asked, and
 * failed.
 */
function hasOnlyFailed({ stream, isOwnTurn }: ConversationWriter): boolean {
  const { next, hasFailed } = readTurnProgress(lastTurnOf(endOf(stream)));
  return isOwnTurn && next === "request" && hasFailed;
}

/**
 * A clone may contain a turn with recorded permission for calls that this user never approved. Throws `foreign_turn`
 * if no terminal is available.
 */
async function confirmForeign(
  { stream, id, isOwnTurn, startedIn, steppedBack }: ConversationWriter,
  { context: { output, workspace }, prompter, signal }: Person,
): Promise<Start> {
  if (isOwnTurn) return { type: "resume" };
  const there =
    startedIn &&
    `was started in ${shellWord(startedIn)}, and this workspace is in ${shellWord(workspace.root)}.`;
  if (prompter?.canAsk() !== true) throw steppedBack ?? foreignError(id, there);
  const reason = there && `This turn ${there}`;
  const other =
    reason ?? "Someone else started this turn, or its record has changed since you left it.";
  const lines = steppedBack ? wrapProse(steppedBack.message, output.noticeWidth) : [other];
  for (const line of lines) output.notice(line);
  const here = there === undefined ? "" : " here";
  output.notice(`If you continue it${here}, jp accepts these recorded permissions and answers:`);
  const remembered = describeRemembered(lastTurnOf(endOf(stream)));
  for (const line of [...describeCalls(openCalls(stream)), ...remembered])
    output.notice(`  ${line}`);
  const result = await prompter.ask({
    inquiryId: "foreign-turn" as InquiryId, // Not recorded.
    question: booleanQuestion("foreign", "Continue it?", { default: false, persistence: "none" }),
    signal,
  });
  return result.type === "answered" && result.answer === true
    ? { type: "resume" }
    : { type: "quit" };
}

/** `there`: where the user started it, in words. */
function foreignError(id: string, there: string | undefined): JpError {
  return new JpError(
    "foreign_turn",
    there === undefined
      ? "Someone else started the last turn, or its record has changed since you left it."
      : `The last turn ${there}`,
    {
      hint:
        `Its recorded permissions and answers ${there === undefined ? "may not be yours" : "were given there"}.\n` +
        `To look at it:                    jp conversation print ${id}\n` +
        `To close it and start a new turn: jp query --discard-turn --id ${id}\n` +
        "To continue it, use --continue-turn on a terminal.",
    },
  );
}

async function ask(
  { left, id, hasMessage }: Pick<IncompleteTurn, "left" | "id"> & Pick<StartFlags, "hasMessage">,
  { context: { output }, prompter, signal }: Person,
): Promise<Start> {
  const { stream, isOwnTurn } = left;
  const events = lastTurnOf(endOf(stream));
  const progress = readTurnProgress(events);
  const lines = describeIncomplete(progress);
  if (prompter?.canAsk() !== true) throw incompleteError(lines, id);
  output.notice("This conversation has an incomplete turn:");
  for (const line of lines) output.notice(`  ${line}`);
  const request = pendingRequest(events, progress);
  const earlier = request === undefined ? undefined : { request, isForeign: !isOwnTurn };
  const ways = waysToStart(hasMessage === true, earlier);
  const chosen = await prompter.select({
    message: "What now?",
    options: ways.map(({ label }) => ({ label })),
    signal,
  });
  return ways[chosen ?? -1]?.start ?? { type: "quit" };
}

interface WayToStart {
  readonly label: string;
  readonly start: Start;
}

/** Says what happens to the message, if there is one. */
function waysToStart(
  hasMessage: boolean,
  earlier: { readonly request: string; readonly isForeign: boolean } | undefined,
): readonly WayToStart[] {
  const [resume, discard, edit] = hasMessage
    ? [
        "Continue it, without your message",
        "Close it and send your message",
        "Edit and send the earlier message instead",
      ]
    : ["Continue it", "Close it and start a new turn", "Edit the message first"];
  const { request: text = "", isForeign = false } = earlier ?? {};
  return [
    { label: resume, start: { type: "resume" } },
    { label: discard, start: { type: "new" } },
    ...(earlier === undefined
      ? []
      : [{ label: edit, start: { type: "new", text, isForeign } as const }]),
    { label: "Leave it as it is", start: { type: "quit" } },
  ];
}

/** The message without a reply. */
function pendingRequest(
  events: readonly ConversationEvent[],
  { hasCalls, next }: TurnProgress,
): string | undefined {
  const request = events.find((event) => event.type === "chat_request");
  return hasCalls || next !== "request" ? undefined : request?.content;
}

function describeIncompleteError({ stream, id }: Pick<Conversation, "stream" | "id">): JpError {
  const lines = describeIncomplete(readTurnProgress(lastTurnOf(endOf(stream))));
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

/** Prints the pending decisions, and how to answer them. */
export function printPending(
  stream: ConversationStream,
  { output }: CommandContext,
): readonly PendingItem[] {
  const { calls } = readTurnProgress(lastTurnOf(endOf(stream)));
  const pending = pendingOf({ calls });
  for (const item of pending) {
    const [what = "", ...below] = describeWaiting(item, calls);
    for (const line of [`Waiting: ${what}`, ...below]) output.notice(line);
    const command = `jp inquiry answer ${shellWord(item.id)}`;
    for (const row of wrapCommand(command, output.noticeWidth)) output.notice(row);
  }
  return pending;
}

/** Prints the pending decisions and, if any needs people while none are known, how to proceed. */
export async function reportPending(
  stream: ConversationStream,
  context: CommandContext,
  config: PartialConfig,
): Promise<readonly PendingItem[]> {
  const { output } = context;
  const pending = printPending(stream, context);
  if (!pending.some(isForKnown)) return pending;
  const here = { userName: config.user?.name, directory: await directoryOf(context, config) };
  const stuck = pending.filter((item) => whyNotHere(item, here) === "no_people");
  if (stuck.length > 0) output.notice("This takes people whom jp knows, and there are none.");
  const lines = stuck.flatMap((item) => noPeopleHint(item).split("\n"));
  for (const line of new Set(lines)) {
    for (const row of wrapCommand(line, output.noticeWidth)) output.notice(row);
  }
  return pending;
}

/** The message of the last turn. Throws `nothing_to_replace`, and `incomplete_turn` if the turn may still do something. */
export function chooseReplay(conversation: Conversation | undefined): NewStart {
  const request = conversation && findRequest(lastTurnOf(endOf(conversation.stream)));
  if (conversation === undefined || request === undefined) {
    throw new JpError("nothing_to_replace", "There is no earlier message to send again.");
  }
  if (isIncomplete(conversation.stream)) throw describeIncompleteError(conversation);
  return { type: "replay", request };
}

/** Prints the message that is sent again, and how to return to the replaced turn. */
export function announceReplay(
  { stream, id }: ConversationWriter,
  { output, isSaved }: Pick<CommandContext, "output"> & Saved,
): void {
  const request = findRequest(lastTurnOf(endOf(stream)));
  const number = lastTurnIndex(visibleOf(stream).entries) + 1;
  const asked = oneLine(firstLine(request?.content ?? ""));
  output.notice(truncate(`Asking again: ${asked}`, output.noticeWidth));
  if (!isSaved) return;
  const kept = `The earlier answer stays on record as turn ${number}. To go back to it:`;
  for (const row of wrapProse(kept, output.noticeWidth)) output.notice(row);
  const command = `jp conversation fork ${id} --turn ..${number} --activate`;
  for (const row of wrapCommand(command, output.noticeWidth)) output.notice(row);
}
