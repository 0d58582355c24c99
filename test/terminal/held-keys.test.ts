/** Keys and time: a key decides only if nothing follows it, and only at the prompt that it was meant for. */
import { describe, expect, test } from "vitest";
import { HOLD_MS, TYPING_PAUSE_MS } from "../../src/surfaces/terminal/dialogue.ts";
import { takeUnsent } from "../../src/surfaces/terminal/index.ts";
import { KeptTerminal } from "../../src/surfaces/terminal/kept-terminal.ts";
import { booleanQuestion } from "../../src/record/tool/index.ts";
import { counters } from "../security/threats.ts";
import { TASK_ID } from "../support/prompter-task.ts";
import { type Asked, type AskedPrompt, ClockedScreen } from "./clocked-screen.ts";

const PERMISSION = { kind: "permission", tool: "sweep", allowsLater: true } as const;
const DELIVERY = { kind: "delivery", tool: "sweep", content: "dust", allowsLater: true } as const;
const QUESTION = { question: booleanQuestion("q", "Really?"), allowsLater: true } as const;
const DEFAULT = {
  question: booleanQuestion("q", "Really?", { default: true }),
  source: { source: "assistant" },
} as const;
const PROMPTS: readonly (readonly [string, Asked, string])[] = [
  ["a permission", PERMISSION, "? Run sweep?"],
  ["a delivery", DELIVERY, "? Deliver sweep result to assistant?"],
  ["a yes-or-no question", QUESTION, "? Really?"],
  ["a question with a default", DEFAULT, "? Really?"],
];
const CTRL_C = "\u0003";
const paste = (text: string) => `\u001b[200~${text}\u001b[201~`;
const INTERRUPTED = { inquiryId: TASK_ID, type: "interrupted" };

describe.each(PROMPTS)("at %s", (_what, request, shown) => {
  test("a key decides once nothing has followed it for a quarter of a second", async () => {
    const screen = new ClockedScreen();
    const prompt = screen.ask(request);
    await screen.answer([shown, "y"], [`${shown} y`, ""]);
    await screen.wait(HOLD_MS - 1);
    const before = prompt.resultSoFar;
    await screen.wait(1);
    expect([before, await prompt.result]).toMatchObject([undefined, { answer: true }]);
  });

  test("a key that others follow is the beginning of words, which are a no", async () => {
    const screen = new ClockedScreen();
    const prompt = screen.ask(request);
    await screen.answer([shown, "y"], [`${shown} y`, ""]);
    await screen.wait(HOLD_MS - 1);
    await screen.answer([`${shown} y`, "es"], [`${shown} yes`, ""]);
    await screen.wait(HOLD_MS);
    const before = prompt.resultSoFar;
    screen.type(", but use the mop\r");
    expect([before, await prompt.result]).toMatchObject([
      undefined,
      { answer: false, note: "yes, but use the mop", redirects: true },
    ]);
  });

  test.each([
    ["pasted", paste("y"), INTERRUPTED],
    ["pasted with a line break", paste("y\r"), INTERRUPTED],
    ["typed twice at once", "yy", { answer: false, note: "yy" }],
    ["with a line break and more behind it", "y\ry", { answer: false, note: "y\ny" }],
  ])("a letter is no yes, neither alone nor with Enter: %s", async (_how, keys, ended) => {
    const screen = new ClockedScreen();
    const prompt = screen.ask(request);
    await screen.answer([shown, keys], ["Esc clear", ""]);
    await screen.wait(HOLD_MS);
    const before = prompt.resultSoFar;
    await screen.typeUnseen("\r");
    expect([before, await prompt.withdraw()]).toMatchObject([undefined, ended]);
  });
});

describe("at a prompt with a diff", () => {
  const CHANGES = {
    question: booleanQuestion("apply_changes", "Apply these changes?", {
      context: "@@ -1 +1 @@\n-old\n+new",
      exclusive: true,
    }),
    acts: true,
    tool: "fs_modify_file",
    allowsLater: true,
  } as const;
  const shown = "? Apply these changes?";
  const covers = "to this question for the rest of the turn";
  const pauses = [250, 320, 1000, 5000];

  test.each(["a", "Y", "N"].flatMap((key) => pauses.map((pause) => ({ key, pause }))))(
    "a key for more than this call decides nothing without Enter: $key, after $pause ms",
    async ({ key, pause }) => {
      counters("T-TERM-14");
      const screen = new ClockedScreen();
      const prompt = screen.ask(CHANGES);
      await screen.answer([shown, key], [`  ${key}: ${key === "N" ? "no" : "yes"} ${covers}`, ""]);
      await screen.wait(pause);
      await screen.answer(
        [`${shown} ${key}\n`, "dd a docstring too"],
        [`${shown} ${key}dd a docstring too`, ""],
      );
      await screen.wait(pause);
      const before = prompt.resultSoFar;
      screen.type("\r");
      expect([before, await prompt.result]).toMatchObject([
        undefined,
        { answer: false, isRemembered: false, note: `${key}dd a docstring too`, redirects: true },
      ]);
    },
  );

  test.each(pauses)("it decides with Enter, however late: after %d ms", async (pause) => {
    const screen = new ClockedScreen();
    const prompt = screen.ask(CHANGES);
    await screen.answer([shown, "a"], [`  a: yes ${covers}`, ""]);
    await screen.wait(pause);
    screen.type("\r");
    expect(await prompt.result).toMatchObject({ answer: true, isRemembered: true });
  });
});

const IDLE = {
  onResize: () => {},
  onClose: () => {},
  onLend: () => {},
  onReturn: () => {},
  rowsAbove: () => [],
};

/** A prompt that opens half a pause after these keys. */
async function interrupted(typed: string): Promise<[ClockedScreen, AskedPrompt]> {
  const screen = new ClockedScreen();
  const kept = new KeptTerminal(screen.device, () => screen.clock.now().getTime());
  const received = Promise.withResolvers<void>();
  kept.keeper = { ...IDLE, onInput: () => received.resolve() };
  screen.type(typed);
  await received.promise;
  screen.clock.advance(TYPING_PAUSE_MS / 2);
  return [screen, screen.ask(PERMISSION)];
}

describe("at a prompt that opens while the user types a message for later", () => {
  const shown = "? Run sweep?";

  test("the next letters are a part of that message, however slowly they come", async () => {
    const [screen, prompt] = await interrupted("quickl");
    await screen.answer([shown, "y"], [`${shown} y`, ""]);
    await screen.wait(TYPING_PAUSE_MS - 1);
    const before = prompt.resultSoFar;
    await screen.answer([`${shown} y`, "a"], [`${shown} ya`, ""]);
    await screen.wait(TYPING_PAUSE_MS);
    expect([before, prompt.resultSoFar]).toEqual([undefined, undefined]);
    await prompt.withdraw();
  });

  test.each(["y", "yes please"])("its Enter decides nothing: %s", async (rest) => {
    const [screen, prompt] = await interrupted("quickl");
    await screen.answer([shown, rest], [`${shown} ${rest}`, ""]);
    await screen.typeUnseen("\r");
    await screen.wait(TYPING_PAUSE_MS);
    expect(prompt.resultSoFar).toBeUndefined();
    await prompt.withdraw();
  });

  test("a letter decides after a pause", async () => {
    const [screen, prompt] = await interrupted("quickl");
    await screen.answer([shown, ""]);
    await screen.wait(TYPING_PAUSE_MS / 2);
    await screen.answer([shown, "y"], [`${shown} y`, ""]);
    await screen.wait(HOLD_MS);
    expect(await prompt.result).toMatchObject({ answer: true });
  });

  test("a letter decides at once if that message was finished", async () => {
    const [screen, prompt] = await interrupted("quickly\r");
    await screen.answer([shown, "y"], [`${shown} y`, ""]);
    await screen.wait(HOLD_MS);
    expect(await prompt.result).toMatchObject({ answer: true });
  });
});

test("in a session, the hints about keys are one row from the fourth question on", async () => {
  const screen = new ClockedScreen();
  using kept = new KeptTerminal(screen.device, () => screen.clock.now().getTime());
  kept.keeper = { ...IDLE, onInput: () => {} };
  const rememberAs = "all of this ".repeat(8);
  const shown: (readonly string[])[] = [];
  for (let count = 0; count < 4; count += 1) {
    const text = `Question ${count}?`;
    const prompt = screen.ask({ question: booleanQuestion("q", text, { rememberAs }) });
    await screen.answer([`? ${text}\n  y yes`, ""]);
    shown.push(screen.lines.slice(screen.lines.indexOf(`? ${text}`) + 1));
    screen.type("y\r");
    await prompt.result;
  }
  const [first, , third, fourth] = shown;
  expect(first).toHaveLength(3);
  expect(third).toEqual(first);
  expect(fourth).toEqual(["  y yes · a yes to all · n no · Tab say why · ? more"]);
});

test.each([
  ["Escape in the help", "?", "\u001b"],
  ["an arrow key", "\u001b[A", ""],
])("Enter does not take the default after another key: %s", async (_what, first, second) => {
  const screen = new ClockedScreen();
  const prompt = screen.ask(DEFAULT);
  await screen.answer(["y yes (Enter)", first], ["Esc    cancel", ""]);
  await screen.typeUnseen(second);
  await screen.typeUnseen("\r");
  const before = prompt.resultSoFar;
  screen.type("n\r");
  expect([before, await prompt.result]).toMatchObject([undefined, { answer: false }]);
});

describe("words that are not sent", () => {
  const OPEN = "? Run sweep? use the mop";

  test("come back from the menu that closes a prompt", async () => {
    const screen = new ClockedScreen();
    const prompt = screen.ask(PERMISSION);
    await screen.answer(["? Run sweep?", "use the mop"], [OPEN, CTRL_C]);
    await screen.answer(["? Leave this for later", "b\r"], [OPEN, "\r"]);
    expect(await prompt.result).toMatchObject({ note: "use the mop", redirects: true });
    expect(screen.bytes).not.toContain("Not sent");
  });

  test.each([
    ["left for later", "l\r"],
    ["cancelled", "c\r"],
  ])("are printed when the prompt is %s", async (said, keys) => {
    const screen = new ClockedScreen();
    const prompt = screen.ask(PERMISSION);
    await screen.answer(["? Run sweep?", "use the mop"], [OPEN, CTRL_C]);
    await screen.answer(["? Leave this for later", keys], ["Not sent", ""]);
    await prompt.result;
    expect(screen.lines.slice(-2)).toEqual([`✖ Run sweep? ${said}`, "Not sent: use the mop"]);
  });

  test("are printed neutralized, with all of their lines, when the prompt is withdrawn", async () => {
    const screen = new ClockedScreen();
    const prompt = screen.ask(PERMISSION);
    await screen.answer(["? Run sweep?", paste("use\u202e\nthe mop")], ["the mop", ""]);
    const result = await prompt.withdraw();
    await screen.answer(["Not sent", ""]);
    expect([result, screen.lines]).toEqual([
      INTERRUPTED,
      ["• sweep()", "Not sent: use<U+202E>", "the mop"],
    ]);
  });

  test("are kept for the next message when the prompt is withdrawn, where they are wanted", async () => {
    const screen = new ClockedScreen({ onUnsent: () => {} });
    const prompt = screen.ask(PERMISSION);
    await screen.answer(["? Run sweep?", "use the mop"], [OPEN, ""]);
    await prompt.withdraw();
    const shown = screen.bytes.includes("Not sent");
    expect([takeUnsent(screen.device), shown]).toEqual(["use the mop", false]);
  });

  test("do not include a key that is held", async () => {
    const screen = new ClockedScreen();
    const prompt = screen.ask(PERMISSION);
    await screen.answer(["? Run sweep?", "y"], ["? Run sweep? y", ""]);
    const result = await prompt.withdraw();
    await screen.wait(HOLD_MS);
    await screen.untilShown((lines) => lines.join("\n") === "• sweep()");
    expect([result, screen.bytes.includes("Not sent")]).toEqual([INTERRUPTED, false]);
  });
});
