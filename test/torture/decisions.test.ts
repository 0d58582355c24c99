/** Kills the processes that decide about calls, and those that run them. `main.ts` repeats single rounds. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BundledPrograms, bundleTorturePrograms } from "./bundle.ts";
import { runDecisionRound } from "./decision-round.ts";
import { type DecisionDryRun, dryRunDecisions, roundsOfDecisions } from "./decision-rounds.ts";
import { runRounds } from "./run-rounds.ts";

const isLinux = process.platform === "linux"; // Leftover processes are found in /proc.
const TIMEOUT_MS = 1_200_000;
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
      { isEach: false },
    );
    const results = await runRounds(rounds, (round) => runDecisionRound(round, program));
    expect(results.filter(({ problems }) => problems.length > 0)).toEqual([]);
    // Which process of a live turn writes what depends on who is first.
    expect(results.filter(({ isHit }) => isHit).length).toBeGreaterThan(rounds.length / 2);
  },
  TIMEOUT_MS,
);
