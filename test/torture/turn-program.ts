/**
 * A program for tests: runs one turn according to its plan, and reports acknowledged events on file
 * descriptor 3. Argument: the plan, as JSON.
 */
import {
  type ConversationEvent,
  parseConversationId,
  StreamEntry,
} from "../../src/conversation/index.ts";
import { type ConversationWriter, openWorkspace } from "../../src/storage/index.ts";
import { type Clock, isJpError, systemClock } from "../../src/util/index.ts";
import { FaultPoints, writeSync } from "./fault-points.ts";
import type { Report, TurnPlan } from "./plan.ts";
import { openScenario } from "./scenario.ts";

const REPORTS = 3;
const HOUR_MS = 3_600_000;

const plan = JSON.parse(process.argv[2] ?? "") as TurnPlan; // The harness has written it.
const points = await FaultPoints.install(plan.fault);
report({ type: "ready" });
const begin = performance.now();
try {
  await takeTurn();
} catch (error) {
  const code = isJpError(error) ? error.code : "uncoded";
  report({ type: "failed", code, message: error instanceof Error ? error.message : String(error) });
}
points.end();
report({ type: "done", points: points.names, milliseconds: performance.now() - begin });

async function takeTurn(): Promise<void> {
  const clock = clockOf(plan);
  const { conversations } = openWorkspace({
    from: plan.root,
    environment: {
      variables: { JP_USER_DATA_DIR: plan.data },
      home: plan.data,
      platform: process.platform,
    },
    clock,
    pid: process.pid,
  });
  await using writer =
    plan.conversation === undefined
      ? await conversations.create({ baseConfig: { a: 1 } })
      : await conversations.open(parseConversationId(plan.conversation));
  await using scenario = openScenario({ plan, conversation: acknowledging(writer), clock });
  await scenario.run();
  await writer.updateMetadata((metadata) => ({ ...metadata, title: `After the ${plan.turn}` }));
}

/** The same writer, which reports each acknowledged event first. */
function acknowledging(writer: ConversationWriter): ConversationWriter {
  return new Proxy(writer, {
    get(target, key) {
      if (key === "append") {
        return async (...events: readonly ConversationEvent[]) => {
          await target.append(...events);
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

function clockOf({ clockJumpsAfter = Number.POSITIVE_INFINITY }: TurnPlan): Clock {
  let looks = 0;
  return {
    ...systemClock,
    now: () => {
      looks += 1;
      return new Date(Date.now() - (looks > clockJumpsAfter ? HOUR_MS : 0));
    },
  };
}

function report(message: Report): void {
  writeSync(REPORTS, `${JSON.stringify(message)}\n`);
}
