/** Reports how a `jp query` turn ended, and picks the exit status. */
import type { DetachedDenial, TurnEnd } from "../../../core/agent/index.ts";
import { endOf, lastTurnOf } from "../../../record/conversation/index.ts";
import type { Conversation } from "../../../stores/index.ts";
import { assertNever } from "../../../util/index.ts";
import { type CommandContext, warn } from "../../context.ts";
import { DENIED, ExitStatus, INTERRUPTED, WAITING } from "../../exit-status.ts";
import { continueCommands, listIncomplete } from "./conversation.ts";

interface NoMessage {
  readonly isContinued?: boolean;
  readonly discardTurn?: boolean;
  /** The last turn was incomplete and is now closed. */
  readonly wasIncomplete?: boolean;
  /** The conversation, if it was named. */
  readonly id?: string | undefined;
  /** Undefined if none was found. */
  readonly found?: Conversation | undefined;
}

export async function reportNoMessage(
  { isContinued = false, discardTurn = false, wasIncomplete = false, id, found }: NoMessage,
  context: CommandContext,
): Promise<void> {
  const { output } = context;
  if (discardTurn && wasIncomplete) return output.notice("The incomplete turn is closed.");
  if (isContinued) {
    const hasTurn = found !== undefined && lastTurnOf(endOf(found.stream)).length > 0;
    output.notice(`${hasTurn ? "The last turn is complete" : "No turn yet"}: nothing to continue.`);
    if (id === undefined) await suggestOthers(context);
    return;
  }
  if (discardTurn) return output.notice("The last turn is complete: nothing to close.");
  output.notice("The message is empty: nothing to ask.");
}

/** Looks beyond this terminal's active conversation: a job leaves its turn in another one. */
async function suggestOthers(context: CommandContext): Promise<void> {
  const { output } = context;
  const ids = await listIncomplete(context);
  if (ids.length === 0) return;
  output.notice(
    ids.length === 1
      ? "Another conversation has an incomplete turn. To continue it:"
      : "Other conversations have incomplete turns. To continue one:",
  );
  for (const command of continueCommands(ids)) output.notice(command);
}

/** Throws `ExitStatus` unless the turn succeeded. */
export function reportTurnEnd(
  end: TurnEnd,
  canBeContinued: boolean,
  context: CommandContext,
): void {
  const { output, isReaderGone } = context;
  switch (end.type) {
    case "stopped":
    case "invalid_data": // Reported already.
      return;
    case "waiting":
      throw new ExitStatus(WAITING);
    case "interrupted":
      if (isReaderGone) return;
      output.notice(
        canBeContinued
          ? "Interrupted. To continue the turn: jp query --continue-turn"
          : "Interrupted. Everything up to here is saved.",
      );
      throw new ExitStatus(INTERRUPTED);
    case "cycle_limit":
      warn(
        `jp ended the turn after ${end.cycles} requests (conversation.max_cycles). ` +
          "To continue it: jp query --continue-turn",
        output,
      );
      throw new ExitStatus(1);
    case "done":
      if (end.reason === "length")
        warn("The reply was cut off: it reached its maximum length.", output);
      if (end.reason !== "refused") return;
      warn("The model refused to answer.", output);
      throw new ExitStatus(1);
    default:
      assertNever(end);
  }
}

/** Throws `ExitStatus` if something was denied only because jp could not ask. */
export function reportDenials(
  denials: readonly DetachedDenial[],
  { output }: CommandContext,
): void {
  if (denials.length === 0) return;
  const named = denials.map(({ tool, what }) => `${tool} (${what})`).join(", ");
  warn(`denied, because no terminal was available to ask you: ${named}.`, output);
  throw new ExitStatus(DENIED);
}
