/** The terms in force: those a decision would have if it were opened now, under the current settings and rules. */
import type { PeopleTarget, QuestionTarget } from "../../settings/config/index.ts";
import { type InForce, narrowWhom } from "../../record/conversation/index.ts";
import type { Addressee } from "../../record/tool/index.ts";
import { findRung, peopleAt } from "./ladder.ts";
import { targetNow, type WhomContext, withIds } from "./subject.ts";

/** A rung of a target from settings or a rule. */
interface Place {
  readonly target: PeopleTarget | QuestionTarget;
  readonly rung?: number | undefined;
  /** The people that the tool itself names for its question. */
  readonly named?: readonly Addressee[] | undefined;
}

/** Who would decide if it were opened now, at the same rung, or at the first if there are fewer by now. */
export function whomInForce(
  context: WhomContext,
  { target, rung: recorded = 0, named }: Place,
): InForce {
  const rung = findRung({ target, rung: recorded }) === undefined ? 0 : recorded;
  // A model is asked while the people before it may still answer.
  const isLast = findRung({ target, rung })?.type === "assistant";
  const isFirst = rung === 0 && "type" in target && target.type === "assistant";
  const people = peopleAt(target, isLast ? rung - 1 : rung) ?? {};
  const whom = narrowWhom(targetNow(context, people), named);
  return { ...withIds(context, whom), ...((isLast || isFirst) && { isForModel: true }) };
}
