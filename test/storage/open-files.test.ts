/** A process may have only so many open files, and a turn may wait for days. */
import { readdirSync } from "node:fs";
import process from "node:process";
import { expect, test } from "vitest";
import { booleanQuestion, defineTool, openStore, type Prompter, runTurn } from "../../src/index.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { ScriptedModel } from "../../src/testing/index.ts";

const TURNS = 40;
/** The turns that wrote last keep their record, marker and chain open. */
const KEPT = 4 * 3;
const CALL = [{ type: "tool_call", id: "call_1", name: "pay" }] as const;

test.runIf(process.platform === "linux")(
  "a turn that waits for a person keeps one file open, its lock",
  async () => {
    const store = await openStore(temporaryFolder());
    const stopped = new AbortController();
    const allAsked = Promise.withResolvers<void>();
    let asked = 0;
    const prompter: Prompter = {
      channel: "test",
      canAsk: () => true,
      ask: ({ inquiryId, signal }) => {
        asked += 1;
        if (asked === TURNS) allAsked.resolve();
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve({ type: "interrupted", inquiryId }));
        });
      },
    };
    const tool = defineTool({
      name: "pay",
      description: "Pays.",
      parameters: { type: "object" },
      run: async (_args, { ask }) => `Paid: ${await ask(booleanQuestion("ok", "Pay?"))}`,
    });
    const wait = async () => {
      await using conversation = await store.create({});
      const model = new ScriptedModel({ replies: [CALL] });
      const { signal } = stopped;
      await runTurn({ conversation, model, tools: [tool], prompter, signal }, "Pay.");
    };
    await using warm = await store.create({});
    await warm.release();
    const before = openFiles();
    const turns = Array.from({ length: TURNS }, wait);
    await Promise.race([allAsked.promise, Promise.all(turns)]);
    const open = openFiles() - before;
    stopped.abort();
    await Promise.all(turns);
    expect(open).toBeGreaterThanOrEqual(TURNS);
    // All of them share one watch of the folder with the answers of others.
    expect(open).toBeLessThanOrEqual(TURNS + KEPT + 2);
  },
);

function openFiles(): number {
  return readdirSync("/proc/self/fd").length;
}
