/**
 * The escalation ladder: people who are asked one after the other, how long each has, and who is next. The record has
 * the current rung, config the next ones. A model is asked only if config says so for the question.
 */
import type { PeopleTarget, QuestionTarget, ToolSettings } from "../../settings/config/index.ts";

/** Who is asked at one rung. */
export type Rung =
  | { readonly type: "people"; readonly people: PeopleTarget }
  /** After everyone before has timed out. Only for questions. */
  | { readonly type: "assistant" };

/** Everyone that config names for a decision, and the current rung. */
export interface Ladder {
  readonly target: PeopleTarget | QuestionTarget;
  /** The current rung, counted from 0. */
  readonly rung: number;
  /** A person decided before, so no model may. */
  readonly isForPerson: boolean;
  /** A model was asked first, and passed it to a person. */
  readonly isEscalated: boolean;
  /** Only a person may answer this question; config cannot change that. */
  readonly isPersonal?: boolean;
  /** A question that a tool puts to a model with its own prompt. */
  readonly isModelPrompt?: boolean;
  /** The time limit for rungs without their own. */
  readonly deadlineMs?: number | undefined;
}

/**
 * The people that config names for a question of a tool. A prompt for a model goes to no person, unless config names
 * this very question.
 */
export function questionTarget(
  { questions, target: common }: Pick<ToolSettings, "questions" | "target">,
  questionId: string,
  isModelPrompt = false,
): QuestionTarget {
  const { target } = questions.get(questionId) ?? {};
  return target ?? { type: "user", ...(isModelPrompt ? {} : common) };
}

/** Undefined if there are fewer rungs. */
export function peopleAt(target: PeopleTarget, rung: number): PeopleTarget | undefined {
  return rung === 0 ? target : target.next?.[rung - 1];
}

/** Undefined if there are fewer rungs. */
export function findRung({ target, rung }: Pick<Ladder, "target" | "rung">): Rung | undefined {
  const people = peopleAt(target, rung);
  if (people !== undefined) return { type: "people", people };
  const isAfterPeople = rung === 1 + (target.next?.length ?? 0);
  const isAssistant = isAfterPeople && "lastly" in target && target.lastly !== undefined;
  return isAssistant ? { type: "assistant" } : undefined;
}

/** Who is asked after a timeout. Undefined if the timeout ends it. */
export function findNext(ladder: Ladder): Rung | undefined {
  if (isForModelFirst(ladder)) return undefined;
  const { isPersonal = false, isForPerson } = ladder;
  const next = findRung({ ...ladder, rung: ladder.rung + 1 });
  return next?.type === "assistant" && (isPersonal || isForPerson) ? undefined : next;
}

/** The time limit of the current rung. */
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
