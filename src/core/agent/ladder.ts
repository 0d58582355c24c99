/**
 * People who are asked one after the other: whose turn it is, how long they have, and who is next. The record says how far it has
 * come, and config who follows. No model is asked unless config says so for the question.
 */
import type { PeopleTarget, QuestionTarget, ToolSettings } from "../../settings/config/index.ts";

/** Who is asked now. */
export type Rung =
  | { readonly type: "people"; readonly people: PeopleTarget }
  /** Once everyone before was too slow. Only for questions. */
  | { readonly type: "assistant" };

/** Everyone whom config names for a decision, and how far asking them has come. */
export interface Ladder {
  readonly target: PeopleTarget | QuestionTarget;
  /** The place of those who are asked now, counted from 0. */
  readonly rung: number;
  /** A person had decided, so that no model may. */
  readonly isForPerson: boolean;
  /** A model was asked first, and has left it to a person. */
  readonly isEscalated: boolean;
  /** A question that only a person may answer, whatever config says. */
  readonly isPersonal?: boolean;
  /** A question that a tool asks a model with a prompt of its own. */
  readonly isModelPrompt?: boolean;
  /** How long a question waits for those who have no time of their own. */
  readonly deadlineMs?: number | undefined;
}

/** Whom config names for a question of a tool. A prompt for a model is for no one, unless config says so for this very question. */
export function questionTarget(
  { questions, target: common }: Pick<ToolSettings, "questions" | "target">,
  questionId: string,
  isModelPrompt = false,
): QuestionTarget {
  const { target } = questions.get(questionId) ?? {};
  return target ?? { type: "user", ...(isModelPrompt ? {} : common) };
}

/** Undefined if there are not as many. */
export function peopleAt(target: PeopleTarget, rung: number): PeopleTarget | undefined {
  return rung === 0 ? target : target.next?.[rung - 1];
}

/** Undefined if there are not as many. */
export function findRung({ target, rung }: Pick<Ladder, "target" | "rung">): Rung | undefined {
  const people = peopleAt(target, rung);
  if (people !== undefined) return { type: "people", people };
  const isAfterPeople = rung === 1 + (target.next?.length ?? 0);
  const isAssistant = isAfterPeople && "lastly" in target && target.lastly !== undefined;
  return isAssistant ? { type: "assistant" } : undefined;
}

/** Who is asked once time is up. Undefined if that ends it. */
export function findNext(ladder: Ladder): Rung | undefined {
  if (isForModelFirst(ladder)) return undefined;
  const { isPersonal = false, isForPerson } = ladder;
  const next = findRung({ ...ladder, rung: ladder.rung + 1 });
  return next?.type === "assistant" && (isPersonal || isForPerson) ? undefined : next;
}

/** How long those of the rung have. */
export function findWithin(ladder: Ladder): number | undefined {
  const rung = findRung(ladder);
  const own = rung?.type === "people" ? rung.people.withinMs : undefined;
  return isForModelFirst(ladder) ? ladder.deadlineMs : (own ?? ladder.deadlineMs);
}

/** Whether no person has been asked yet, because a model is first. */
function isForModelFirst({ target, rung, isForPerson, isEscalated, isModelPrompt }: Ladder) {
  if (isModelPrompt === true) return true;
  const isFirst = rung === 0 && !isForPerson && !isEscalated;
  return isFirst && "type" in target && target.type === "assistant";
}
