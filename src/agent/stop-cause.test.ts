import { expect, test } from "vitest";
import { abortBy, promptCause, stopCause } from "./stop-cause.ts";

function aborted(by: "user" | "interrupted"): AbortSignal {
  const controller = new AbortController();
  abortBy(by, controller);
  return controller.signal;
}

test("the user's abort is known through every signal that follows it, and no other abort is", () => {
  const followed = AbortSignal.any([AbortSignal.any([aborted("user")])]);
  const timedOut = AbortSignal.abort(new Error("The user stopped it."));
  expect([followed, aborted("interrupted"), timedOut].map(stopCause)).toEqual([
    "user",
    "interrupted",
    "interrupted",
  ]);
});

test("the first abort counts", () => {
  const both = AbortSignal.any([aborted("interrupted"), aborted("user")]);
  expect(stopCause(both)).toBe("interrupted");
});

test("a provider cannot tell the user's abort from a plain one", () => {
  const { reason } = aborted("user") as { reason: unknown };
  expect([reason instanceof DOMException, (reason as DOMException).name]).toEqual([
    true,
    (AbortSignal.abort().reason as DOMException).name,
  ]);
});

test("what a prompter reports counts only while its signal is not aborted", () => {
  const { signal: open } = new AbortController();
  expect([
    promptCause({ type: "cancelled" }, open),
    promptCause({ type: "interrupted" }, open),
    promptCause({ type: "cancelled" }, aborted("interrupted")),
    promptCause({ type: "interrupted" }, aborted("user")),
  ]).toEqual(["user", "interrupted", "interrupted", "user"]);
});
