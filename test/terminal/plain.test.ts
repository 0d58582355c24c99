import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { InquiryId } from "../../src/record/conversation/index.ts";
import {
  booleanQuestion,
  type InquiryQuestion,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { counters } from "../security/threats.ts";
import { PromptProcess, type PromptProcessOptions } from "../support/prompt-screen.ts";
import type { PrompterTask } from "../support/prompter-task.ts";

const inquiryId = "call_1.q.1" as InquiryId; // In the format of the agent.
const CANCELLED = { inquiryId, type: "cancelled" };
const INTERRUPTED = { inquiryId, type: "interrupted" };
const QUESTIONS = {
  boolean: booleanQuestion("q", "What then?"),
  select: selectQuestion("q", "What then?", { options: ["a", "b"] }),
  text: textQuestion("q", "What then?"),
  secret: secretQuestion("q", "What then?"),
};
const TYPES = Object.keys(QUESTIONS) as (keyof typeof QUESTIONS)[]; // Exactly these keys.

type More = Partial<Pick<PrompterTask, "notification" | "edited" | "countsDescriptors">>;

function open(question: InquiryQuestion, options: PromptProcessOptions = {}, more: More = {}) {
  const request = { inquiryId, question };
  return new PromptProcess({ method: "ask", request, isPlain: true, ...more }, options);
}

async function answered(question: InquiryQuestion, ...typed: readonly string[]) {
  const screen = open(question);
  await screen.answerLines(...typed.map((line) => `${line}\r`));
  return { result: await screen.result(), lines: screen.lines };
}

describe("a plain-text question", () => {
  test("says what to type, explains mistakes, and stays on the screen", async () => {
    const { result, lines } = await answered(QUESTIONS.boolean, "x", "?", "", "Y");
    expect([result, lines]).toEqual([
      { inquiryId, type: "answered", answer: true, isRemembered: true },
      [
        "",
        "What then?",
        "Type yes, a (yes to this question for the rest of the turn) or no and press",
        "Enter, or say what to do instead.",
        "? for help, /why and words to say no for a reason, /cancel to cancel the",
        "question.",
        "Answer: x",
        "Type yes, a (yes to this question for the rest of the turn) or no, or say in a",
        "few words what to do instead.",
        "Answer: ?",
        "y: yes",
        "a: yes to this question for the rest of the turn (also Y)",
        "n: no",
        "capital N: no to this question for the rest of the turn",
        "? for help, /why and words to say no for a reason, /cancel to cancel the",
        "question.",
        "Answer:",
        "Type yes, a (yes to this question for the rest of the turn) or no, or say in a",
        "few words what to do instead.",
        "Answer: Y",
        "Answered: What then? yes to this question for the rest of the turn",
      ],
    ]);
  });

  test.each([
    ["yes", { answer: true }, "yes"],
    ["YES", { answer: true }, "yes"],
    ["no", { answer: false }, "no"],
    ["perhaps", { answer: false, note: "perhaps", redirects: true }, "no: perhaps"],
    ["yes, later", { answer: false, note: "yes, later", redirects: true }, "no: yes, later"],
    ["/why it rains", { answer: false, note: "it rains" }, "no: it rains"],
  ])("takes the whole line, and words for a no: %s", async (line, expected, said) => {
    const { result, lines } = await answered(QUESTIONS.boolean, line);
    expect([result, lines.at(-1)]).toEqual([
      { inquiryId, type: "answered", isRemembered: false, ...expected },
      `Answered: What then? ${said}`,
    ]);
  });

  test("takes no pasted lines for a yes", async () => {
    const { result } = await answered(QUESTIONS.boolean, "y\ruse sed");
    expect(result).toMatchObject({ answer: false, note: "y\nuse sed", redirects: true });
  });

  test("asks for the reason after /why", async () => {
    const { result, lines } = await answered(QUESTIONS.boolean, "/why", "/why it rains");
    expect([result, lines.at(-3)]).toMatchObject([
      { answer: false, note: "it rains" },
      "Type the reason after /why, on the same line.",
    ]);
  });

  test.skipIf(!existsSync("/proc/self/fd"))(
    "leaves no descriptor of the terminal open, however many lines were typed",
    async () => {
      const screen = open(QUESTIONS.boolean, {}, { countsDescriptors: true });
      await screen.answerLines("x\r", "?\r", "\r", "y\r");
      expect(await screen.result()).toBe(0);
    },
  );

  test.each(TYPES)("writes no control characters: type %s", async (answerType) => {
    const screen = open({ ...QUESTIONS[answerType], context: "@@ -1 +1 @@\n-old\n+new" });
    await screen.answerLines(answerType === "boolean" ? "y\r" : "1\r");
    const { bytes } = await screen.end();
    // oxlint-disable-next-line no-control-regex -- Looks for control characters.
    expect(bytes.replaceAll(/\r*\n/g, "\n")).not.toMatch(/[\0-\u0009\u000b-\u001f]/);
  });

  test.each(
    TYPES.flatMap((answerType) =>
      [
        { name: "Ctrl-C", key: "\u0003" },
        { name: "Ctrl-D", key: "\u0004" },
        { name: "Escape and Enter", key: answerType === "secret" ? "\u001b" : "\u001b\r" },
      ].map((one) => ({ answerType, ...one })),
    ),
  )("is cancelled by every key that cancels: $answerType, $name", async ({ answerType, key }) => {
    verifies("082/cancel/end-of-input-is-user");
    const screen = open(QUESTIONS[answerType]);
    await screen.answerLines(key);
    const result = await screen.result();
    expect([result, screen.lines.at(-1)]).toEqual([CANCELLED, "Cancelled: What then?"]);
  });

  test("says so if it is left for later", async () => {
    const request = { inquiryId, question: QUESTIONS.text, allowsLater: true };
    const screen = new PromptProcess({ method: "ask", request, isPlain: true });
    await screen.answerLines("\u0003", "l\r");
    await screen.end();
    expect(screen.lines.slice(-5)).toEqual([
      "Leave this for later, or cancel it?",
      "Type l (leave it for later), c (cancel it) or b (go back) and press Enter.",
      "? for help, /cancel to go back.",
      "Answer: l",
      "Left for later: What then?",
    ]);
  });

  test.each(TYPES)("is interrupted when the terminal closes: type %s", async (answerType) => {
    counters("T-PROV-8");
    const screen = open(QUESTIONS[answerType]);
    await screen.answerLines("");
    screen.hangUp();
    expect(await screen.result()).toEqual(INTERRUPTED);
  });

  test("ignores input typed before it was asked, with or without Enter", async () => {
    const screen = open(QUESTIONS.boolean, { shell: 'echo started; "$@"' });
    await screen.answer(["started", "y\rn"]);
    await screen.answerLines("N\r");
    expect(await screen.result()).toMatchObject({ answer: false, isRemembered: true });
  });

  test("restores the terminal settings", async () => {
    const screen = open(QUESTIONS.secret, { shell: 'stty -a >before; "$@"; stty -a >after' });
    await screen.answerLines("x\r");
    await screen.end();
    const read = (name: string) => readFileSync(path.join(screen.folder, name), "utf8");
    expect(read("after")).toBe(read("before"));
  });

  test("lets Ctrl-C send its signal again once it says that it is answered", async () => {
    // A shell that is about to start a command in the foreground would miss the signal.
    const shell =
      'trap "echo interrupted; kill \\$! 2>/dev/null; exit" INT; "$@"; sleep 600 & wait';
    const screen = open(QUESTIONS.text, { shell });
    await screen.answerLines("x\r");
    await screen.answer(["Answered:", "\u0003"]);
    expect((await screen.end()).bytes).toMatch(/interrupted\s*$/);
  });

  test("does not echo a secret, and lets the user correct it", async () => {
    const screen = open(QUESTIONS.secret);
    await screen.answerLines("hunter3\u007f2\r");
    expect([await screen.result(), screen.bytes.includes("hunter")]).toEqual([
      { inquiryId, type: "answered", answer: "hunter2", isRemembered: false },
      false,
    ]);
  });

  test("marks where the text of a secret question is broken within a word", async () => {
    const screen = open(secretQuestion("q", `Password of ${"x".repeat(30)}?`), { columns: 24 });
    await screen.answer(["Secret:", "x\r"]);
    await screen.end();
    expect(screen.lines.slice(1, 3)).toEqual([
      `Password of ${"x".repeat(11)}`,
      `↳${"x".repeat(19)}?`,
    ]);
  });

  test("does not lose a secret to Escape", async () => {
    const screen = open(QUESTIONS.secret);
    await screen.answer(["Secret:", "hunter\u001b\u001b[C2\r"]);
    expect(await screen.result()).toMatchObject({ answer: "hunter2" });
  });

  test("takes a secret on where Ctrl-Z left it, and lets the shell echo meanwhile", async () => {
    const shell = 'set -m; "$@"; stty -a >stopped; fg >&-';
    const screen = open(QUESTIONS.secret, { shell });
    await screen.answer(["Secret:", "hun\u001a"]);
    await screen.untilShown((lines) => lines.join("\n").split("Secret:").length === 3);
    screen.type("ter2\r");
    expect(await screen.result()).toMatchObject({ answer: "hunter2" });
    expect(readFileSync(path.join(screen.folder, "stopped"), "utf8")).toMatch(/ icanon .* echo /s);
  });

  test("rings the bell, and sends no desktop notification", async () => {
    const screen = open(QUESTIONS.text, {}, { notification: { bell: true, desktop: true } });
    await screen.answerLines("x\r");
    const { bytes } = await screen.end();
    expect([bytes.split("\u0007").length, bytes.includes("\u001b")]).toEqual([2, false]);
  });

  test("shows all of its context and text, however long", async () => {
    counters("T-TERM-7");
    const context = Array.from({ length: 700 }, (_, index) => `line ${index + 1}`);
    const text = `Delete ${"a ".repeat(200)}and /home for ever?`;
    const question = { ...booleanQuestion("q", text), context: context.join("\n") };
    const screen = open(question);
    await screen.answerLines("n\r");
    const { bytes } = await screen.end();
    const shown = bytes.split("Type yes,")[0]?.replaceAll(/\s+/g, " ");
    expect(shown).toContain(`${context.join(" ")} ${text}`);
  });
});

describe("a plain-text text question", () => {
  test("can be answered in an editor, and shows the text before it is sent", async () => {
    const screen = open(textQuestion("q", "What then?"), {}, { edited: "first\nsecond\n" });
    await screen.answerLines("/edit\r", "\r");
    const result = await screen.result();
    expect([result, screen.lines.slice(-10, -5)]).toEqual([
      { inquiryId, type: "answered", answer: "first\nsecond", isRemembered: false },
      ["What then?", "Current text:", "first", "second", "End of text."],
    ]);
  });

  test("takes full stops and command words literally in a multi-line answer", async () => {
    const { result } = await answered(QUESTIONS.text, "/lines\r..\r/cancel\r?\r.");
    expect(result).toMatchObject({ answer: ".\n/cancel\n?" });
  });

  test("uses the default for an empty answer", async () => {
    const question = textQuestion("q", "What then?", { default: "as usual" });
    expect((await answered(question, "")).result).toMatchObject({ answer: "as usual" });
  });
});
