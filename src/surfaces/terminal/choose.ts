/** Prompts that are answered by choosing: a key, or options of a list. */
import { isDeepStrictEqual } from "node:util";
import { decisionLine, type DecisionState, undecided } from "./decision-line.ts";
import { type Dialogue, type NoAnswer, Prompt } from "./dialogue.ts";
import { type Chosen, type KeyMenu, type SaidNo, takesWords } from "./key-menu.ts";
import {
  type SelectEnding,
  type SelectList,
  type SelectState,
  untouchedList,
} from "./listed-options.ts";
import { plainList } from "./plain-list.ts";
import { accept, plainMenu } from "./plain-questions.ts";
import { selectList } from "./select-list.ts";

/** Words are a no, where the menu takes them. */
export async function choose<Choice extends string>(
  asked: KeyMenu<Choice>,
  dialogue: Dialogue,
): Promise<Chosen<Choice> | SaidNo | NoAnswer> {
  const { message, isAside = false } = asked;
  const menu = { ...asked, sendsWords: dialogue.sendsWords };
  const draft = takesWords(menu) ? dialogue.drafts.get(message) : undefined;
  const prompt = new Prompt<DecisionState, Chosen<Choice> | SaidNo>(draft ?? undecided, {
    passages: () => [{ type: "question", text: message }],
    scrollsText: true,
    isAside,
    drawn: (sideActions) => decisionLine(menu, sideActions),
    plain: () => plainMenu(menu),
  });
  const ending = await dialogue.ask(prompt);
  if (takesWords(menu)) keepWords(prompt.state, { message, ending, dialogue });
  return ending;
}

interface Asked {
  readonly message: string;
  readonly ending: { readonly type: string };
  readonly dialogue: Dialogue;
}

/** Keeps words that were not sent for when the question is asked again. */
export function keepWords(
  decision: DecisionState,
  { message, ending, dialogue: { drafts } }: Asked,
): void {
  const { line, isHeld } = decision;
  const isOpen = ending.type === "cancelled" || ending.type === "aborted";
  if (isOpen && !isHeld && line.text.trim() !== "") drafts.set(message, decision);
  else drafts.delete(message);
}

/** Lets the user choose from a list. */
export function selectPrompt(
  list: SelectList,
  start = untouchedList,
): Prompt<SelectState, SelectEnding> {
  const before = new Set(start.marked);
  return new Prompt<SelectState, SelectEnding>(start, {
    passages: () => [{ type: "question", text: list.message }],
    drawn: (sideActions) => ({
      ...selectList(list, sideActions),
      // Typed text is an answer only if other answers are allowed. Otherwise it is a filter.
      holdsWork: ({ filter, marked }) =>
        filter.trim() === ""
          ? !isDeepStrictEqual(new Set(marked), before)
          : list.allowsOther === true,
    }),
    plain: (state) => {
      const { readLine, ...question } = plainList(list, state);
      return {
        ...question,
        readLine: (line) => {
          const reading = readLine(line);
          if (reading.type === "again") return reading;
          const { ending, marked } = reading.ending;
          return accept(ending, { ...state, marked });
        },
      };
    },
  });
}
