import { expect, test } from "vitest";
import { CodedError, isCodedError } from "./errors.ts";

test("an error has a code, a message, and optionally a cause and a hint", () => {
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

test("an error without a cause has no `cause` property", () => {
  expect(Object.hasOwn(new CodedError("no_space", "Cannot write."), "cause")).toBe(false);
});

test("a CodedError of another copy of the library is recognized", () => {
  const fromAnotherCopy = { [Symbol.for("jp-ts.error")]: true };
  const values = [new CodedError("a", "b"), fromAnotherCopy, new Error("b"), null, "a", undefined];
  expect(values.map(isCodedError)).toEqual([true, true, false, false, false, false]);
});
