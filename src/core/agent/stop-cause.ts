/** Who stopped something, carried by the reason that its signal was aborted with. */
import type { KnownCancellationReason } from "../../record/conversation/index.ts";
import type { NoAnswer } from "./ports.ts";

/** The reason that a prompt's signal was aborted with. Without it, the question was withdrawn. */
export interface ClosingReason {
  /** Tells the person why their prompt was closed. Empty if they did it themselves. */
  readonly notice: string;
}

/** Who stopped something: the user, or something else, such as a signal or a client that disconnected. */
export type StopCause = Extract<KnownCancellationReason, "user" | "interrupted">;

/**
 * The abort reason for a stop by the user. It is an `AbortError`, like the default reason, because
 * providers report any other reason as a failed request.
 */
class StoppedByUser extends DOMException implements ClosingReason {
  readonly notice = "";

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
