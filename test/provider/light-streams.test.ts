import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

test("the suites on replies pass with the streams that the built command has", async () => {
  const words = ["node_modules/vitest/vitest.mjs", "run", "--reporter=dot", "--silent"];
  const config = ["--config", "test/provider/light-streams.config.ts"];
  const child = spawn(process.execPath, [...words, ...config], {
    env: { PATH: process.env["PATH"], NO_COLOR: "1" }, // Without what is meant for this run.
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  expect({ status, output: output + errors }).toEqual({
    status: 0,
    output: expect.stringMatching(/Tests +\d{3} passed/),
  });
}, 300_000);
