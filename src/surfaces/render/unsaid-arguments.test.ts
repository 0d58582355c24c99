import { expect, test } from "vitest";
import { type AskingCall, unsaidArguments } from "./unsaid-arguments.ts";

const ASKING: AskingCall = {
  tool: "deploy",
  arguments: {},
  source: { source: "tool", name: "deploy" },
  origin: { type: "local", command: "sh deploy.sh" },
  question: { text: "Deploy 0.4.0?", context: "To eu-1.", answerType: { type: "boolean" } },
  acts: false,
};

const DIFF = "--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-one\n+two";

test("the arguments of the assistant's own question are its question, options and all", () => {
  const source = { source: "assistant" } as const;
  const { text } = ASKING.question;
  const one = { question: text, answer_type: "select", options: [{ value: "a" }] };
  const ask = (args: AskingCall["arguments"]) =>
    unsaidArguments({ ...ASKING, tool: "ask_user", source, arguments: args });
  const other = { tag: "next" };
  expect([ask(one), ask({ questions: [one] }), ask(other)]).toEqual([{}, {}, other]);
});

test.each([
  [{ version: "0.4.0" }],
  [{ version: "0.4.0", where: { region: "eu-1" } }],
  [{ regions: ["eu-1"] }],
  [{}],
])("a question that does not act says arguments whose values are in its words: %j", (args) => {
  expect(unsaidArguments({ ...ASKING, arguments: args })).toEqual({});
});

test("the options of a question say values too", () => {
  const options = [{ value: 1, title: "blue" }, { value: "green" }];
  const question = { text: "Which?", answerType: { type: "select", options } } as const;
  const args = { left: "blue", right: "green" };
  expect(unsaidArguments({ ...ASKING, question, arguments: args })).toEqual({});
});

test.each([
  [{ version: "0.4.0", where: "prod" }],
  [{ version: "0.4.", force: true }],
  [{ version: "4.0" }], // Only as part of another word.
  [{ region: "eu" }],
  [{ version: "" }],
  [{ version: null }],
])("one argument that the words lack brings all of them back: %j", (args) => {
  expect(unsaidArguments({ ...ASKING, arguments: args })).toEqual(args);
});

test("a question on which a yes acts leaves out nothing, whatever its words say", () => {
  const args = { version: "0.4.0" };
  expect(unsaidArguments({ ...ASKING, acts: true, arguments: args })).toEqual(args);
  const source = { source: "assistant" } as const;
  expect(unsaidArguments({ ...ASKING, acts: true, source, arguments: args })).toEqual(args);
});

test("a change by jp's own tools leaves out what its diff shows, and only that", () => {
  const asked: AskingCall = {
    ...ASKING,
    tool: "fs_modify_file",
    origin: { type: "builtin" },
    questionId: "apply_changes",
    question: { text: "Apply?", context: DIFF, answerType: { type: "boolean" } },
    acts: true,
    arguments: { path: "a.ts", patterns: [{ old: "one", new: "two" }] },
  };
  expect(unsaidArguments(asked)).toEqual({});
  const more = {
    ...asked.arguments,
    patterns: [
      { old: "one", new: "two" },
      { old: "x", new: "y" },
    ],
  };
  expect(unsaidArguments({ ...asked, arguments: more })).toEqual({
    "patterns[1]": { old: "x", new: "y" },
  });
  const other = { ...asked, origin: { type: "local", command: "fs" } } as const;
  expect(unsaidArguments(other)).toEqual(asked.arguments);
});
