/**
 * A program for tests: runs one turn according to its plan, and reports acknowledged events. Argument: the plan, as JSON.
 */
import { parseConversationId } from "../../src/record/conversation/index.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { type Clock, systemClock } from "../../src/util/index.ts";
import type { TurnPlan } from "./plan.ts";
import { acknowledging, runWithFault } from "./reporting.ts";
import { openScenario } from "./scenario.ts";

const HOUR_MS = 3_600_000;

const plan = JSON.parse(process.argv[2] ?? "") as TurnPlan; // The harness has written it.
await runWithFault(plan.fault, takeTurn);

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
