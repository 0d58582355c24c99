import { closeSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { DescriptorOutput, type OutputStream } from "./descriptor-output.ts";

function noStream(): OutputStream {
  throw new Error("no stream is needed");
}

test("text is written at once, in order, and without a stream", () => {
  const file = path.join(temporaryFolder(), "out");
  const descriptor = openSync(file, "w");
  const output = new DescriptorOutput(descriptor, noStream);
  output.write("häuser\n");
  output.write("x".repeat(100_000));
  expect(readFileSync(file, "utf8")).toBe(`häuser\n${"x".repeat(100_000)}`);
  closeSync(descriptor);
});

test("an error is reported later and once, and what follows is dropped", async () => {
  const descriptor = openSync(path.join(temporaryFolder(), "out"), "w");
  closeSync(descriptor);
  const output = new DescriptorOutput(descriptor, noStream);
  const codes: (string | undefined)[] = [];
  output.on("error", ({ code }) => codes.push(code));
  output.write("one");
  output.write("two");
  expect(codes).toEqual([]);
  await new Promise(setImmediate);
  expect(codes).toEqual(["EBADF"]);
});
