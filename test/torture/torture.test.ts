/**
 * Turns that are killed, and turns on bad ground: nothing that was recorded is lost, the next turn
 * goes on, and nothing is left behind. `main.ts` has the long form, and repeats what fails here.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { canMountDisk } from "../support/small-disk.ts";
import { type BundledProgram, bundleProgram } from "./bundle.ts";
import { fullDisks, jumpingClocks, readOnlyFolders } from "./grounds.ts";
import { Random } from "./random.ts";
import type { Round } from "./round.ts";
import { type DryRuns, roundsOfErrors, sample, shortRounds } from "./rounds.ts";
import { dryRuns, runRounds } from "./run-rounds.ts";

const seed = Date.now() % 1_000_000;
const random = new Random(seed);
const isLinux = process.platform === "linux"; // What is left running is looked up in /proc.
const LONG = 600_000;
let program: BundledProgram | undefined;
let dry: DryRuns;

beforeAll(async () => {
  if (!isLinux) return;
  program = await bundleProgram();
  dry = await dryRuns(program.file);
}, LONG);

afterAll(() => program?.[Symbol.asyncDispose]());

test.runIf(isLinux)(
  "a hundred turns that are killed lose nothing, and the next turn finds nothing of them",
  async () => {
    const { count, bad, hits } = await run(shortRounds(dry, random));
    expect({ seed, count, bad }).toEqual({ seed, count: 100, bad: [] });
    expect(hits).toBeGreaterThan(60); // A random moment may come when the turn is over.
  },
  LONG,
);

test.runIf(isLinux)(
  "a disk that reports errors ends a turn, and takes nothing of what it has recorded",
  async () => {
    const { bad, hits } = await run(sample(roundsOfErrors(dry.plain), 10, random));
    expect({ seed, bad }).toEqual({ seed, bad: [] });
    expect(hits).toBeGreaterThan(6); // Some that come at the end are of no consequence.
  },
  LONG,
);

test.runIf(isLinux && canMountDisk())(
  "a full disk and a folder that may only be read end a turn, and take nothing either",
  async () => {
    const { bad, hits } = await run([...fullDisks([0, 2]), ...readOnlyFolders()]);
    expect(bad).toEqual([]);
    expect(hits).toBeGreaterThan(6);
  },
  LONG,
);

test.runIf(isLinux)(
  "a clock that jumps back in the middle of a turn changes no order",
  async () => {
    expect(await run(jumpingClocks([0, 5, 25]))).toEqual({ count: 3, bad: [], hits: 0 });
  },
  LONG,
);

async function run(rounds: readonly Round[]) {
  const results = await runRounds(rounds, program?.file ?? "");
  return {
    count: results.length,
    bad: results.filter(({ problems }) => problems.length > 0),
    hits: results.filter(({ isHit }) => isHit).length,
  };
}
