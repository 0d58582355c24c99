/** Serving goes on until a signal; a second one does not wait for anything. */
import { INTERRUPTED } from "../../exit-status.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface UntilSignal extends Disposable {
  readonly signal: AbortSignal;
}

export function untilSignal(): UntilSignal {
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(INTERRUPTED);
    stop.abort();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    signal: stop.signal,
    [Symbol.dispose]: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
