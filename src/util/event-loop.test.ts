import { expect, test } from "vitest";
import { yieldToEventLoop, shouldYield } from "./event-loop.ts";

/** Has the process to itself for a few milliseconds. */
function work(): void {
  const end = performance.now() + 3;
  while (performance.now() < end);
}

/** How often a timer fires while so many tasks have fifty steps to do between them. */
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

test("others have their turn between the steps of long work, and of much work at a time", async () => {
  // Of those who begin right after a turn not all may go on at once.
  const turns = [await turnsDuring(1), await turnsDuring(50), await turnsDuring(50)];
  // Fifty steps are a dozen turns or more; without a pause there would be none.
  expect(turns.map((count) => count >= 8)).toEqual([true, true, true]);
});

test("there is nothing to wait for right after a turn", async () => {
  await yieldToEventLoop();
  expect(shouldYield()).toBe(false);
});
