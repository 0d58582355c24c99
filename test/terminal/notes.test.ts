import { describe, expect, test } from "vitest";
import type { InquiryId } from "../../src/record/conversation/index.ts";
import {
  booleanQuestion,
  type InquiryQuestion,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import { PromptScreen } from "../support/prompt-screen.ts";
import type { VirtualTerminalOptions } from "../support/virtual-terminal.ts";

const inquiryId = "call_1.q.1" as InquiryId; // In the format of the agent.
const ESCAPE = "\u001b";

const options = ["one", "two"];
const NOTED = {
  boolean: {
    question: booleanQuestion("q", "What then?", { allowsNote: true }),
    open: [
      "? What then?",
      "  y yes · a yes to this question for the rest of the turn · n no · Tab add note",
      "  ? more",
    ],
    draft: { keys: "?\r", shown: "  Esc    cancel the question" },
    keys: "a\r",
    answer: { answer: true, isRemembered: true },
    said: "yes to this question for the rest of the turn",
  },
  select: {
    question: selectQuestion("q", "What then?", { options, allowsNote: true }),
    open: [
      "? What then?",
      "❯ one",
      "  two",
      "  ↑↓ move · type to filter · Enter select · Tab add note",
    ],
    draft: { keys: "tw", shown: "❯ two" },
    keys: "\r",
    answer: { answer: "two", isRemembered: false },
    said: "two",
  },
  multiple: {
    question: selectQuestion("q", "What then?", { options, isMultiple: true, allowsNote: true }),
    open: [
      "? What then?",
      "❯ [ ] one",
      "  [ ] two",
      "  ↑↓ move · type to filter · Space select · Enter submit · Tab add note",
    ],
    draft: { keys: " ", shown: "[x] one" },
    keys: "\r",
    answer: { answer: ["one"], isRemembered: false },
    said: "one",
  },
  text: {
    question: textQuestion("q", "What then?", { allowsNote: true }),
    open: ["? What then?", "  Enter submit · Alt-Enter new line · Tab add note"],
    draft: { keys: "ab\u001b[D", shown: "then? ab" },
    keys: "x\r",
    answer: { answer: "axb", isRemembered: false },
    said: "axb",
  },
};
const TYPES = Object.keys(NOTED) as (keyof typeof NOTED)[]; // Exactly these keys.

function open(
  question: InquiryQuestion,
  screen: VirtualTerminalOptions & { edited?: string } = {},
) {
  const { edited, ...rest } = screen;
  const request = { inquiryId, question };
  return new PromptScreen(
    { method: "ask", request, ...(edited !== undefined && { edited }) },
    rest,
  );
}

describe.each(TYPES)("a note to a %s question", (type) => {
  const { question, open: screen, draft, keys, answer, said } = NOTED[type];

  test("can be added while answering, and is sent with the answer", async () => {
    const opened = open(question);
    await opened.untilShown((lines) => lines.length >= screen.length);
    const before = opened.lines;
    opened.type(draft.keys);
    await opened.answer([draft.shown, "\t"], ["Note:", "only\ntoday"], ["  today", ""]);
    const noting = opened.lines;
    opened.type("\r");
    await opened.answer(["  Note: only today", keys]);
    expect([before, noting, await opened.result(), opened.lines]).toEqual([
      screen,
      ["? Note:", "  only", "  today", "  Enter submit · Alt-Enter new line · Esc go back"],
      { inquiryId, type: "answered", ...answer, note: "only\ntoday" },
      [`✔ What then? ${said} · note: only today`],
    ]);
  });

  test("stays as it was after Escape, which asks before it discards a change, or the note", async () => {
    const opened = open(question);
    await opened.answer(["Tab add note", "\t"], ["? Note:", "first\r"]);
    await opened.answer(["Note: first", "\t"], ["? Note: first", `, second${ESCAPE}`]);
    await opened.answer(["Press Esc again", ESCAPE]);
    await opened.answer(["  Note: first", ESCAPE], ["Press Esc again", ESCAPE]);
    expect([await opened.result(), opened.lines]).toEqual([
      { inquiryId, type: "cancelled" },
      ["✖ What then? cancelled"],
    ]);
  });

  test("is left out if blank", async () => {
    const opened = open(question);
    await opened.answer(["Tab add note", draft.keys], [draft.shown, "\t"], ["? Note:", "  \r"]);
    await opened.answer([draft.shown, keys]);
    expect([await opened.result(), opened.lines]).toEqual([
      { inquiryId, type: "answered", ...answer },
      [`✔ What then? ${said}`],
    ]);
  });

  test("is closed, and printed as not sent, when the signal aborts", async () => {
    const opened = open(question);
    await opened.answer(["Tab add note", "\t"], ["? Note:", "half"], ["half", ""]);
    opened.abort();
    expect([await opened.result(), opened.lines]).toEqual([
      { inquiryId, type: "interrupted" },
      ["Not sent: half"],
    ]);
  });

  test("is shown neutralized, on one line that fits the screen", async () => {
    const opened = open(question, { columns: 30 });
    const paste = "\u001b[200~日本\u202e\u009b2J\nand so on for a while\u001b[201~\r";
    await opened.answer(["What", "\t"], ["? Note:", paste]);
    await opened.answer(["  Note: 日本<U+202E><U+009B>…", "\u0003"]);
    await opened.end();
    expect(/\u202e|\u009b/.test(opened.bytes)).toBe(false);
  });
});

test("a note can be written in an editor, and a wider window shows more of it", async () => {
  const question = booleanQuestion("q", "What then?", { allowsNote: true });
  const screen = open(question, { edited: "a note of many words, too long\n", columns: 30 });
  const cut = "? What then?\n  Note: a note of many words…";
  await screen.answer(["Tab add note", "\t"], ["? Note:", "\u0018"], ["too long", "\r"], [cut, ""]);
  screen.resize(60, 24);
  const rows = [
    "? What then?",
    "  Note: a note of many words, too long",
    "  y yes · a yes to this question for the rest of the turn",
    "  n no · Tab edit note · ? more",
  ];
  await screen.untilShown((lines) => lines.join("\n") === rows.join("\n"));
  screen.type("n\r");
  expect(await screen.result()).toMatchObject({
    answer: false,
    note: "a note of many words, too long",
  });
});

test("words typed at a yes or no go with the answer in place of the note", async () => {
  const screen = open(booleanQuestion("q", "What then?", { allowsNote: true }));
  await screen.answer(["Tab add note", "\t"], ["? Note:", "only today\r"]);
  await screen.answer(["  Note: only today", "use the mop\r"]);
  expect([await screen.result(), screen.lines]).toEqual([
    {
      inquiryId,
      type: "answered",
      answer: false,
      isRemembered: false,
      note: "use the mop",
      redirects: true,
    },
    ["✔ What then? no: use the mop"],
  ]);
});

test("a note can be added to free text", async () => {
  const question = selectQuestion("q", "Which?", { options, allowsOther: true, allowsNote: true });
  const screen = open(question);
  await screen.answer(
    ["Other…", "\u001b[F\r"],
    ["Other:", "three\t"],
    ["? Note:", "mine\r"],
    ["Other: three\n  Note: mine", "\r"],
  );
  expect([await screen.result(), screen.lines]).toEqual([
    { inquiryId, type: "answered", answer: "three", isRemembered: false, note: "mine" },
    ["✔ Which? three · note: mine"],
  ]);
});

test("a secret question does not take a note", async () => {
  const screen = open({ ...secretQuestion("q", "Password?"), allowsNote: true });
  await screen.answer(["input is hidden", "a\tb"], ["something typed", ""]);
  const { lines } = screen;
  screen.type("\r");
  expect([lines[1], await screen.result()]).toEqual([
    "  input is hidden · something typed · Enter submit",
    { inquiryId, type: "answered", answer: "a\tb", isRemembered: false },
  ]);
});
