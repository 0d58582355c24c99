/** The terms in force: those with which a decision would be opened now, by the settings and rules of now. */
import type { PeopleTarget, QuestionTarget } from "../../settings/config/index.ts";
import { type InForce, narrowWhom } from "../../record/conversation/index.ts";
import type { Addressee } from "../../record/tool/index.ts";
import { findRung, peopleAt } from "./ladder.ts";
import { targetNow, type WhomContext, withIds } from "./subject.ts";

/** A place among those whom settings or a rule name. */
interface Place {
  readonly target: PeopleTarget | QuestionTarget;
  readonly rung?: number | undefined;
  /** Those whom the tool itself names for its question. */
  readonly named?: readonly Addressee[] | undefined;
}

/** Whom the same decision would be for if it were opened now, at its place: the first one, if there are fewer by now. */
export function whomInForce(
  context: WhomContext,
  { target, rung: recorded = 0, named }: Place,
): InForce {
  const rung = findRung({ target, rung: recorded }) === undefined ? 0 : recorded;
  // A model is asked while those before it may still answer.
  const isLast = findRung({ target, rung })?.type === "assistant";
  const isFirst = rung === 0 && "type" in target && target.type === "assistant";
  const people = peopleAt(target, isLast ? rung - 1 : rung) ?? {};
  const whom = narrowWhom(targetNow(context, people), named);
  return { ...withIds(context, whom), ...((isLast || isFirst) && { isForModel: true }) };
}
