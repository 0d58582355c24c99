/** Decisions about real tools count for what was shown. `void-rounds.test.ts` plays many more rounds. */
import { expect, test } from "vitest";
import { counters } from "../security/threats.ts";
import { playRounds } from "./void-round.ts";

const ROUNDS = 5;

test.each(["builtin", "local", "mcp", "program"] as const)(
  "nothing runs on a decision about something else, and every other one counts (%s)",
  async (kind) => {
    counters("T-DECIDE-1");
    await expect(playRounds(kind, ROUNDS)).resolves.toBeUndefined();
  },
  120_000,
);
