/** Who stopped something, carried by the reason that its signal was aborted with. */
import {
  type Decider,
  describeDecider,
  type KnownCancellationReason,
} from "../../record/conversation/index.ts";
import { isTimedOut } from "./deadline.ts";
import type { NoAnswer } from "./ports.ts";

/** Who stopped something: the user, or something else, such as a signal or a client that disconnected. */
export type StopCause = Extract<KnownCancellationReason, "user" | "interrupted">;

/**
 * The abort reason for a stop by the user. It is an `AbortError`, like the default reason, because
 * providers report any other reason as a failed request.
 */
class StoppedByUser extends DOMException {
  constructor() {
    super("Stopped by the user.", "AbortError");
  }
}

export function abortBy(cause: StopCause, controller: AbortController): void {
  if (cause === "user") controller.abort(new StoppedByUser());
  else controller.abort();
}

export function stopCause({ reason }: AbortSignal): StopCause {
  return reason instanceof StoppedByUser ? "user" : "interrupted";
}

/** Who closed a prompt. An aborted signal decides, because many prompters report every end alike. */
export function promptCause({ type }: Pick<NoAnswer, "type">, signal: AbortSignal): StopCause {
  if (signal.aborted) return stopCause(signal);
  return type === "cancelled" ? "user" : "interrupted";
}

/** The abort reason for a question that someone has answered elsewhere. */
export class AnsweredElsewhere extends DOMException {
  constructor(by: Decider | undefined) {
    const who = by === undefined ? "" : ` by ${describeDecider(by)}`;
    super(`This question was answered elsewhere${who}.`, "AbortError");
  }
}

/** Tells the person why their prompt was closed. Undefined if they stopped it themselves. */
export function explainClosing(signal: AbortSignal): string | undefined {
  if (stopCause(signal) === "user") return undefined;
  if (signal.reason instanceof AnsweredElsewhere) return signal.reason.message;
  return isTimedOut(signal)
    ? "This question was not answered in time."
    : "This question was withdrawn.";
}
