/**
 * Commands and workers on a database, while they, the server and the connections fail. `main.ts` runs ten times as many
 * turns, and repeats single rounds.
 */
import { expect, test } from "vitest";
import { roundsOfChaos, runChaosRound } from "./chaos-round.ts";

const isLinux = process.platform === "linux"; // Leftover processes are found in /proc.
const TIMEOUT_MS = 2_400_000;

test.runIf(isLinux)(
  "a hundred turns of a fleet that fails at any moment end, and nothing is refused, lost or done twice",
  async () => {
    const seed = Date.now() % 1_000_000;
    for (const round of roundsOfChaos(1, 100, seed)) {
      const { name, problems, counts } = await runChaosRound(round);
      expect({ name, problems }).toEqual({ name, problems: [] });
      expect(counts["torn chains"]).toBeGreaterThan(0);
      expect(counts["half-done undos"]).toBeGreaterThan(0);
    }
  },
  TIMEOUT_MS,
);
