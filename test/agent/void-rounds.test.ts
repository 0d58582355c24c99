/** Two hundred rounds with each kind of tool: see `void-tools.test.ts`. */
import { expect, test } from "vitest";
import { playRounds } from "./void-round.ts";

const ROUNDS = 200;
const TIMEOUT_MS = 1_200_000;

test.each(["builtin", "local", "mcp", "program"] as const)(
  "in many rounds, every decision counts for what was shown and for nothing else (%s)",
  async (kind) => {
    await expect(playRounds(kind, ROUNDS)).resolves.toBeUndefined();
  },
  TIMEOUT_MS,
);
