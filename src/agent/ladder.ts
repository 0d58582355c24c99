/**
 * People who are asked one after the other: whose turn it is, how long they have, and who is next. The record says how far it has
 * come, and config who follows. No model is asked unless config says so for the question.
 */
import type { PeopleTarget, QuestionTarget } from "../config/index.ts";
import { ACTIONS, isPassedOn } from "../conversation/index.ts";
import type { Asked, AskedCall, AskedQuestion } from "./asked.ts";

/** Who is asked now. */
export type Rung =
  | { readonly type: "people"; readonly people: PeopleTarget }
  /** Once everyone before was too slow. Only for questions. */
  | { readonly type: "assistant" };

/** Whom config names for a question. A prompt for a model is for no one, unless config says so for this very question. */
function questionTargetOf({
  question,
  tool: { settings },
  prompt,
}: Pick<AskedQuestion, "question" | "tool" | "prompt">): QuestionTarget {
  const common = prompt === undefined ? settings.target : undefined;
  return settings.questions.get(question.id)?.target ?? { type: "user", ...common };
}

/** Of a call, as far as it has come. */
export function rungOfCall({ kind, progress }: Pick<AskedCall, "kind" | "progress">): number {
  const { request, madeVoid, voided } = progress.permissions[ACTIONS[kind]] ?? {};
  const { rung = 0 } = request ?? voided ?? {};
  // Its process has died before it could ask them.
  const isNext = request === undefined && isPassedOn(madeVoid?.changed ?? []);
  return isNext ? rung + 1 : rung;
}

/** The people of a call's rung. Those of the first, if config has no longer as many. */
export function peopleOfCall(call: Pick<AskedCall, "kind" | "progress" | "verdict">): PeopleTarget {
  const { target = {} } = call.verdict;
  return peopleAt(target, rungOfCall(call)) ?? target;
}

/** Undefined if there are not as many. */
export function peopleAt(target: PeopleTarget, rung: number): PeopleTarget | undefined {
  return rung === 0 ? target : target.next?.[rung - 1];
}

/** Undefined if there are not as many. */
export function findRung(
  asked: Pick<AskedQuestion, "kind" | "question" | "tool" | "prompt"> | AskedCall,
  rung: number,
): Rung | undefined {
  const isQuestion = asked.kind === "question";
  const target = isQuestion ? questionTargetOf(asked) : (asked.verdict.target ?? {});
  const people = peopleAt(target, rung);
  if (people !== undefined) return { type: "people", people };
  const isAfterPeople = rung === 1 + (target.next?.length ?? 0);
  const isAssistant = isQuestion && isAfterPeople && isEndingInModel(target);
  return isAssistant ? { type: "assistant" } : undefined;
}

function isEndingInModel(target: PeopleTarget | QuestionTarget): boolean {
  return "type" in target && target.type === "user" && target.lastly !== undefined;
}

/** What has come of asking so far. */
interface SoFar {
  readonly rung: number;
  readonly isForPerson: boolean;
  readonly isEscalated: boolean;
}

/** Who is asked once time is up. Undefined if that ends it. */
export function findNext(asked: Asked, soFar: SoFar): Rung | undefined {
  const { rung, isForPerson } = soFar;
  if (asked.kind === "question" && isForModelFirst(asked, soFar)) return undefined;
  const next = findRung(asked, rung + 1);
  if (next?.type !== "assistant" || asked.kind !== "question") return next;
  const { exclusive, answerType, for: named } = asked.question;
  const isPersonal = exclusive || answerType.type === "secret" || named !== undefined;
  return isPersonal || isForPerson ? undefined : next;
}

/** How long those of a rung have. A question without a time of their own waits as long as config says for it. */
export function findWithin(asked: Asked, soFar: SoFar): number | undefined {
  const rung = findRung(asked, soFar.rung);
  const own = rung?.type === "people" ? rung.people.withinMs : undefined;
  if (asked.kind !== "question") return own;
  const { deadlineMs } = asked.tool.settings.questions.get(asked.question.id) ?? {};
  return isForModelFirst(asked, soFar) ? deadlineMs : (own ?? deadlineMs);
}

/** Whether no person has been asked yet, because a model is first. */
function isForModelFirst(asked: AskedQuestion, { rung, isForPerson, isEscalated }: SoFar): boolean {
  if (asked.prompt !== undefined) return true;
  const isFirst = rung === 0 && !isForPerson && !isEscalated;
  return isFirst && questionTargetOf(asked).type === "assistant";
}
