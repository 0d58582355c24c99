/** The torture rounds: at fault points, in the middle of writes, and at random moments. */
import type { Random } from "./random.ts";
import type { Round } from "./round.ts";
import type { TurnPlan } from "./plan.ts";

/** The fault points that an undisturbed turn passes. */
export interface DryRun {
  readonly server: TurnPlan["server"];
  readonly points: readonly string[];
  readonly milliseconds: number;
}

/** The same turn without an MCP server, and with one. */
export interface DryRuns {
  readonly plain: DryRun;
  readonly served: DryRun;
}

/**
 * Every state of the disk that a kill can leave. Killing after an operation and before the next one
 * leaves the same state, so "before" is enough. A server only adds processes, so its rounds are at spawns.
 */
export function roundsOfKills({ plain, served }: DryRuns): Round[] {
  return [
    ...roundsAtPoints(plain).filter(({ name }) => name.startsWith("killed before")),
    ...roundsAtPoints(served).filter(({ name }) => name.includes(" spawn")),
    ...roundsInWrites(plain, (index) => SHARES[index % SHARES.length] ?? 0),
  ];
}

/** How much of a torn write is written. */
const SHARES = [0.5, 0, 0.99, 0.2, 0.8];

/** Each fault point of the turn. The process kills itself there. */
export function roundsAtPoints({ server, points }: DryRun): Round[] {
  return points.map((name, index) => ({
    name: `killed ${name}, point ${index + 1}, server ${server}`,
    fault: { type: "kill", point: index + 1 },
    server,
  }));
}

/** Each write: a part of it is written before the process kills itself. */
export function roundsInWrites(
  { server, points }: DryRun,
  shareOf: (index: number) => number,
): Round[] {
  const writes = [...points.entries()].filter(([, name]) => name.startsWith("before write"));
  return writes.map(([point, name], index) => {
    const share = shareOf(index);
    return {
      name: `killed in ${name.replace("before ", "")}, point ${point + 1}, after ${Math.round(share * 100)} %`,
      fault: { type: "torn", point: point + 1, share },
      server,
    };
  });
}

/** At random moments of the turn. */
export function roundsAtRandom(
  { server, milliseconds }: DryRun,
  count: number,
  random: Random,
): Round[] {
  return Array.from({ length: count }, () => {
    const killAfterMs = random.next() * milliseconds;
    return {
      name: `killed after ${killAfterMs.toFixed(1)} ms, server ${server}`,
      fault: { type: "none" },
      killAfterMs,
      server,
    };
  });
}

/** Each disk operation fails, alone or with all later ones. */
export function roundsOfErrors({ server, points }: DryRun): Round[] {
  return points.flatMap((name, index) => {
    if (!name.startsWith("before ") || name.includes("spawn")) return [];
    return [false, true].map((isLasting) => ({
      name: `EIO ${name}, point ${index + 1}, ${isLasting ? "permanently" : "once"}`,
      fault: { type: "error" as const, point: index + 1, isLasting },
      server,
    }));
  });
}
