/** Who ended what was under way. It travels as the reason of an abort, and is never guessed afterwards. */
import type { KnownCancellationReason } from "../conversation/index.ts";

/** The user, or something else: a signal, a window that was closed, a client that is gone. */
export type StopCause = Extract<KnownCancellationReason, "user" | "interrupted">;

/**
 * The reason of an abort that the user asked for. It is an `AbortError`, as the reason of a plain
 * `abort()` is, because providers report any other reason as a failure of the request.
 */
class StoppedByUser extends DOMException {
  constructor() {
    super("The user stopped it.", "AbortError");
  }
}

export function abortBy(cause: StopCause, controller: AbortController): void {
  if (cause === "user") controller.abort(new StoppedByUser());
  else controller.abort();
}

/** Only an abort that says so is the user's. */
export function stopCause({ reason }: AbortSignal): StopCause {
  return reason instanceof StoppedByUser ? "user" : "interrupted";
}

/** Why a prompt closed without an answer. Its signal decides: many prompters report every end alike. */
export function promptCause(
  { type }: { readonly type: "cancelled" | "interrupted" },
  signal: AbortSignal,
): StopCause {
  if (signal.aborted) return stopCause(signal);
  return type === "cancelled" ? "user" : "interrupted";
}
