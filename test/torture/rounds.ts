/** Which rounds there are: at fault points, in the middle of writes, and at random moments. */
import type { Random } from "./random.ts";
import type { Round } from "./round.ts";
import type { TurnPlan } from "./plan.ts";

/** What a turn passes when nothing happens to it. */
export interface DryRun {
  readonly server: TurnPlan["server"];
  readonly points: readonly string[];
  readonly milliseconds: number;
}

/** The same turn without a server, and with one. */
export interface DryRuns {
  readonly plain: DryRun;
  readonly served: DryRun;
}

const WRITE = /^before write/;

/** A hundred of all kinds, for every day. */
export function shortRounds({ plain, served }: DryRuns, random: Random): Round[] {
  return [
    ...sample(roundsAtPoints(plain), 45, random),
    ...sample(roundsAtPoints(served), 10, random),
    ...sample(roundsInWrites(plain, random), 15, random),
    ...roundsAtRandom(plain, 25, random),
    ...roundsAtRandom(served, 5, random),
  ];
}

/** Each fault point of the turn. The process kills itself there. */
export function roundsAtPoints({ server, points }: DryRun): Round[] {
  return points.map((name, index) => ({
    name: `killed ${name}, point ${index + 1}, server ${server}`,
    fault: { type: "kill", point: index + 1 },
    server,
  }));
}

/** Each write, of which a part arrives. */
export function roundsInWrites({ server, points }: DryRun, random: Random): Round[] {
  return points.flatMap((name, index) => {
    if (!WRITE.test(name)) return [];
    const share = random.next();
    return [
      {
        name: `killed in ${name.replace("before ", "")}, point ${index + 1}, after ${Math.round(share * 100)} %`,
        fault: { type: "torn" as const, point: index + 1, share },
        server,
      },
    ];
  });
}

/** A moment that nobody has chosen, somewhere in the turn. */
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

/** Every operation of the disk fails, once or from then on. */
export function roundsOfErrors({ server, points }: DryRun): Round[] {
  return points.flatMap((name, index) => {
    if (!name.startsWith("before ") || name.includes("spawn")) return [];
    return [false, true].map((isLasting) => ({
      name: `EIO ${name}, point ${index + 1}, ${isLasting ? "and ever after" : "once"}`,
      fault: { type: "error" as const, point: index + 1, isLasting },
      server,
    }));
  });
}

/** So many of them, from all over the list. */
export function sample<Value>(values: readonly Value[], count: number, random: Random): Value[] {
  if (count >= values.length) return [...values];
  const step = values.length / count;
  return Array.from({ length: count }, (_, index) => {
    const value = values[Math.floor((index + random.next()) * step)];
    return value === undefined ? [] : [value];
  }).flat();
}
