/** Damages records with an open turn, and uses one from several processes. `main.ts` does it more often. */
import { expect, test } from "vitest";
import { bundleTorturePrograms } from "./bundle.ts";
import { roundsOfCrowds, runCrowdRound } from "./crowd-round.ts";
import { roundsOfDamage, runDamageRound } from "./damage-rounds.ts";
import { Random } from "./random.ts";
import { runRounds } from "./run-rounds.ts";

const SEED = 29;

test("a record that is damaged anywhere never passes for one without an open turn", async () => {
  const rounds = roundsOfDamage(60, new Random(SEED));
  const results = await runRounds(rounds, runDamageRound);
  expect(results.filter(({ problems }) => problems.length > 0)).toEqual([]);
  expect(results.filter(({ isHit }) => isHit).length).toBeGreaterThan(rounds.length / 2);
}, 600_000);

test("a conversation that several processes write, read and answer is whole for all of them", async () => {
  await using programs = await bundleTorturePrograms();
  const rounds = roundsOfCrowds(3, SEED);
  const results = await runRounds(rounds, (round) => runCrowdRound(round, programs.crowd));
  expect(results.filter(({ problems }) => problems.length > 0)).toEqual([]);
  expect(results.every(({ isHit }) => isHit)).toBe(true);
}, 600_000);
