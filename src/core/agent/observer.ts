/** Wraps a program's own observer: it must not break the turn, and each update names its conversation. */
import type { ConversationId } from "../../record/conversation/index.ts";
import { messageOf } from "../../util/index.ts";
import type { Observer } from "./ports.ts";

/** An observer that cannot fail. It gets every update of the conversation, even after an error. */
export function guardObserver(observer: Observer, conversation: ConversationId): Observer {
  const warn = warnOnce("The observer of a turn failed");
  const identified = withConversation(observer, conversation);
  return {
    observe: (update) => {
      try {
        const observed: unknown = identified.observe(update); // An async function can be passed too.
        if (observed instanceof Promise) observed.catch(warn);
      } catch (error) {
        warn(error);
      }
    },
  };
}

/** Adds the conversation to each update. */
export function withConversation(observer: Observer, conversation: ConversationId): Observer {
  return { observe: (update) => observer.observe({ ...update, conversation }) };
}

/** Reports only the first error of a kind. */
export function warnOnce(what: string): (error: unknown) => void {
  let hasWarned = false;
  return (error) => {
    if (hasWarned) return;
    hasWarned = true;
    const detail = error instanceof Error ? error.stack : undefined;
    const options = { type: "JpWarning", ...(detail !== undefined && { detail }) };
    process.emitWarning(`${what}, and the turn continued: ${messageOf(error)}`, options);
  };
}
