/** Closes prompts that end without an answer: left for later, or cancelled. */
import type { PromptResult, RequestBase } from "../../core/agent/index.ts";
import { choose } from "./choose.ts";
import type { Dialogue, NoAnswer } from "./dialogue.ts";
import type { KeyMenu } from "./key-menu.ts";

/** A prompt that may end without an answer. */
export interface Closable {
  readonly inquiryId: RequestBase["inquiryId"];
  /** Its questions, each of which leaves a line on the screen. */
  readonly messages: readonly string[];
  readonly allowsLater?: boolean | undefined;
  /** Cancelling would lose answers to other questions, so Escape alone does not. */
  readonly hasAnswers?: boolean;
  /** Several calls are pending, and all of them are left or cancelled. */
  readonly areSeveral?: boolean;
}

/** Describes Escape in the help. */
export const LATER_OR_CANCEL = "leave it for later, or cancel it";

/** Closes a prompt that has no answer. Undefined if the user goes back to it. */
export async function closeUnanswered(
  ended: NoAnswer,
  closable: Closable,
  dialogue: Dialogue,
): Promise<PromptResult | undefined> {
  const { inquiryId, messages } = closable;
  const closing = await chooseClosing(ended, closable, dialogue);
  if (closing === "back") return undefined;
  if (closing === "aborted") return { inquiryId, type: "interrupted" };
  const summary = closing === "later" ? "left for later" : "cancelled";
  for (const message of messages) dialogue.printClosed({ message, summary, isCancelled: true });
  return { inquiryId, type: closing };
}

/**
 * Escape and Ctrl-C offer to leave the question for later, if possible, or to go back to answers that would be lost. A
 * second Ctrl-C cancels.
 */
async function chooseClosing(
  ended: NoAnswer,
  { allowsLater = false, hasAnswers = false, areSeveral = false }: Closable,
  dialogue: Dialogue,
): Promise<"back" | "later" | "cancelled" | "aborted"> {
  if (ended.type === "aborted") return ended.type;
  if (!allowsLater && (ended.isInterrupt === true || !hasAnswers)) return "cancelled";
  const [all, them] = areSeveral ? ["all of them", "them"] : ["this", "it"];
  const later = { key: "l", label: `leave ${them} for later`, short: "later" } as const;
  const menu: KeyMenu<"l" | "c" | "b"> = {
    message: allowsLater ? `Leave ${all} for later, or cancel ${them}?` : "Cancel it?",
    choices: [
      ...(allowsLater ? [later] : []),
      { key: "c", label: `cancel ${them}`, short: "cancel" },
      { key: "b", label: "go back", short: "back" },
    ],
    escape: "go back",
    isAside: true,
  };
  const chosen = await choose(menu, dialogue);
  if (chosen.type === "aborted") return "aborted";
  if (chosen.type === "cancelled" && chosen.isInterrupt === true) return "cancelled";
  if (chosen.type !== "chosen") return "back";
  return chosen.choice === "b" ? "back" : chosen.choice === "l" ? "later" : "cancelled";
}
