/** Nothing runs that the terms on record and those in force do not both allow, whatever changes in between. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";
import { FakeClock, MemoryConversationStore } from "../../src/testing/index.ts";
import { counters } from "../security/threats.ts";
import { EVERY_STORE, type OpenedStore } from "../storage/every-store.ts";
import { ChildProgram } from "../support/child-program.ts";
import {
  type TermsKind,
  termsProcess,
  type TermsReport,
  type TermsSteps,
} from "./terms-process.ts";
import { playRound, round, type Tally } from "./terms-round.ts";

/** `JP_FUZZ_TIMES` multiplies them. 10 is 10,000 in memory and files, 300 across processes, and 100 in PostgreSQL. */
const TIMES = Number(process.env["JP_FUZZ_TIMES"] ?? 1);
const TIMEOUT_MS = 60_000 * Math.max(TIMES, 1);
/** Repeats a run. fast-check prints the seed of one that fails. */
const SEED = process.env["JP_FUZZ_SEED"];

async function play(
  rounds: number,
  processesOf: (kind: TermsKind) => Promise<readonly TermsSteps[]> | readonly TermsSteps[],
): Promise<Tally> {
  const tally: Tally = { paid: 0, void: 0, unchanged: 0 };
  await fc.assert(
    fc.asyncProperty(round, async (each) => {
      await playRound(each, await processesOf(each.kind), tally);
    }),
    { numRuns: rounds, ...(SEED !== undefined && { seed: Number(SEED) }) },
  );
  return tally;
}

test(
  "nothing runs in memory or in files that the terms on record and in force do not allow, and what no one has changed does",
  async () => {
    counters("T-TERMS-1");
    let count = 0;
    const tally = await play(1000 * TIMES, (kind) => {
      count += 1;
      const clock = new FakeClock();
      const store =
        count % 20 === 0
          ? temporaryWorkspace().reopen({ clock }).conversations
          : new MemoryConversationStore(clock);
      return [termsProcess(kind, { store, clock })];
    });
    expect([tally.paid > 0, tally.void > 0, tally.unchanged > 0]).toEqual([true, true, true]);
  },
  TIMEOUT_MS,
);

test(
  "the same holds across two processes",
  async () => {
    counters("T-TERMS-1");
    const children = [1, 2].map(
      () =>
        new ChildProgram(process.execPath, [new URL("terms-program.ts", import.meta.url).pathname]),
    );
    const played = play(30 * TIMES, (kind) => {
      const { root } = temporaryWorkspace();
      return children.map((child) => stepsOf(child, { kind, root }));
    });
    await expect(played).resolves.toBeDefined();
  },
  TIMEOUT_MS,
);

test(
  "the same holds in PostgreSQL",
  async () => {
    counters("T-TERMS-1");
    const postgres = EVERY_STORE.find(({ name }) => name === "PostgreSQL");
    let last: OpenedStore | undefined;
    const played = play(10 * TIMES, async (kind) => {
      await last?.close?.(); // The server takes only so many connections.
      last = await postgres?.create();
      if (last === undefined) throw new Error("there is no such store");
      const { store, other = store, clock } = last;
      return [termsProcess(kind, { store, clock }), termsProcess(kind, { store: other, clock })];
    });
    await expect(played).resolves.toBeDefined();
  },
  TIMEOUT_MS,
);

/** Each step is a line to the program, and the report one from it. */
function stepsOf(child: ChildProgram, scene: { kind: TermsKind; root: string }): TermsSteps {
  const send = async (step: object): Promise<TermsReport> => {
    child.tell(JSON.stringify({ ...scene, ...step }));
    return (await child.nextJson()) as TermsReport; // As `terms-program.ts` writes it.
  };
  return {
    start: (world) => send({ type: "start", world }),
    say: (world, said) => send({ type: "say", world, said }),
    resume: (world) => send({ type: "resume", world }),
  };
}
