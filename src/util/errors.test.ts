import { inspect } from "node:util";
import { expect, test } from "vitest";
import { JpError, isJpError, messageOf, toError } from "./errors.ts";

test("an error has a code, a message, and optionally a cause and a hint", () => {
  const cause = new Error("disk full");
  const {
    code,
    message,
    hint,
    cause: given,
    name,
  } = new JpError("no_space", "Cannot write.", {
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

test.each([
  [new TypeError("broken"), "broken"],
  [{ code: "53100", message: "no space" }, "no space"],
  [{ code: 1 }, '{"code":1}'],
  ["text", "text"],
  [undefined, "undefined"],
])("a thrown value of any kind has a message that can be read: %j", (thrown, message) => {
  expect([messageOf(thrown), toError(thrown).message]).toEqual([message, message]);
});

test("an error without a cause has no `cause` property", () => {
  expect(Object.hasOwn(new JpError("no_space", "Cannot write."), "cause")).toBe(false);
});

/** As Node prints it, without the stack. The brace is on the last line of that. */
function shown(error: JpError): string {
  return inspect(error).replaceAll(/\n {4}at .*/g, "");
}

test("an error that no one catches is printed with what it has, and nothing else", () => {
  expect([
    shown(new JpError("no_space", "Cannot write.")),
    shown(new JpError("no_space", "Cannot write.", { hint: "Make room." })),
  ]).toEqual([
    "JpError: Cannot write.\n  code: 'no_space'\n}",
    "JpError: Cannot write.\n  code: 'no_space',\n  hint: 'Make room.'\n}",
  ]);
});

test("a JpError of another copy of the library is recognized", () => {
  const fromAnotherCopy = { [Symbol.for("jp-ts.error")]: true };
  const values = [new JpError("a", "b"), fromAnotherCopy, new Error("b"), null, "a", undefined];
  expect(values.map(isJpError)).toEqual([true, true, false, false, false, false]);
});
