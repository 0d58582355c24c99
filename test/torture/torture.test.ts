/**
 * When a turn is killed or the disk fails, no recorded event is lost, the next turn continues, and nothing
 * is left behind. `main.ts` adds random moments, and repeats single rounds.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { canMountDisk } from "../support/small-disk.ts";
import { type BundledPrograms, bundleTorturePrograms } from "./bundle.ts";
import { fullDisks, jumpingClocks, readOnlyFolders } from "./grounds.ts";
import { type Round, runRound } from "./round.ts";
import { type DryRuns, roundsOfErrors, roundsOfKills } from "./rounds.ts";
import { dryRuns, runRounds } from "./run-rounds.ts";

const isLinux = process.platform === "linux"; // Leftover processes are found in /proc.
const TIMEOUT_MS = 1_200_000;
let programs: BundledPrograms | undefined;
let dry: DryRuns;

beforeAll(async () => {
  if (!isLinux) return;
  programs = await bundleTorturePrograms();
  dry = await dryRuns(programs.turn);
}, TIMEOUT_MS);

afterAll(() => programs?.[Symbol.asyncDispose]());

test.runIf(isLinux)(
  "a turn killed at any point loses no recorded event and leaves nothing behind",
  async () => {
    const rounds = roundsOfKills(dry);
    const { bad, hits } = await run(rounds);
    expect(bad).toEqual([]);
    // A turn may end before the last points, because queued appends share a sync.
    expect(hits).toBeGreaterThan(rounds.length / 2);
  },
  TIMEOUT_MS,
);

test.runIf(isLinux)(
  "a disk error at any operation at worst ends the turn, and loses no recorded event",
  async () => {
    // Both kinds of errors alternate; `main.ts` has both at every operation.
    const rounds = roundsOfErrors(dry.plain).filter(
      (_, index) => index % 4 === 0 || index % 4 === 3,
    );
    const { bad, hits } = await run(rounds);
    expect(bad).toEqual([]);
    expect(hits).toBeGreaterThan(rounds.length / 2); // Some errors can be ignored.
  },
  TIMEOUT_MS,
);

test.runIf(isLinux && canMountDisk())(
  "a full disk or a read-only folder ends the turn, and loses no recorded event",
  async () => {
    const { bad, hits } = await run([...fullDisks([0, 2]), ...readOnlyFolders()]);
    expect(bad).toEqual([]);
    expect(hits).toBeGreaterThan(6);
  },
  TIMEOUT_MS,
);

test.runIf(isLinux)(
  "a clock that jumps back during a turn does not change the order of events",
  async () => {
    expect(await run(jumpingClocks([0, 5, 25]))).toEqual({ bad: [], hits: 0 });
  },
  TIMEOUT_MS,
);

async function run(rounds: readonly Round[]) {
  const program = programs?.turn ?? "";
  const results = await runRounds(rounds, (round) => runRound(round, program));
  return {
    bad: results.filter(({ problems }) => problems.length > 0),
    hits: results.filter(({ isHit }) => isHit).length,
  };
}
