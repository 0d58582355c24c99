import { expect, test } from "vitest";
import { toolResult } from "../../record/conversation/events.fixture.ts";
import { failureNote, renderResultLines } from "./result-lines.ts";
import { plain } from "./style.ts";

const LINES = { paint: plain, width: 40, resultLines: 2 };
const OUTPUT = { stdout: "one\ntwo\nthree\n", stderr: "" };

function failed(details: object) {
  return toolResult("call_1", JSON.stringify({ message: "Tool 'x' failed.", ...details }), true);
}

test.each([
  ["exit status 1", { status: 1, ...OUTPUT }, ["  │ … 1 more line", "  │ two", "  │ three"]],
  ["ended by SIGKILL", { signal: "SIGKILL", stdout: "a\n", stderr: "b\n" }, ["  │ a", "  │ b"]],
  ["exit status 3", { status: 3, stdout: "", stderr: " \n" }, ["  │ Tool 'x' failed."]],
  ["", OUTPUT, ["  │ … 2 more lines", "  │ three", "  │ Tool 'x' failed."]],
])("a program that failed shows its last lines as text (%s)", (note, details, lines) => {
  const response = failed(details);
  expect([failureNote(response), renderResultLines(response, LINES)]).toEqual([note, lines]);
});

test.each([
  ["an error of any other tool", toolResult("call_1", "one\n\ntwo\nthree", true)],
  [
    "a note of the user behind it",
    { ...toolResult("call_1", "one\ntwo\nthree", true), added: { before: 0, after: 5 } },
  ],
])("the last lines are shown of %s", (_what, response) => {
  expect([failureNote(response), renderResultLines(response, LINES)]).toEqual([
    "",
    ["  │ … 1 more line", "  │ two", "  │ three"],
  ]);
});

test("a failure with a note of the user behind it is read without the note", () => {
  const { content, ...response } = failed({ status: 2, ...OUTPUT });
  const note = "\nThe user's note: later";
  const noted = { ...response, content: content + note, added: { before: 0, after: note.length } };
  expect(failureNote(noted)).toBe("exit status 2");
});

test.each([
  ['{"message":', true],
  ['{"message":"x","status":1}', true],
  ['{"message":"x","status":1,"stdout":"","stderr":""}', false],
])("a result that only looks like a failure is shown as it is: %s", (content, isError) => {
  const response = toolResult("call_1", content, isError);
  expect([failureNote(response), renderResultLines(response, { ...LINES, width: 80 })]).toEqual([
    "",
    [`  │ ${content}`],
  ]);
});
