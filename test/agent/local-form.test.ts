/** A local tool, as a real process, that asks several questions at once. */
import { describe, expect, test } from "vitest";
import { createLocalExecutor } from "../../src/reach/executor/index.ts";
import type { InquiryId } from "../../src/record/conversation/index.ts";
import { FormPrompter, type FormReaction } from "../../src/core/agent/asked-together.fixture.ts";
import { problemsOf } from "../../src/record/conversation/record-rules.fixture.ts";
import { settingsOf, ToolTurn } from "../../src/core/agent/tool-turn.fixture.ts";

const QUESTION = { id: "env", text: "Where?", answer_type: { type: "select", options: ["dev"] } };
const MORE = [
  { id: "sure", text: "Sure?", answer_type: { type: "boolean" }, note: true },
  { id: "key", text: "Key?", answer_type: { type: "secret" } },
];

/** Prints its questions, or the answers once it has them. */
async function run(need: object, react: FormReaction) {
  const program = `
    const { tool } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
    const { answers, notes } = tool;
    console.log(JSON.stringify("env" in answers ? { type: "success",
      content: JSON.stringify({ answers, notes }) } : ${JSON.stringify(need)}));
  `;
  const command = { program: process.execPath, args: ["-e", program] };
  const executor = createLocalExecutor(settingsOf("deploy", { source: "local", command }), {
    workspaceRoot: process.cwd(),
    workspaceId: "",
    conversationId: "",
    variables: process.env,
  });
  const prompter = new FormPrompter(react);
  const tools = [{ name: "deploy", executor }];
  const turn = await ToolTurn.start({ tools, parts: { prompter } });
  const response = await turn.call("deploy");
  expect(problemsOf(turn.events)).toEqual([]);
  return { turn, prompter, result: [response?.content, response?.isError] };
}

describe("a program that prints `more`", () => {
  test("gets all answers and notes at once, and keeps its secret out of the record", async () => {
    const note = "since you ask";
    const inquiryId = "call_1.sure.1" as InquiryId; // As the coordinator makes it.
    const { turn, prompter, result } = await run(
      { type: "needs_input", question: QUESTION, more: MORE },
      ["dev", { type: "answered", inquiryId, answer: true, note, isRemembered: false }, "hunter2"],
    );
    expect([prompter.shown, result]).toEqual([
      [["call_1.env.1", "call_1.sure.1", "call_1.key.1"]],
      [
        JSON.stringify({
          answers: { env: "dev", sure: true, key: "hunter2" },
          notes: { sure: note },
        }),
        false,
      ],
    ]);
    expect(JSON.stringify(turn.recorded("inquiry_response"))).not.toContain("hunter2");
  });

  test("runs only once if the person cancels", async () => {
    const need = { type: "needs_input", question: QUESTION, more: MORE };
    const { turn, result } = await run(need, () => ({ type: "cancelled" }));
    expect([result, turn.recorded("inquiry_response").map(({ outcome }) => outcome)]).toEqual([
      ["Tool input cancelled by user.", false],
      ["cancelled", "cancelled", "cancelled"],
    ]);
  });

  test("that uses a question id twice gets an error, and nothing is asked", async () => {
    const need = { type: "needs_input", question: QUESTION, more: [QUESTION] };
    const { prompter, result } = await run(need, []);
    expect([prompter.shown, result]).toEqual([
      [],
      [expect.stringContaining('more: duplicate question "env"'), true],
    ]);
  });
});
