/**
 * Removes voided decisions from a recorded turn, as if no one had been asked: a replay does not compare the subjects
 * of decisions. The request that asks again takes the first one's place, and its answer that of the first answer.
 */
import {
  type ConversationEvent,
  type DecisionVoid,
  type InquiryRequest,
  isAnswer,
  isDecisionRequest,
  isPassedOn,
  type PermissionRequestEvent,
} from "../../record/conversation/index.ts";
import { RecordedCalls } from "./recorded-calls.ts";

type Request = InquiryRequest | PermissionRequestEvent;

/**
 * Takes the events of one turn. If tools do not run, a tool that asked again because its action had changed does so
 * again.
 */
export function withoutVoid(
  turn: readonly ConversationEvent[],
  { runsTools }: { readonly runsTools: boolean },
): readonly ConversationEvent[] {
  return (
    turn
      .filter((event) => event.type === "decision_void")
      // Deadlines pass again in a replay.
      .filter(({ changed }) => !isPassedOn(changed))
      .filter((event) => runsTools || !isRebound(event))
      .reduce((events, voided) => {
        const decision = new VoidDecision(events, voided);
        const wasAsked = turn.some((event) => isDecisionRequest(event) && event.id === voided.id);
        return wasAsked && !decision.isAsked ? decision.forget() : decision.leaveOut();
      }, turn)
  );
}

/** The tool itself asked again. */
function isRebound({ changed }: DecisionVoid): boolean {
  return changed.includes("binding");
}

/** Whether the request replaced one that a person had answered. */
export function isForSamePerson({ isForPerson, replaces }: Request): boolean {
  return isForPerson === true && replaces === undefined;
}

class VoidDecision {
  readonly #events: readonly ConversationEvent[];
  readonly #calls: RecordedCalls;
  readonly #voided: DecisionVoid;
  readonly #again: Request | undefined;
  /** Positions. */
  readonly #first: number;
  readonly #end: number;

  constructor(events: readonly ConversationEvent[], voided: DecisionVoid) {
    this.#events = events;
    this.#calls = new RecordedCalls(events);
    this.#voided = voided;
    this.#again = events.filter(isDecisionRequest).find(({ replaces }) => replaces === voided.id);
    this.#end = events.indexOf(voided);
    this.#first = events.findIndex((event) => isDecisionRequest(event) && event.id === voided.id);
  }

  /** False if the request was removed together with another one. */
  get isAsked(): boolean {
    return this.#first !== -1;
  }

  /** Removes the request that asks again. */
  forget(): readonly ConversationEvent[] {
    const outcomes = this.#outcomesOf(this.#again?.id);
    return this.#events.filter(
      (event) => event !== this.#voided && event !== this.#again && !outcomes.includes(event),
    );
  }

  leaveOut(): readonly ConversationEvent[] {
    const answered = this.#outcomesOf(this.#again?.id);
    const last = answered.at(-1);
    const place = this.#events.findIndex(
      (event) => isAnswer(event) && event.id === this.#voided.id,
    );
    const isAnsweredAlike = place !== -1 && last !== undefined && isYes(last);
    return isAnsweredAlike && !isRebound(this.#voided)
      ? this.#replaceAnswer(place, answered)
      : this.#takeBack();
  }

  /** The call continues as it did after the first answer. */
  #replaceAnswer(
    place: number,
    answered: readonly ConversationEvent[],
  ): readonly ConversationEvent[] {
    const own = this.#outcomesOf(this.#voided.id);
    return this.#events.flatMap((event, index) => {
      if (index === this.#first) return this.#request();
      if (index === place) return answered;
      const isMoved = event === this.#again || event === this.#voided || answered.includes(event);
      return isMoved || own.includes(event) ? [] : [event];
    });
  }

  /** Removes what the call did after the first answer: its attempts and their outcomes. */
  #takeBack(): readonly ConversationEvent[] {
    const own = this.#outcomesOf(this.#voided.id);
    const call = this.#call;
    const attempt = this.#events.findIndex(
      (event, index) =>
        index > this.#first && event.type === "attempt_start" && this.#calls.of(event) === call,
    );
    return this.#events.flatMap((event, index): readonly ConversationEvent[] => {
      if (index === this.#first) return this.#request();
      const isLater = attempt !== -1 && index >= attempt && index < this.#end;
      const isUndone = isLater && this.#callOf(event) === call;
      const isMoved = event === this.#voided || (event === this.#again && this.#first !== -1);
      return isMoved || isUndone || own.includes(event) ? [] : [event];
    });
  }

  get #call(): string | undefined {
    const first = this.#events[this.#first];
    return first && this.#calls.of(first);
  }

  #callOf(event: ConversationEvent): string | undefined {
    if (event.type !== "decision_void") return this.#calls.of(event);
    const request = this.#events.find((each) => isDecisionRequest(each) && each.id === event.id);
    return request && this.#calls.of(request);
  }

  /** Neither a model nor a default may answer in a person's place, as with an exclusive question. */
  #request(): readonly Request[] {
    if (this.#again === undefined) return [];
    const { replaces: _replaces, ...request } = this.#again;
    if (request.type !== "inquiry_request" || request.isForPerson !== true) return [request];
    if (request.question.answerType.type === "secret") return [request];
    return [{ ...request, question: { ...request.question, exclusive: true } }];
  }

  #outcomesOf(id: string | undefined): readonly ConversationEvent[] {
    return this.#events.filter(
      (event) =>
        (isAnswer(event) || event.type === "inquiry_escalation") &&
        id !== undefined &&
        event.id === id,
    );
  }
}

/** The call continues with this answer in any process. A secret would be asked for again. */
function isYes(event: ConversationEvent): boolean {
  if (event.type === "permission_decision") return event.decision !== "denied";
  return event.type === "inquiry_response" && event.outcome === "answered";
}
