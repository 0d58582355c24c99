/**
 * Signals while a turn runs. Ctrl-C asks the person what to do, where that is possible; once the turn is
 * being ended, another one ends everything at once. Programs that tools have started end with us.
 */
import type { Turn } from "../../../agent/index.ts";

const INTERRUPTED = 130;

/** Until it is disposed of. */
export function watchSignals(turn: Turn): Disposable {
  const onInterrupt = () => {
    if (turn.isLeaving) process.exit(INTERRUPTED);
    turn.interrupt();
  };
  const onEnd = () => {
    if (turn.isLeaving) process.exit(INTERRUPTED);
    turn.leave();
  };
  process.on("SIGINT", onInterrupt);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, onEnd);
  return {
    [Symbol.dispose]: () => {
      process.off("SIGINT", onInterrupt);
      for (const signal of ["SIGTERM", "SIGHUP"] as const) process.off(signal, onEnd);
    },
  };
}
