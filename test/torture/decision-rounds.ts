/** The rounds of decisions: each of their processes is killed at each of its fault points. */
import { COURSES, type DecisionRound, playDecisions } from "./decision-round.ts";

/** The fault points that each process of an undisturbed round passes. */
export interface DecisionDryRun {
  readonly course: DecisionRound["course"];
  readonly points: readonly (readonly string[])[];
}

/** Throws if an undisturbed round has problems. */
export async function dryRunDecisions(program: string): Promise<readonly DecisionDryRun[]> {
  const runs: DecisionDryRun[] = [];
  for (const course of ["deferred", "live"] as const) {
    const round = { name: "undisturbed", step: -2, fault: { type: "none" }, course } as const;
    const played = await playDecisions(round, program);
    if (played.problems.length > 0) throw new Error(played.problems.join("\n"));
    const points = COURSES[course].map(
      (_, step) => played.runs.find((each) => each.step === step)?.run.end?.points ?? [],
    );
    runs.push({ course, points });
  }
  return runs;
}

export interface RoundOptions {
  /** Killing after an operation and before the next one leaves the same state. */
  readonly isEach: boolean;
  /** At least this many. Those that are repeated tear writes elsewhere. */
  readonly least?: number;
}

export function roundsOfDecisions(
  dry: readonly DecisionDryRun[],
  { isEach, least = 1 }: RoundOptions,
): DecisionRound[] {
  const rounds: DecisionRound[] = [];
  for (let time = 0; rounds.length < least; time += 1) {
    for (const { course, points } of dry) {
      for (const [step, names] of points.entries()) {
        const all = names.map((name, index) => ({ course, step, name, point: index + 1, time }));
        rounds.push(...all.flatMap((point) => roundsAt(point, isEach)));
      }
    }
  }
  return rounds;
}

interface FaultPoint extends Pick<DecisionRound, "course" | "step"> {
  readonly name: string;
  readonly point: number;
  /** How often all points came before. */
  readonly time: number;
}

/** How much of a torn write is written. */
const SHARES = [0.5, 0, 0.99, 0.2, 0.8];

function roundsAt(
  { course, step, name, point, time }: FaultPoint,
  isEach: boolean,
): DecisionRound[] {
  const where = `in process ${step} (${course}), point ${point}`;
  const isBefore = name.startsWith("before ");
  const killed: DecisionRound = {
    name: `killed ${name} ${where}`,
    course,
    step,
    fault: { type: "kill", point },
  };
  const share = SHARES[(point + time) % SHARES.length] ?? 0;
  const torn: DecisionRound = {
    name: `killed in ${name.replace("before ", "")} ${where}, after ${Math.round(share * 100)} %`,
    course,
    step,
    fault: { type: "torn", point, share },
  };
  const canTear = /^before write(?!FileSync)/.test(name);
  return [...(isBefore || isEach ? [killed] : []), ...(canTear ? [torn] : [])];
}
