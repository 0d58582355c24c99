/** The two answers to a question with buttons, and what follows from them. */
import { describeUndo } from "../../render/index.ts";
import { fileChangeOf } from "./heading.tsx";
import { isFromTool, type Item } from "./item.ts";

/** The labels of the buttons. */
export const QUICK_WORDS: Readonly<Record<Item["kind"], readonly [yes: string, no: string]>> = {
  question: ["Yes", "No"],
  permission: ["Run", "Skip"],
  delivery: ["Show", "Withhold"],
  in_doubt: ["Run", "Skip"],
};

/** What each answer does, and when. `runs`: the desk continues turns once nothing in them waits. */
export function describeConsequences(item: Item, runs: boolean): string {
  const { kind, origin, is_live: isLive, terms } = item;
  const [yes, no] = QUICK_WORDS[kind];
  const [then, otherwise] = consequencesOf(item);
  const { quorum = 1 } = terms ?? {};
  const when =
    quorum > 1
      ? `once ${quorum} people agree`
      : isLive === true
        ? "at once"
        : `once ${runs ? "nothing else in its turn waits" : "someone continues its turn"}`;
  const undo = kind === "permission" && origin?.type === "builtin" ? describeUndo(origin) : [];
  const sentences =
    otherwise === undefined
      ? [`${then} ${when}`]
      : [`${yes}: ${then} ${when}`, `${no}: ${otherwise}`, ...undo];
  return sentences.map((sentence) => `${sentence}.`).join(" ");
}

/** If there is only one, it is what follows from any answer. */
function consequencesOf(item: Item): readonly [then: string, otherwise?: string] {
  const { kind, acts, question } = item;
  if (kind === "permission") return ["it runs", "it does not run, and the model is told so"];
  if (kind === "delivery") return ["the model sees it", "the model learns only that you said no"];
  if (!acts || question.answerType.type !== "boolean") {
    return [`Your answer goes to the ${isFromTool(item) ? "tool" : "model"}`];
  }
  if (fileChangeOf(item) === undefined) return ["the tool goes ahead", "the tool is told not to"];
  return ["it is done as shown", "no file changes, and the model is told so"];
}
