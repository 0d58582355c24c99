/** Serving goes on until a signal; a second one does not wait for anything. */
import { INTERRUPTED } from "../../exit-status.ts";
import type { Host } from "../../host.ts";

export interface UntilSignal extends Disposable {
  readonly signal: AbortSignal;
}

export function untilSignal(host: Host): UntilSignal {
  const stop = new AbortController();
  const watch = host.onSignal(["SIGINT", "SIGTERM", "SIGHUP"], () => {
    if (stop.signal.aborted) return host.exit(INTERRUPTED);
    stop.abort();
  });
  return { signal: stop.signal, [Symbol.dispose]: () => watch[Symbol.dispose]() };
}
