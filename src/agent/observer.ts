/** A program's own observer must not take the turn down. */
import { messageOf } from "../util/index.ts";
import type { Observer } from "./ports.ts";

/** An observer that cannot fail. It gets every update, also after an error. */
export function guardObserver(observer: Observer): Observer {
  const warn = warnOnce("The observer of a turn failed");
  return {
    observe: (update) => {
      try {
        const observed: unknown = observer.observe(update); // An async function can be passed too.
        if (observed instanceof Promise) observed.catch(warn);
      } catch (error) {
        warn(error);
      }
    },
  };
}

/** Reports only the first of many errors of the same kind. */
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
