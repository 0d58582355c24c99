import { expect, test } from "vitest";
import { CodedError, isCodedError } from "./errors.ts";

test("an error has a code, a message, and perhaps a cause and a hint", () => {
  const cause = new Error("disk full");
  const {
    code,
    message,
    hint,
    cause: given,
    name,
  } = new CodedError("no_space", "Cannot write.", {
    cause,
    hint: "Make room.",
  });
  expect([code, message, hint, given, name]).toEqual([
    "no_space",
    "Cannot write.",
    "Make room.",
    cause,
    "JpError",
  ]);
});

test("an error without a cause has none, not even an empty one", () => {
  expect(Object.hasOwn(new CodedError("no_space", "Cannot write."), "cause")).toBe(false);
});

test("our errors are known by their marker, whichever copy of the library made them", () => {
  const fromAnotherCopy = { [Symbol.for("jp-ts.error")]: true };
  const values = [new CodedError("a", "b"), fromAnotherCopy, new Error("b"), null, "a", undefined];
  expect(values.map(isCodedError)).toEqual([true, true, false, false, false, false]);
});
