/** Runs rounds side by side, and a turn to which nothing happens. */
import { availableParallelism } from "node:os";
import { makePlace } from "./place.ts";
import type { TurnPlan } from "./plan.ts";
import { type Round, type RoundResult, runRound } from "./round.ts";
import type { DryRun, DryRuns } from "./rounds.ts";
import { runTurnProcess } from "./turn-process.ts";

/** Much of a turn is waiting. */
const AT_ONCE = availableParallelism() + 1;

/** The results are in the order of the rounds. */
export async function runRounds(
  rounds: readonly Round[],
  program: string,
  onResult: (result: RoundResult) => void = () => undefined,
): Promise<RoundResult[]> {
  const results: RoundResult[] = [];
  const waiting = [...rounds.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, round] = next;
      const result = await runRound(round, program);
      results[index] = result;
      onResult(result);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

/** Throws if a turn to which nothing happens does not come to its end. */
export async function dryRuns(program: string): Promise<DryRuns> {
  const plain = await dryRun("none", program);
  const served = await dryRun("polite", program);
  // Only a server that is left alone shows whether it is ended.
  return { plain, served: { ...served, server: "stubborn" } };
}

/** Measured as the rounds will run: side by side. */
async function dryRun(server: TurnPlan["server"], program: string): Promise<DryRun> {
  await takeTurn(server, program); // What the first one compiles, the others find.
  const turns = await Promise.all(Array.from({ length: AT_ONCE }, () => takeTurn(server, program)));
  const milliseconds = Math.max(...turns.map((turn) => turn.milliseconds));
  return { server, points: turns[0]?.points ?? [], milliseconds };
}

async function takeTurn(server: TurnPlan["server"], program: string) {
  const place = makePlace();
  try {
    const { root, data, notes, round } = place;
    const { end, failure, errors } = await runTurnProcess(
      { root, data, notes, fault: { type: "none" }, server, turn: "first" },
      { program, round },
    );
    if (end !== undefined && failure === undefined) return end;
    throw new Error(`a turn on good ground has failed: ${failure?.message ?? errors}`);
  } finally {
    place.remove();
  }
}
