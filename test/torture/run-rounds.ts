/** Runs rounds in parallel, and an undisturbed turn. */
import { availableParallelism } from "node:os";
import { makePlace } from "./place.ts";
import type { TurnPlan } from "./plan.ts";
import type { RoundResult } from "./round.ts";
import type { DryRun, DryRuns } from "./rounds.ts";
import { runTurnProcess } from "./turn-process.ts";

/** More than cores: a turn mostly waits. */
const AT_ONCE = availableParallelism() + 1;

/** Results are in the order of the rounds. */
export async function runRounds<Any>(
  rounds: readonly Any[],
  run: (round: Any) => Promise<RoundResult>,
  onResult: (result: RoundResult) => void = () => undefined,
): Promise<RoundResult[]> {
  const results: RoundResult[] = [];
  const waiting = [...rounds.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, round] = next;
      const result = await run(round);
      results[index] = result;
      onResult(result);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

/** Throws if an undisturbed turn does not complete. */
export async function dryRuns(program: string): Promise<DryRuns> {
  const plain = await dryRun("none", program);
  const served = await dryRun("polite", program);
  // Only an undisturbed server shows whether it gets ended.
  return { plain, served: { ...served, server: "stubborn" } };
}

/** Measured like the rounds run: in parallel. */
async function dryRun(server: TurnPlan["server"], program: string): Promise<DryRun> {
  await takeTurn(server, program); // Fills the compile cache.
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
    throw new Error(`an undisturbed turn failed: ${failure?.message ?? errors}`);
  } finally {
    place.remove();
  }
}
