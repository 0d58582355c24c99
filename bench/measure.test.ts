import process from "node:process";
import { expect, test } from "vitest";
import { run, takeTurns } from "./measure.ts";

test("the sides take turns, and the first three rounds do not count", async () => {
  const order: string[] = [];
  const side = (name: string) => async () => order.push(name);
  expect(await takeTurns({ ours: side("ours"), theirs: side("theirs") }, 2)).toEqual({
    ours: [7, 9],
    theirs: [8, 10],
  });
  expect(order).toEqual(Array.from({ length: 5 }, () => ["ours", "theirs"]).flat());
});

test("a program is timed from outside, without a trace in its output", async () => {
  const program = 'console.log("out"); console.error("1 2 3");';
  const finished = await run(process.execPath, ["-e", program]);
  expect(finished.output).toBe("out\n");
  expect(finished.cpu).toBeGreaterThan(0);
});

test("a program that fails is not measured", async () => {
  const program = 'console.error("No model."); process.exit(3);';
  await expect(run(process.execPath, ["-e", program])).rejects.toThrow(/ended with 3:\nNo model\./);
});
