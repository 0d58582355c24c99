/**
 * Rounds of typing while prompts are taken away at random: no answer contains a character that was typed for another
 * question. `JP_FUZZ_TIMES=10` plays 900 rounds on a clock that the test moves, and 100 on a pseudo-terminal;
 * `JP_FUZZ_SEED` repeats them.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { textQuestion } from "../../src/record/tool/index.ts";
import { HOLD_MS } from "../../src/surfaces/terminal/dialogue.ts";
import { ClockedScreen } from "../terminal/clocked-screen.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";
import { Random } from "../torture/random.ts";

const TIMES = Number(process.env["JP_FUZZ_TIMES"] ?? 1);
const SEED = Number(process.env["JP_FUZZ_SEED"] ?? Date.now() % 1_000_000);
const PROGRAM = path.join(import.meta.dirname, "typing-program.ts");
const WITHDRAWN = "This question was withdrawn.";
const MAX_PAUSE_MS = 2000;
const MAX_TAKEN = 3;
const DISMISSING = ["\r", "\u001b", "\u001b[B"];
/** How many rounds on a pseudo-terminal are played at the same time. */
const AT_ONCE = 10;

/** What happens in a round. Every text has the number of its question, and keys that would decide another one. */
class Typist {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  below(limit: number): number {
    return Math.floor(this.#random.next() * limit);
  }

  /** The pieces between which the typist pauses: none, if nothing was typed. */
  pieces(index: number): readonly string[] {
    return Array.from({ length: this.below(4) }, () => `${index}${"yn a".charAt(this.below(4))}`);
  }

  dismissing(isPlain = false): string {
    return (isPlain ? "\r" : DISMISSING[this.below(DISMISSING.length)]) ?? "\r";
  }
}

async function playOnClock(seed: number): Promise<void> {
  const typist = new Typist(seed);
  const isPlain = typist.below(3) === 0;
  const screen = new ClockedScreen({ isPlain });
  const taken = 1 + typist.below(MAX_TAKEN);
  for (let index = 0; index <= taken; index += 1) {
    const isPermission = !isPlain && typist.below(2) === 0;
    const prompt = screen.ask(
      isPermission
        ? { kind: "permission", tool: `tool_${index}`, allowsLater: true }
        : { question: textQuestion("q", `Question ${index}?`) },
    );
    if (index > 0) {
      // The rest of what was meant for the question before, however long the pauses.
      await screen.answer(
        ["This question was withdrawn.", ""],
        ["\n  Not sent:".slice(isPlain ? 3 : 0), ""],
      );
      for (const piece of typist.pieces(index - 1)) {
        await screen.wait(typist.below(MAX_PAUSE_MS));
        await screen.typeUnseen(piece);
      }
      await screen.wait(typist.below(MAX_PAUSE_MS));
      assert.equal(prompt.resultSoFar, undefined);
      screen.type(typist.dismissing(isPlain));
    }
    await screen.answer([isPermission ? `? Run tool_${index}?` : `Question ${index}?`, ""]);
    if (isPlain) await screen.answer([`Question ${index}?\n`, ""], ["Answer:", ""]);
    await screen.untilShown((lines) => {
      const after = lines.join("\n").split(`Question ${index}?`).at(-1) ?? "";
      return !isPlain || after.includes("Answer:");
    });
    await screen.wait(HOLD_MS + typist.below(MAX_PAUSE_MS));
    if (index < taken) {
      for (const piece of typist.pieces(index)) {
        await screen.typeUnseen(piece);
        await screen.wait(typist.below(MAX_PAUSE_MS));
      }
      assert.equal(((await prompt.withdraw()) as { readonly type: string }).type, "interrupted");
      continue;
    }
    screen.type(`${index}${index}\r`);
    const words = `${index}${index}`;
    expect(await prompt.result).toMatchObject(isPermission ? { note: words } : { answer: words });
  }
}

async function playOnTerminal(seed: number): Promise<void> {
  const typist = new Typist(seed);
  const folder = temporaryFolder();
  const taken = Array.from({ length: 1 + typist.below(MAX_TAKEN) }, () =>
    typist.below(MAX_PAUSE_MS),
  );
  const file = path.join(folder, "results");
  const screen = new PseudoTerminal(process.execPath, [PROGRAM, JSON.stringify(taken), file], {
    folder,
    variables: { PATH: process.env["PATH"], NO_COLOR: "1" },
  });
  // A question that is taken away while the notice about another is on the screen is never shown.
  for (
    let index = await nextQuestion(screen, -1);
    index < taken.length;
    index = await nextQuestion(screen, index)
  ) {
    for (const piece of typist.pieces(index)) {
      screen.type(piece);
      await setTimeout(typist.below(MAX_PAUSE_MS));
    }
    await dismiss(screen, typist.dismissing());
  }
  const words = `${taken.length}${taken.length}`;
  screen.type(`${words}\r`);
  await screen.end();
  const results = JSON.parse(readFileSync(file, "utf8")) as readonly { readonly answer?: string }[];
  expect(results.map(({ answer }) => answer)).toEqual([...taken.map(() => undefined), words]);
}

/** The number of the next question on the screen, once it takes keys. */
async function nextQuestion(screen: PseudoTerminal, last: number): Promise<number> {
  let next = -1;
  let hasNotice = false;
  await screen.untilShown((lines) => {
    const text = lines.join("\n");
    next = Number(/\? Question (\d)\?[^]*$/.exec(text)?.[1] ?? -1);
    hasNotice = text.includes(WITHDRAWN);
    return next > last || hasNotice;
  });
  if (hasNotice) await dismiss(screen, "\r"); // It was on the screen for a moment.
  else await setTimeout(HOLD_MS * 2);
  return hasNotice ? nextQuestion(screen, last) : next;
}

async function dismiss(screen: PseudoTerminal, key: string): Promise<void> {
  await screen.answer([WITHDRAWN, ""], ["\n  Not sent:", key]);
  await screen.untilShown((lines) => !lines.join("\n").includes(WITHDRAWN));
}

/** Names the seed of a round that fails. */
async function play(seed: number, round: (seed: number) => Promise<void>): Promise<void> {
  try {
    await round(seed);
  } catch (cause) {
    throw new Error(`JP_FUZZ_SEED=${SEED}: round ${seed - SEED}`, { cause });
  }
}

test(
  "no answer contains a character typed for another question, on a clock",
  { timeout: 600_000 },
  async () => {
    const rounds = 90 * TIMES;
    console.log(`JP_FUZZ_SEED=${SEED}, ${rounds} rounds`);
    for (let round = 0; round < rounds; round += 1) await play(SEED + round, playOnClock);
  },
);

test(
  "no answer contains a character typed for another question, in real time",
  { timeout: 600_000 },
  async () => {
    const rounds = 10 * TIMES;
    console.log(`JP_FUZZ_SEED=${SEED}, ${rounds} rounds`);
    for (let first = 0; first < rounds; first += AT_ONCE) {
      const length = Math.min(AT_ONCE, rounds - first);
      const seeds = Array.from({ length }, (_, index) => SEED + first + index);
      await Promise.all(seeds.map((seed) => play(seed, playOnTerminal)));
    }
  },
);
