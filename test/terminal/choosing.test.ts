import { describe, expect, test } from "vitest";
import type { InquiryId } from "../../src/record/conversation/index.ts";
import { type InquiryQuestion, selectQuestion } from "../../src/record/tool/index.ts";
import { counters } from "../security/threats.ts";
import { PromptScreen } from "../support/prompt-screen.ts";
import type { VirtualTerminalOptions } from "../support/virtual-terminal.ts";

const inquiryId = "call_1.q.1" as InquiryId; // In the format of the agent.
const ESCAPE = "\u001b";
const LAST = "\u001b[F";
const HOSTILE = "\u001b[31m\u001b]0;x\u0007\u202e";
const NEUTRALIZED = "␛[31m␛]0;x␇<U+202E>";
const RAW = /\u001b\[31m|\u001b\]0|\u0007|\u202e/;

function open(question: InquiryQuestion, options: VirtualTerminalOptions = {}) {
  return new PromptScreen({ method: "ask", request: { inquiryId, question } }, options);
}

function answered(answer: unknown) {
  return { inquiryId, type: "answered", answer, isRemembered: false };
}

describe("a select question that allows other answers", () => {
  const QUESTION = selectQuestion("q", "Which?", { options: ["one", "two"], allowsOther: true });

  test("accepts free text", async () => {
    const screen = open(QUESTION);
    await screen.answer(["Other…", LAST], ["❯ Other…", "\r"], ["Which? Other:", "日本\nthree"]);
    await screen.answer(["  three", ""]);
    const { lines } = screen;
    screen.type("\r");
    expect([lines, await screen.result(), screen.lines]).toEqual([
      ["? Which? Other:", "  日本", "  three", "  Enter submit · Alt-Enter new line · Esc go back"],
      answered("日本\nthree"),
      ["✔ Which? 日本 three"],
    ]);
  });

  test("accepts text typed in the list", async () => {
    const screen = open(QUESTION);
    await screen.answer(["Which?", "a third"], ["❯ Other: a third", "\r"]);
    expect([await screen.result(), screen.lines]).toEqual([
      answered("a third"),
      ["✔ Which? a third"],
    ]);
  });

  test.each([
    ["Escape", ESCAPE],
    ["Escape twice", `half${ESCAPE}${ESCAPE}`],
    ["empty text", "\r"],
    ["blank text", "  \r"],
  ])("returns to the list after %s", async (_input, keys) => {
    const screen = open(QUESTION);
    await screen.answer(["Other…", `${LAST}\r`], ["Which? Other:", keys]);
    await screen.answer(["❯ Other…", "\u001b[H"], ["❯ one", "\r"]);
    expect([await screen.result(), screen.lines]).toEqual([answered("one"), ["✔ Which? one"]]);
  });

  test("keeps the filter as the start of the free text", async () => {
    const screen = open(QUESTION);
    await screen.answer(["Other…", `on${LAST}`], ["❯ Other…", "\r"], ["Other: on", "e of us\r"]);
    expect(await screen.result()).toEqual(answered("one of us"));
  });

  test("preselects a default that is not an option", async () => {
    const screen = open({ ...QUESTION, default: "three" });
    await screen.answer(["❯ three", "\r"]);
    expect(await screen.result()).toEqual(answered("three"));
  });

  test("is cancelled by Escape in the list, and erased when the signal aborts", async () => {
    const [cancelled, aborted] = [open(QUESTION), open(QUESTION)];
    await cancelled.answer(
      ["Other…", `${LAST}\r`],
      ["Which? Other:", ESCAPE],
      ["❯ Other…", ESCAPE],
    );
    await aborted.answer(["Other…", `${LAST}\r`], ["Which? Other:", ""]);
    aborted.abort();
    expect([
      await cancelled.result(),
      cancelled.lines,
      await aborted.result(),
      aborted.lines,
    ]).toEqual([
      { inquiryId, type: "cancelled" },
      ["✖ Which? cancelled"],
      { inquiryId, type: "interrupted" },
      [],
    ]);
  });

  test("neutralizes hostile text", async () => {
    const screen = open(QUESTION);
    const paste = `\u001b[200~${HOSTILE.replaceAll("\u001b", "")}\u001b[201~`;
    await screen.answer(["Other…", paste], ["❯ Other: [31m]0;x␇<U+202E>", "\r"]);
    expect([await screen.result(), screen.lines, RAW.test(screen.bytes)]).toEqual([
      answered("[31m]0;x\u0007\u202e"),
      ["✔ Which? [31m]0;x␇<U+202E>"],
      false,
    ]);
  });
});

describe("a multiple-choice question", () => {
  const QUESTION = selectQuestion("q", "Which?", {
    options: ["one", { value: { a: 1 } }, "three"],
    isMultiple: true,
  });

  test("shows the selected options and submits them in the order of the list", async () => {
    const screen = open({ ...QUESTION, default: ["three"] });
    await screen.answer(["❯ [x] three", "\u001b[A "], ["❯ [x] {", ""]);
    const { lines } = screen;
    screen.type("\r");
    expect([lines, await screen.result(), screen.lines]).toEqual([
      [
        "? Which?",
        "  [ ] one",
        '❯ [x] {"a":1}',
        "  [x] three",
        "  ↑↓ move · type to filter · Space select · Enter submit",
      ],
      answered([{ a: 1 }, "three"]),
      ['✔ Which? {"a":1}, three'],
    ]);
  });

  test("accepts an empty selection", async () => {
    const screen = open(QUESTION);
    await screen.answer(["[ ] three", "\r"]);
    expect([await screen.result(), screen.lines]).toEqual([answered([]), ["✔ Which? none"]]);
  });

  test("accepts free text in addition to options", async () => {
    const options = ["one", "two"];
    const screen = open(
      selectQuestion("q", "Which?", { options, isMultiple: true, allowsOther: true }),
    );
    await screen.answer(
      ["[ ] Other…", "three four"],
      ["❯ [ ] Other: three four", "\r"],
      ["❯ [x] three four", "\u001b[B "],
      ["Which? Other:", "two\r"], // Already an option.
      ["❯ [x] two\n  [x] three four\n  [ ] Other…", `${LAST}\r`],
      ["Which? Other:", ESCAPE],
      ["❯ [ ] Other…", "\u001b[H"],
      ["❯ [ ] one", "\r"],
    );
    expect([await screen.result(), screen.lines]).toEqual([
      answered(["two", "three four"]),
      ["✔ Which? two, three four"],
    ]);
  });

  test("keeps its selection when the window gets wider, and collapses to one line", async () => {
    const options = ["日本語日本語日本語日本語", "b".repeat(40)];
    const question = selectQuestion("q", "Which?", { options, isMultiple: true });
    const screen = open(question, { columns: 20 });
    await screen.answer(["[ ] bbb", "\u0001"], ["[x] bbb", ""]);
    const narrow = screen.lines.slice(0, 4);
    screen.resize(30, 24);
    const rows = [
      "? Which?",
      "❯ [x] 日本語日本語日本語日本",
      "      ↳語",
      `  [x] ${"b".repeat(22)}…`,
    ];
    await screen.untilShown((lines) => lines.slice(0, 4).join("\n") === rows.join("\n"));
    screen.type("\r");
    await screen.end();
    expect([narrow, screen.lines]).toEqual([
      ["? Which?", "❯ [x] 日本語日本語", "      ↳日本語日本語", `  [x] ${"b".repeat(12)}…`],
      ["✔ Which? 日本語日本語日本語…"],
    ]);
  });
});

describe("a preview of an option", () => {
  const long = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`).join("\n");
  const diff = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new";
  const QUESTION = selectQuestion("q", "Which?", {
    options: [
      { value: "long", preview: long },
      { value: "diff", preview: diff },
    ],
  });

  test("is shown below the list, and in full with Ctrl-O", async () => {
    const screen = open(QUESTION, { rows: 18 });
    await screen.answer(["more lines", ""]);
    const { lines } = screen;
    screen.type("\u000f");
    await screen.answer(["1-17 of 43", "q"], ["❯ long", "\u001b[B"], ["│ +new", "\r"]);
    expect([lines, await screen.result(), screen.lines]).toEqual([
      [
        "? Which?",
        "❯ long",
        "  diff",
        "  │ line 1",
        "  │ line 2",
        "  │ line 3",
        "  │ line 4",
        "  │ line 5",
        "  │ … 35 more lines",
        "  ↑↓ move · type to filter · Enter select · Ctrl-O show all",
      ],
      answered("diff"),
      ["✔ Which? diff"],
    ]);
  });

  test("must be read to the end before its option can be chosen", async () => {
    counters("T-TERM-7");
    const screen = open(QUESTION, { rows: 18 });
    await screen.answer(
      ["❯ long", "\r"],
      ["… 24 more lines ·", "yq1"],
      ["Read to the end first (End) · … 24 more lines", " "],
      ["… 7 more lines ·", " "],
      ["go to the question", "\r"],
      ["go to the question", " "],
      ["❯ long", "\r"],
    );
    expect(await screen.result()).toEqual(answered("long"));
  });

  test("comes before a long context in the full view", async () => {
    const context = Array.from({ length: 60 }, (_, index) => `context ${index + 1}`).join("\n");
    const screen = open({ ...QUESTION, context }, { rows: 20 });
    await screen.answer(
      ["more lines ·", "\u001b[F"],
      ["go to the question", " "],
      ["❯ long", "\u000f"],
      ["1-19 of 104", "\u001b[6~"],
      ["20-38 of 104", "\u001b[6~"],
      ["39-57 of 104", ""],
    );
    const from = screen.lines.indexOf("line 39");
    const seen = screen.lines.slice(from, from + 4);
    screen.type("q");
    await screen.answer(["❯ long", ESCAPE]);
    await screen.end();
    expect(seen).toEqual(["line 39", "line 40", "", "context 1"]);
  });

  test("has the colors of a diff", async () => {
    const screen = open({ ...QUESTION, default: "diff" }, { variables: { TERM: "xterm" } });
    await screen.answer(["│ +new", "\r"]);
    const { bytes } = await screen.end();
    expect(
      ["\u001b[31m-old\u001b[39m", "\u001b[32m+new\u001b[39m"].map((row) => bytes.includes(row)),
    ).toEqual([true, true]);
  });

  test("is neutralized in the list and in the full view", async () => {
    const options = [{ value: `a${HOSTILE}`, preview: `b${HOSTILE}\nc` }];
    const screen = open(selectQuestion("q", "Which?", { options, allowsOther: true }));
    await screen.answer(
      [`│ b${NEUTRALIZED}`, "\u000f"],
      [`b${NEUTRALIZED}\nc`, "q"],
      ["? Which?", "\r"],
    );
    expect([await screen.result(), screen.lines, RAW.test(screen.bytes)]).toEqual([
      answered(`a${HOSTILE}`),
      [`✔ Which? a${NEUTRALIZED}`],
      false,
    ]);
  });
});
