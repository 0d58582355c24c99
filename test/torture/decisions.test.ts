/**
 * Kills the processes that decide about calls, and those that run them. `main.ts` repeats single rounds.
 * `JP_TORTURE_ROUNDS=1000` runs at least as many.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BundledPrograms, bundleTorturePrograms } from "./bundle.ts";
import { runDecisionRound } from "./decision-round.ts";
import { type DecisionDryRun, dryRunDecisions, roundsOfDecisions } from "./decision-rounds.ts";
import { runRounds } from "./run-rounds.ts";

const isLinux = process.platform === "linux"; // Leftover processes are found in /proc.
const LEAST = Number(process.env["JP_TORTURE_ROUNDS"] ?? 1);
/** Much more than a round takes. */
const TIMEOUT_PER_ROUND_MS = 10_000;
const TIMEOUT_MS = Math.max(1_200_000, LEAST * TIMEOUT_PER_ROUND_MS);
let programs: BundledPrograms | undefined;
let dry: readonly DecisionDryRun[] = [];

beforeAll(async () => {
  if (!isLinux) return;
  programs = await bundleTorturePrograms();
  dry = await dryRunDecisions(programs.decision);
}, TIMEOUT_MS);

afterAll(() => programs?.[Symbol.asyncDispose]());

test.runIf(isLinux).each(["deferred", "live"] as const)(
  "a call whose processes are killed at any point runs once, as someone has decided (%s)",
  async (course) => {
    const program = programs?.decision ?? "";
    const rounds = roundsOfDecisions(
      dry.filter((each) => each.course === course),
      { isEach: false, least: LEAST / 2 },
    );
    const results = await runRounds(rounds, (round) => runDecisionRound(round, program));
    expect(results.filter(({ problems }) => problems.length > 0)).toEqual([]);
    expect(results.length).toBeGreaterThanOrEqual(LEAST / 2);
    // Which process of a live turn writes what depends on who is first.
    expect(results.filter(({ isHit }) => isHit).length).toBeGreaterThan(rounds.length / 2);
  },
  TIMEOUT_MS,
);
