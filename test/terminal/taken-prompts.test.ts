/** What happens to the keys for a prompt that is taken away while the user types. */
import { describe, expect, test } from "vitest";
import { AnsweredElsewhere } from "../../src/core/agent/answer-claims.ts";
import {
  booleanQuestion,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import { HOLD_MS } from "../../src/surfaces/terminal/dialogue.ts";
import { ClockedScreen } from "./clocked-screen.ts";

const FIRST = { question: textQuestion("q", "Which name?") } as const;
const SECOND = { question: textQuestion("q", "Which colour?") } as const;
const SURE = { question: booleanQuestion("q", "Sure?") } as const;
const PASSWORD = { question: secretQuestion("q", "Password?") } as const;
const PERMISSION = { kind: "permission", tool: "sweep", allowsLater: true } as const;
const BY_ANN = new AnsweredElsewhere({ kind: "user", channel: "desk", name: "ann" });
const ELSEWHERE = "This question was answered elsewhere by user ann (desk).";
const LONG_PAUSE_MS = 60_000;
const UP = "\u001b[A";
const ESCAPE = "\u001b";

/** A screen whose first question was answered elsewhere after this much was typed. */
async function takenAt(typed: string, isPlain = false): Promise<ClockedScreen> {
  const screen = new ClockedScreen({ isPlain });
  const first = screen.ask(FIRST);
  await screen.answer(["Which name?", ""], [isPlain ? "Answer:" : "Enter submit", typed]);
  if (typed !== "") await screen.answer([typed.trim(), ""]);
  await first.withdraw(BY_ANN);
  return screen;
}

describe("text typed for a question that is answered elsewhere meanwhile", () => {
  test("does not answer the next one, however long the pause", async () => {
    const screen = await takenAt("my long ");
    const second = screen.ask(SECOND);
    await screen.answer([ELSEWHERE, ""]);
    await screen.wait(LONG_PAUSE_MS);
    await screen.typeUnseen("answer");
    await screen.answer(["Not sent: answer", "\r"], ["? Which colour?", ""]);
    await screen.wait(HOLD_MS);
    await screen.answer(["? Which colour?", "red\r"]);
    expect(await second.result).toMatchObject({ answer: "red" });
    await screen.answer(["✔ Which colour? red", ""]);
    expect(screen.lines).toEqual(["Not sent: my long", "Not sent: answer", "✔ Which colour? red"]);
  });

  test("does not answer the next one if nothing had been typed yet", async () => {
    const screen = await takenAt("");
    const second = screen.ask(SURE);
    await screen.answer([ELSEWHERE, "yes"], ["Not sent: yes", "\r"], ["? Sure?", ""]);
    await screen.wait(HOLD_MS);
    const before = second.resultSoFar;
    screen.type("n\r");
    expect([before, await second.result]).toMatchObject([undefined, { answer: false }]);
  });

  test.each([
    ["Enter", "\r"],
    ["Escape", ESCAPE],
    ["an arrow", "\u001b[B"],
  ])(
    "stays at the notice until one key dismisses it, which decides nothing: %s",
    async (_, key) => {
      const screen = await takenAt("");
      const question = selectQuestion("q", "Which?", { options: ["one", "two"] });
      const second = screen.ask({ question });
      await screen.answer([ELSEWHERE, key], ["? Which?", ""]);
      await screen.wait(HOLD_MS);
      const before = second.resultSoFar;
      screen.type("\r");
      expect([before, await second.result]).toMatchObject([undefined, { answer: "one" }]);
    },
  );

  test("is kept by the same notice if the next question is answered elsewhere too", async () => {
    const screen = await takenAt("");
    const second = screen.ask(SURE);
    await screen.answer([ELSEWHERE, "one "], ["Not sent: one", ""]);
    await second.withdraw(BY_ANN);
    const third = screen.ask(SECOND);
    await screen.answer(["Not sent: one", "two"], ["Not sent: one two", "\r"]);
    await screen.answer(["? Which colour?", ""]);
    await screen.wait(HOLD_MS);
    await screen.answer(["? Which colour?", "red\r"]);
    expect(await third.result).toMatchObject({ answer: "red" });
  });

  test("is fetched with Up at a field for text, once", async () => {
    const screen = await takenAt("my long ");
    const second = screen.ask(SECOND);
    await screen.answer([ELSEWHERE, "answer"], ["Not sent: answer", "\r"]);
    await screen.answer(["↑ what was not sent", ""]);
    await screen.wait(HOLD_MS);
    await screen.typeUnseen(UP);
    await screen.answer(["? Which colour? my long answer", "\r"]);
    const fetched = await second.result;
    // Another text: that of the second is still on the screen when the third opens.
    const third = screen.ask({ ...SECOND, question: { ...SECOND.question, text: "Which size?" } });
    await screen.answer(["? Which size?", ""]);
    await screen.wait(HOLD_MS);
    await screen.answer(["? Which size?", UP], ["Enter submit", "\r"]);
    expect([fetched, await third.result]).toMatchObject([
      { answer: "my long answer" },
      { answer: "" },
    ]);
  });

  test("is neither shown nor kept if the question asked for a secret", async () => {
    const screen = new ClockedScreen();
    const first = screen.ask(PASSWORD);
    await screen.answer(["input is hidden", "hun"], ["something typed", ""]);
    await first.withdraw(BY_ANN);
    const second = screen.ask(SECOND);
    await screen.answer([ELSEWHERE, ""]);
    await screen.typeUnseen("ter2");
    await screen.typeUnseen("\r");
    await screen.answer(["? Which colour?", ""]);
    await screen.wait(HOLD_MS);
    await screen.answer(["? Which colour?", UP], ["Enter submit", "\r"]);
    expect(await second.result).toMatchObject({ answer: "" });
    expect(screen.bytes).not.toMatch(/hun|ter2/);
  });

  test("does not answer the next one in plain mode: the first line goes to the notice", async () => {
    const screen = await takenAt("", true);
    screen.type("my long ");
    const second = screen.ask(SECOND);
    await screen.answer([`${ELSEWHERE}\nPress Enter to continue.`, ""], ["\nNot sent:", ""]);
    await screen.wait(LONG_PAUSE_MS);
    screen.type("answer\r");
    await screen.answer(["Which colour?\n", ""], ["Answer:", ""]);
    await screen.wait(HOLD_MS);
    screen.type("red\r");
    expect(await second.result).toMatchObject({ answer: "red" });
  });
});

test("a prompt that the user cancels leaves no notice", async () => {
  const screen = new ClockedScreen();
  const first = screen.ask(FIRST);
  await screen.answer(["? Which name?", ESCAPE]);
  await first.result;
  const second = screen.ask(SECOND);
  await screen.answer(["? Which colour?", "red\r"]);
  expect(await second.result).toMatchObject({ answer: "red" });
});

test("a prompt that was not on the screen yet leaves no notice", async () => {
  const screen = new ClockedScreen();
  const first = screen.ask(FIRST);
  await first.withdraw(BY_ANN);
  const second = screen.ask(SECOND);
  await screen.answer(["? Which colour?", ""]);
  await screen.wait(HOLD_MS);
  screen.type("red\r");
  expect(await second.result).toMatchObject({ answer: "red" });
});

test("the menu of Ctrl-C leaves a notice if the work ends by itself", async () => {
  const screen = new ClockedScreen();
  const menu = screen.openMenu();
  await screen.answer(["a abort", ""]);
  await menu.withdraw();
  const prompt = screen.ask(PERMISSION);
  await screen.answer(["jp has finished", ""]);
  await screen.typeUnseen("a"); // For all calls of the turn, it would mean at the permission.
  await screen.answer(["Not sent: a", "\r"], ["? Run sweep?", ""]);
  await screen.wait(HOLD_MS - 1);
  await screen.typeUnseen("a\r");
  await screen.wait(HOLD_MS);
  const before = prompt.resultSoFar;
  screen.type("n\r");
  expect([before, await prompt.result]).toMatchObject([undefined, { answer: false }]);
});

const MODES = [
  { mode: "drawn", isPlain: false, asked: "? Sure?\n", open: "? more" },
  { mode: "plain", isPlain: true, asked: "Sure?\n", open: "Answer:" },
];

describe.each(MODES)("a $mode prompt that follows such a notice", ({ isPlain, asked, open }) => {
  /** A screen with the notice dismissed, at the moment when the next prompt opens. */
  async function dismissed(request: typeof SURE | typeof PASSWORD, opened: string) {
    const screen = await takenAt("", isPlain);
    const prompt = screen.ask(request);
    await screen.answer([ELSEWHERE, ""], ["Not sent:", "\r"]);
    await screen.untilShown((lines) => {
      const after = lines.join("\n").split(opened)[1] ?? "";
      return after.includes(isPlain && request === PASSWORD ? "Secret:" : isPlain ? open : "");
    });
    return { screen, prompt };
  }

  test("ignores keys that come within a quarter of a second", async () => {
    const { screen, prompt } = await dismissed(SURE, asked);
    await screen.wait(HOLD_MS - 1);
    await screen.typeUnseen("y\r");
    if (isPlain) await screen.answer(["That was typed before this question", ""]);
    await screen.wait(HOLD_MS);
    const before = prompt.resultSoFar;
    screen.type("n\r");
    expect([before, await prompt.result]).toMatchObject([undefined, { answer: false }]);
  });

  test("takes no secret that comes within a quarter of a second", async () => {
    const { screen, prompt } = await dismissed(PASSWORD, "Password?");
    await screen.wait(HOLD_MS - 1);
    await screen.typeUnseen("y\r");
    await screen.wait(HOLD_MS);
    const before = prompt.resultSoFar;
    screen.type("hunter2\r");
    expect([before, await prompt.result]).toMatchObject([undefined, { answer: "hunter2" }]);
  });

  test("takes the keys that come later", async () => {
    const { screen, prompt } = await dismissed(SURE, asked);
    await screen.wait(HOLD_MS);
    screen.type("y\r");
    expect(await prompt.result).toMatchObject({ answer: true });
  });
});
