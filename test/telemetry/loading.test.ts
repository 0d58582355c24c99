import { execFileSync } from "node:child_process";
import path from "node:path";
import { expect, test } from "vitest";

const { without, uninstalled, installed, warnings } = JSON.parse(
  execFileSync(process.execPath, [path.join(import.meta.dirname, "loading-program.ts")], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }),
) as Readonly<Record<string, unknown>>;

const ends = ["waiting", "done"];

test("without an SDK, the package of OpenTelemetry's API is not loaded, and the record has no traceparent", () => {
  expect(without).toEqual({ isWanted: false, ends, traced: 0 });
});

test("with an SDK, the package is loaded, and the request on record has the traceparent of its turn", () => {
  expect(installed).toEqual({ isWanted: true, ends, traced: 1 });
});

test("with an SDK but without the package, turns run as ever, and jp says once that they are not traced", () => {
  expect(uninstalled).toEqual({ isWanted: true, ends, traced: 0 });
  expect(warnings).toEqual([
    "Tracing failed, and the turn continued: jp cannot load a part of itself: Cannot find package '@opentelemetry/api'.",
  ]);
});
