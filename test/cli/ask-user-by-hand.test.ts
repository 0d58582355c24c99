/** `jp tool run` with a tool that asks several questions at once. */
import { expect, test } from "vitest";
import { Screen } from "./screen.ts";
import { lines, Project } from "./support.ts";

const SURE = { question: "Sure?", answer_type: "boolean" };
const WHICH_WAY = { question: "Which way?", answer_type: "select", options: ["left", "right"] };
const FORM = JSON.stringify({ ...SURE, more: [WHICH_WAY, { question: "Why?" }] });
const QUESTIONS = "conversation.tools.ask_user.questions";

function run(...settings: readonly string[]) {
  const words = ["tool", "run", "ask_user", "--args", FORM, "--non-interactive"];
  return new Project().jp(...words, ...settings.flatMap((setting) => ["--cfg", setting]));
}

test("jp tool run asks a form on the terminal and prints the result", async () => {
  const screen = new Screen(new Project(), ["tool", "run", "ask_user", "--args", FORM]);
  for (const [shown, keys] of [
    ["? (1/3) Sure?", "y"],
    ["? (2/3) Which way?", "\r"],
    ["? (3/3) Why?", "because\r"],
    ["? Send these answers?", "y"],
  ] as const) {
    await screen.untilShown((seen) => seen.some((line) => line.startsWith(shown)));
    screen.type(keys);
  }
  const end = await screen.end();
  expect([end.status, end.lines.slice(0, 4), end.lines.slice(4).join("")]).toEqual([
    0,
    ["Assistant", "✔ Sure? yes", "✔ Which way? left", "✔ Why? because"],
    '{"answer_type":"boolean","answer":true,"more":[{"answer_type":"select","answer":"left"},' +
      '{"answer_type":"text","answer":"because"}]}',
  ]);
});

test("without a terminal, the error names the first question without an answer", async () => {
  const first = await run();
  const second = await run(`${QUESTIONS}.answer.answer:=true`);
  expect([first, second]).toEqual([
    {
      status: 3,
      stdout: "",
      stderr: lines(
        "jp: ask_user asks, and no terminal is available: Sure?",
        `Run it on a terminal, or give the answer: --cfg '${QUESTIONS}.answer.answer:=true'`,
      ),
    },
    {
      status: 3,
      stdout: "",
      stderr: lines(
        "jp: ask_user asks, and no terminal is available: Which way?",
        `Run it on a terminal, or give the answer: --cfg '${QUESTIONS}.answer_2.answer=…'`,
      ),
    },
  ]);
});

test("the error about a configured answer names its key and the valid answers", async () => {
  const key = `${QUESTIONS}.answer_2.answer`;
  expect(await run(`${QUESTIONS}.answer.answer:=true`, `${key}=straight on`)).toEqual({
    status: 1,
    stdout: "",
    stderr: lines(
      'jp: The configured answer does not fit: expected one of "left", "right".',
      `Change or remove ${key}; write values other than text as JSON: ${key}:=true`,
    ),
  });
});
