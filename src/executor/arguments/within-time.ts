/**
 * Work that somebody else's schema may make endless: a pattern that tries every way there is, parts
 * that refer to each other over and over. It is given up when its time is over.
 */
import vm from "node:vm";

const LIMIT_MS = 500;

/** Thrown in place of a result. */
export class OutOfTime extends Error {
  constructor() {
    super(`it took longer than ${LIMIT_MS} ms`);
    this.name = "OutOfTime";
  }
}

interface Guarded {
  /** Called by the script, since time is only kept for scripts. */
  work?: () => void;
}

let guard: { readonly script: vm.Script; readonly context: Guarded } | undefined;

/** The work does not wait for anything. Throws what it throws, or `OutOfTime`. */
export function withinTime<Result>(work: () => Result): Result {
  guard ??= { script: new vm.Script("work()"), context: vm.createContext({}) };
  const { script, context } = guard;
  let result: { readonly value: Result } | undefined;
  context.work = () => {
    result = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: LIMIT_MS });
  } catch (error) {
    throw isTimeout(error) ? new OutOfTime() : error;
  } finally {
    delete context.work;
  }
  if (result === undefined) throw new Error("work that was done has a result");
  return result.value;
}

/** It is an error of the script's own world, where `Error` is another one. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}
