import { expect, onTestFinished, test, vi } from "vitest";
import { createStatusLine, withMode } from "./status-line.ts";

const edits = { name: "edits" };

test.each([
  ["follows the rest", "⠋ model 12.0s", 80, "⠋ model 12.0s · mode edits"],
  ["is whole where the rest is cut", "⠋ provider/model 12.0s", 24, "⠋ provider… · mode edits"],
  ["is alone where there is no room, or nothing else", "⠋ model", 11, "mode edits"],
  ["is alone where there is nothing else", "", 80, "mode edits"],
])("the mode %s", (_, line, columns, shown) => {
  expect(withMode(line, edits, columns)).toBe(shown);
});

test("without a mode, the line is only cut", () => {
  expect([withMode("⠋ model", undefined, 80), withMode("⠋ model", undefined, 5)]).toEqual([
    "⠋ model",
    "⠋ mo…",
  ]);
});

test("a text that is shown already gets its new time", () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const written: string[] = [];
  const write = (text: string) => written.push(text);
  const stream = { isTTY: true, columns: 80, write, on: () => {} };
  const status = createStatusLine({ stream, isPlain: false, now: Date.now });
  status.set("greet", Date.now() - 60_000);
  vi.advanceTimersByTime(100);
  status.set("greet", Date.now() - 1000);
  vi.advanceTimersByTime(100);
  status.clear();
  expect(written.join("").match(/[\d.]+s/g)).toEqual(["60.1s", "1.1s"]);
});
