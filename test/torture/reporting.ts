/** How the torture programs report to their harness, on file descriptor 3. */
import { type ConversationEvent, StreamEntry } from "../../src/record/conversation/index.ts";
import type { ConversationWriter } from "../../src/stores/index.ts";
import { isJpError } from "../../src/util/index.ts";
import { FaultPoints, writeSync } from "./fault-points.ts";
import type { Fault, Report } from "./plan.ts";

const REPORTS = 3;

export function report(message: Report): void {
  writeSync(REPORTS, `${JSON.stringify(message)}\n`);
}

/** Does the work of the program with its fault, and reports how it went. */
export async function runWithFault(fault: Fault, work: () => Promise<void>): Promise<void> {
  const points = await FaultPoints.install(fault);
  report({ type: "ready" });
  const begin = performance.now();
  try {
    await work();
  } catch (error) {
    const code = isJpError(error) ? error.code : "uncoded";
    const message = error instanceof Error ? error.message : String(error);
    report({ type: "failed", code, message });
  }
  points.end();
  report({ type: "done", points: points.names, milliseconds: performance.now() - begin });
}

/** The same writer, which reports each acknowledged event first. */
export function acknowledging(writer: ConversationWriter): ConversationWriter {
  return new Proxy(writer, {
    get(target, key) {
      if (key === "append" || key === "appendSoon") {
        return async (...events: readonly ConversationEvent[]) => {
          await target[key]?.(...events);
          for (const event of events) {
            report({ type: "recorded", element: StreamEntry.fromEvent(event).raw });
          }
        };
      }
      const value = Reflect.get(target, key) as unknown;
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
