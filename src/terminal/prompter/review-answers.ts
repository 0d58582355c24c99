/** A look at all the answers of a form before they count. */
import { oneLine } from "../../render/index.ts";
import type { Dialogue } from "./dialogue.ts";
import type { ClosedQuestion } from "./question-line.ts";
import type { Closed } from "./widget.ts";

export type Reviewed =
  | { readonly type: "send" }
  | { readonly type: "change"; readonly index: number }
  | Closed;

/** What Escape does, here and at every question of a form. */
export const CANCEL_ALL = "cancel all the questions";

/** There are keys for no more. */
const MOST_NUMBERS = 9;

export async function reviewAnswers(
  answered: readonly ClosedQuestion[],
  dialogue: Dialogue,
): Promise<Reviewed> {
  const numbers = answered.slice(0, MOST_NUMBERS).map((_answer, index) => `${index + 1}`);
  const menu = {
    message: "Send these answers?",
    choices: {
      y: "send them",
      e: "change one of them",
      ...Object.fromEntries(numbers.map((number) => [number, `change answer ${number}`])),
    },
    default: "y",
    escape: CANCEL_ALL,
  };
  for (;;) {
    dialogue.standing = { answered, isReview: true };
    const chosen = await dialogue.choose<string>(menu);
    if (chosen.type !== "chosen") return chosen;
    if (chosen.choice === "y") return { type: "send" };
    if (chosen.choice !== "e") return { type: "change", index: Number(chosen.choice) - 1 };
    const change = await chooseAnswer(answered, dialogue);
    if (change !== undefined) return change;
  }
}

/** Undefined: none of them. */
async function chooseAnswer(
  answered: readonly ClosedQuestion[],
  dialogue: Dialogue,
): Promise<Reviewed | undefined> {
  dialogue.standing = undefined; // The answers are in the list.
  const options = answered.map(({ message, said }) => ({ label: `${message} ${oneLine(said)}` }));
  const list = { message: "Change which answer?", options };
  const start = { filter: "", active: 0, marked: [] };
  const { ending } = await dialogue.select(list, start);
  if (ending.type === "aborted") return ending;
  const [index] = ending.type === "chosen" ? ending.indexes : [];
  return index === undefined ? undefined : { type: "change", index };
}
