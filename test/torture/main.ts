/**
 * `npm run torture`: every fault point, every write torn, random moments, disk errors, bad disks and
 * clocks, damaged files, several processes at once, and a fleet on a database that fails. To repeat rounds that failed in the test,
 * pass part of their name with `--only`; rounds with a seed in their name also need it as `--seed`.
 */
import { parseArgs } from "node:util";
import { canMountDisk } from "../support/small-disk.ts";
import { bundleTorturePrograms } from "./bundle.ts";
import { fullDisks, jumpingClocks, readOnlyFolders } from "./grounds.ts";
import { roundsOfCrowds, runCrowdRound } from "./crowd-round.ts";
import { roundsOfChaos, runChaosRound } from "./chaos-round.ts";
import { roundsOfDamage, runDamageRound } from "./damage-rounds.ts";
import { Random } from "./random.ts";
import { runDecisionRound } from "./decision-round.ts";
import { dryRunDecisions, roundsOfDecisions } from "./decision-rounds.ts";
import { type Round, type RoundResult, runRound } from "./round.ts";
import {
  type DryRuns,
  roundsAtPoints,
  roundsAtRandom,
  roundsInWrites,
  roundsOfErrors,
} from "./rounds.ts";
import { dryRuns, runRounds } from "./run-rounds.ts";

const canMount = canMountDisk();
const { values } = parseArgs({
  options: {
    /** The number of rounds at random moments. */
    rounds: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    /** Only rounds whose name contains this. */
    only: { type: "string", default: "" },
  },
});
const random = new Random(Number(values.seed));
console.log(`seed ${values.seed}`);
await using programs = await bundleTorturePrograms();
const dry = await dryRuns(programs.turn);
for (const [name, all] of Object.entries(groupsOf(dry))) {
  await runGroup(name, all, (round) => runRound(round, programs.turn));
}
const decisions = roundsOfDecisions(await dryRunDecisions(programs.decision), { isEach: true });
await runGroup("killed while deciding", decisions, (round) =>
  runDecisionRound(round, programs.decision),
);
await runGroup("a damaged file", roundsOfDamage(Number(values.rounds), random), runDamageRound);
await runGroup("several processes", roundsOfCrowds(20, Number(values.seed)), (round) =>
  runCrowdRound(round, programs.crowd),
);
await runGroup("a failing fleet", roundsOfChaos(10, 100, Number(values.seed)), async (round) => {
  const result = await runChaosRound(round);
  console.log(`${result.name}: ${result.recorded} decisions, ${JSON.stringify(result.counts)}`);
  return result;
});

async function runGroup<Any extends { readonly name: string }>(
  name: string,
  all: readonly Any[],
  run: (round: Any) => Promise<RoundResult>,
): Promise<void> {
  const begin = performance.now();
  const rounds = all.filter((round) => round.name.includes(values.only));
  const results = await runRounds(rounds, run, report);
  console.log(row(name, results, performance.now() - begin));
}

function groupsOf({ plain, served }: DryRuns): Readonly<Record<string, readonly Round[]>> {
  const count = Number(values.rounds);
  return {
    "killed at a fault point": [...roundsAtPoints(plain), ...roundsAtPoints(served)],
    "killed in a write": upTo(3).flatMap(() => roundsInWrites(plain, () => random.next())),
    "killed at random": [
      ...roundsAtRandom(plain, Math.ceil(count * 0.7), random),
      ...roundsAtRandom(served, Math.floor(count * 0.3), random),
    ],
    "EIO at a disk operation": roundsOfErrors(plain),
    "a full disk": canMount ? fullDisks(upTo(6)) : [],
    "a read-only folder": canMount ? readOnlyFolders() : [],
    "a clock that jumps back": jumpingClocks(upTo(30).map((index) => index * 2)),
  };
}

function upTo(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}

function report({ name, problems }: RoundResult): void {
  if (problems.length === 0) return;
  process.exitCode = 1;
  console.log(`${name}:\n  ${problems.join("\n  ")}`);
}

function row(name: string, results: readonly RoundResult[], milliseconds: number): string {
  const cells = [
    `${results.length} rounds`.padStart(12),
    `${results.filter(({ isHit }) => isHit).length} hit`.padStart(10),
    `${results.reduce((sum, { recorded }) => sum + recorded, 0)} events`.padStart(14),
    `${results.filter(({ problems }) => problems.length > 0).length} bad`.padStart(8),
    `${Math.round(milliseconds / 1000)} s`.padStart(8),
  ];
  return `${name.padEnd(26)}${cells.join("")}`;
}
