import { expect, test } from "vitest";
import { yieldToEventLoop, shouldYield } from "./event-loop.ts";

/** Blocks the event loop for a few milliseconds. */
function work(): void {
  const end = performance.now() + 3;
  while (performance.now() < end);
}

/** How often a timer fires while concurrent tasks share fifty steps. */
async function turnsDuring(tasks: number): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const run = async () => {
    for (let step = 0; step < 50 / tasks; step += 1) {
      if (shouldYield()) await yieldToEventLoop();
      work();
    }
  };
  await Promise.all(Array.from({ length: tasks }, run));
  clearInterval(timer);
  return turns;
}

test("timers run between the steps of long work, even with many concurrent tasks", async () => {
  // Not all tasks that start together may continue in the same iteration.
  const turns = [await turnsDuring(1), await turnsDuring(50), await turnsDuring(50)];
  // Fifty steps take at least a dozen iterations; without yielding, the timer would never fire.
  expect(turns.map((count) => count >= 8)).toEqual([true, true, true]);
});

test("there is no need to yield right after yielding", async () => {
  await yieldToEventLoop();
  expect(shouldYield()).toBe(false);
});
