/**
 * Traces turns only if an OpenTelemetry SDK is registered. Without one, nothing of OpenTelemetry is loaded, and a
 * turn costs only this check.
 */
import { type TraceTurn, warnOnce } from "../../core/agent/index.ts";
import { loaderOf } from "../../util/index.ts";
import { isTracing } from "./is-tracing.ts";

export interface TracingOptions {
  /** Include messages, arguments, results, answers and people's names in spans. */
  readonly tracesContent: boolean | undefined;
}

/** Undefined without an SDK. */
export function findTracing({ tracesContent = false }: TracingOptions): TraceTurn | undefined {
  if (!isTracing()) return undefined;
  return async (setup, turn, work) => {
    const loaded = await loadTrace().catch(warn);
    return loaded === undefined
      ? work(setup)
      : loaded.traceTurn(setup, { ...turn, tracesContent }, work);
  };
}

/** Throws `module_not_loaded`, also if `@opentelemetry/api` is not installed alongside jp. */
const loadTrace = loaderOf(() => import("./trace-turn.ts"));

const warnOfFailure = warnOnce("Tracing failed");

function warn(error: unknown): undefined {
  warnOfFailure(error);
}
