import { describe, expect, test } from "vitest";
import type { InquiryId } from "../../src/record/conversation/index.ts";
import {
  type AnswerReusePolicy,
  booleanQuestion,
  type InquiryQuestion,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { PromptScreen } from "../support/prompt-screen.ts";
import type { VirtualTerminalOptions } from "../support/virtual-terminal.ts";

const inquiryId = "call_1.q.1" as InquiryId; // In the format of the agent.

function open(
  question: InquiryQuestion,
  options: VirtualTerminalOptions & { label?: string; allowsLater?: boolean } = {},
) {
  const { label, allowsLater = false, ...rest } = options;
  const request = { inquiryId, question, allowsLater, ...(label !== undefined && { label }) };
  return new PromptScreen({ method: "ask", request }, rest);
}

interface Pinned {
  readonly question: InquiryQuestion;
  readonly open: readonly string[];
  readonly keys: string;
  readonly closed: string;
  readonly result: object;
}

/** Every type of answer, for each persistence. Only a yes or no can be for the whole turn. */
const PINNED: Readonly<Record<string, (persistence: AnswerReusePolicy) => Pinned>> = {
  boolean: (persistence) => ({
    question: booleanQuestion("q", "Apply it?", { persistence, default: true }),
    open: [
      "? Apply it?",
      ...(persistence === "turn"
        ? [
            "  y yes (Enter) · a yes to this question for the rest of the turn · n no",
            "  Tab say why · ? more",
          ]
        : ["  y yes (Enter) · n no · Tab say why · ? more"]),
    ],
    keys: "n\r",
    closed: "✔ Apply it? no",
    result: { answer: false },
  }),
  select: (persistence) => ({
    question: selectQuestion("q", "Which?", {
      persistence,
      default: "two",
      options: ["one", { value: "two", description: "the second" }, "three"],
    }),
    open: [
      "? Which?",
      "  one",
      "❯ two - the second",
      "  three",
      "  ↑↓ move · type to filter · Enter select",
    ],
    keys: "\r",
    closed: "✔ Which? two",
    result: { answer: "two" },
  }),
  text: (persistence) => ({
    question: textQuestion("q", "Name?", { persistence, default: "Ada" }),
    open: ["? Name? (Ada)", "  Enter submit · Alt-Enter new line"],
    keys: "Grace\r",
    closed: "✔ Name? Grace",
    result: { answer: "Grace" },
  }),
  secret: (persistence) => ({
    question: secretQuestion("q", "Password?", { persistence }),
    open: ["? Password?", "  input is hidden · Enter submit"],
    keys: "hunter2\r",
    closed: "✔ Password? <redacted>",
    result: { answer: "hunter2" },
  }),
};

const COMBINATIONS = Object.keys(PINNED).flatMap((type) =>
  (["turn", "none"] as const).flatMap((persistence) =>
    [undefined, "Assistant"].map((label) => ({ type, persistence, label })),
  ),
);

test.each(COMBINATIONS)(
  "every question looks as pinned: $type, persistence $persistence, label $label",
  async ({ type, persistence, label }) => {
    verifies(
      "083/label/shown-above-the-question",
      "083/label/absent-means-no-header",
      "083/prompt/turn-offers-to-remember",
      "083/prompt/none-does-not-offer-to-remember",
      "083/prompt/one-rendering-path",
      "083/prompt/combinations-pinned",
      "082/prompt/answer-carries-the-id",
    );
    const pinned = PINNED[type]?.(persistence);
    if (pinned === undefined) throw new Error(`Nothing is pinned for ${type}.`);
    const header = label === undefined ? [] : [label];
    const screen = open(pinned.question, { ...(label !== undefined && { label }) });
    await screen.untilShown((lines) => lines.length >= header.length + pinned.open.length);
    const before = screen.lines;
    screen.type(pinned.keys);
    const result = await screen.result();
    expect({ before, after: screen.lines, result }).toEqual({
      before: [...header, ...pinned.open],
      after: [...header, pinned.closed],
      result: { inquiryId, type: "answered", isRemembered: false, ...pinned.result },
    });
  },
);

describe("a boolean question", () => {
  test.each([
    ["y", true, false, "yes"],
    ["a\r", true, true, "yes to this question for the rest of the turn"],
    ["Y\r", true, true, "yes to this question for the rest of the turn"],
    ["N\r", false, true, "no to this question for the rest of the turn"],
  ])(
    "is answered by one key, with Enter for more than this question: %j",
    async (keys, answer, isRemembered, said) => {
      verifies("083/prompt/turn-offers-to-remember");
      const screen = open(booleanQuestion("q", "Apply it?"));
      await screen.answer(["Apply it?", keys]);
      expect([await screen.result(), screen.lines]).toEqual([
        { inquiryId, type: "answered", answer, isRemembered },
        [`✔ Apply it? ${said}`],
      ]);
    },
  );

  test.each([
    ["plain", "n\r", {}, "no"],
    ["in words", "no, use sed\r", { note: "no, use sed", redirects: true }, "no: no, use sed"],
    ["in words after n", "n use sed\r", { note: "use sed", redirects: true }, "no: use sed"],
    ["for a reason", "\ttoo early\r", { note: "too early" }, "no: too early"],
  ])("takes a no with Enter: %s", async (_how, keys, more, said) => {
    const screen = open(booleanQuestion("q", "Apply it?"));
    await screen.answer(["Apply it?", keys]);
    expect([await screen.result(), screen.lines]).toEqual([
      { inquiryId, type: "answered", answer: false, isRemembered: false, ...more },
      [`✔ Apply it? ${said}`],
    ]);
  });

  test("says in its help that Escape leaves it for later, where that is possible", async () => {
    const screen = open(booleanQuestion("q", "Apply it?"), { allowsLater: true });
    await screen.answer(["Apply it?", "?\r"], ["  Esc    leave it for later, or cancel it", "y\r"]);
    expect(await screen.result()).toMatchObject({ answer: true });
  });

  test("shows help, and removes it once answered", async () => {
    const screen = open(booleanQuestion("q", "Apply it?", { persistence: "none" }));
    await screen.answer(["Apply it?", "?"], ["  Esc    cancel", ""]);
    // The key is on the screen as long as it is held.
    await screen.untilShown((lines) => lines[0] === "? Apply it?");
    const help = screen.lines;
    screen.type("y");
    await screen.end();
    expect([help, screen.lines]).toEqual([
      [
        "? Apply it?",
        "  y      yes",
        "  n      no",
        "  words  no, and send them as your next message",
        "  Tab    no, with a reason",
        "  Esc    cancel the question",
        "  y yes · n no · Tab say why · ? more",
      ],
      ["✔ Apply it? yes"],
    ]);
  });
});

describe("a select question", () => {
  test("accepts options of any JSON type", async () => {
    const options = [{ value: 1 }, { value: { a: [null] } }, { value: true }];
    const screen = open({ ...selectQuestion("q", "Which?", { options }), default: { a: [null] } });
    await screen.answer(["true", "\r"]);
    expect([await screen.result(), screen.lines]).toEqual([
      { inquiryId, type: "answered", answer: { a: [null] }, isRemembered: false },
      ['✔ Which? {"a":[null]}'],
    ]);
  });

  test("loses only its filter by Escape", async () => {
    const screen = open(selectQuestion("q", "Which?", { options: ["apple", "banana"] }));
    await screen.answer(["❯ apple", "ban"], ["❯ banana", "\u001b"]);
    await screen.answer(["  apple\n❯ banana", "\u001b"]);
    expect(await screen.result()).toMatchObject({ type: "cancelled" });
  });

  test("filters its options as you type", async () => {
    const screen = open(selectQuestion("q", "Which?", { options: ["日本", "apple", "本日"] }));
    await screen.answer(["apple", "本"], ["? Which? 本", "日"], ["? Which? 本日", ""]);
    const filtered = screen.lines.slice(0, 2);
    const { cursor } = screen;
    screen.type("\r");
    expect([filtered, cursor, await screen.result()]).toEqual([
      ["? Which? 本日", "❯ 本日"],
      { line: 0, column: 13 },
      { inquiryId, type: "answered", answer: "本日", isRemembered: false },
    ]);
  });
});

describe("a text question", () => {
  test("uses its default for an empty answer", async () => {
    const screen = open(textQuestion("q", "Name?", { default: "Ada\nLovelace" }));
    await screen.answer(["(Ada␊Lovelace)", "\r"]);
    expect([await screen.result(), screen.lines]).toEqual([
      { inquiryId, type: "answered", answer: "Ada\nLovelace", isRemembered: false },
      ["✔ Name? Ada Lovelace"],
    ]);
  });

  test("accepts several lines, typed or pasted, and wide characters", async () => {
    const screen = open(textQuestion("q", "Message?"));
    await screen.answer(
      ["Message?", "日本x"],
      ["日本x", "\u001b[D\u001b[D語"],
      ["日語本x", "\u0005\u001b\r"],
      ["  日語本x", "\u001b[200~two\rthree\r\u001b[201~end"],
      ["  end", ""],
    );
    const { lines, cursor } = screen;
    screen.type("\r");
    expect([lines, cursor, await screen.result(), screen.lines]).toEqual([
      [
        "? Message?",
        "  日語本x",
        "  two",
        "  three",
        "  end",
        "  Enter submit · Alt-Enter new line",
      ],
      { line: 4, column: 5 },
      { inquiryId, type: "answered", answer: "日語本x\ntwo\nthree\nend", isRemembered: false },
      ["✔ Message? 日語本x two three end"],
    ]);
  });

  test("wraps between words, and keeps all of the question", async () => {
    const screen = open(textQuestion("q", "Tell me all about it?"), { columns: 20 });
    await screen.answer(["about it?", "0123456789日本"], ["本", ""]);
    const { lines } = screen;
    screen.type("\r");
    await screen.end();
    expect([lines, screen.lines]).toEqual([
      [
        "? Tell me all",
        "about it?",
        "  0123456789日本",
        "  Enter submit",
        "  Alt-Enter new",
        "  line",
      ],
      ["✔ Tell me all about", "it? 0123456…"],
    ]);
  });
});

describe("a secret question", () => {
  test("never shows the answer, typed or pasted", async () => {
    verifies("082/secret/no-echo-at-the-prompt", "082/secret/prompter-picks-no-echo-by-type");
    const screen = open(secretQuestion("q", "Password?"));
    await screen.answer(["input is hidden", ""]);
    for (const keys of ["h", "unter2", "\u001b[200~canary\r\u001b[201~", "\u001b[D", "\u001b[C"]) {
      const { length } = screen.bytes;
      screen.type(keys);
      await screen.untilShown(() => screen.bytes.length > length); // It was redrawn.
    }
    screen.type("\r");
    expect([await screen.result(), /unter|canary/.test(screen.bytes), screen.lines]).toEqual([
      { inquiryId, type: "answered", answer: "hunter2canary", isRemembered: false },
      false,
      ["✔ Password? <redacted>"],
    ]);
  });

  test("never shows the input of a cancelled prompt", async () => {
    const screen = open(secretQuestion("q", "Password?"));
    await screen.answer(["input is hidden", "hunter2\u0003"]);
    expect([await screen.result(), screen.bytes.includes("hunter"), screen.lines]).toEqual([
      { inquiryId, type: "cancelled" },
      false,
      ["✖ Password? cancelled"],
    ]);
  });
});

test.each(Object.keys(PINNED))("a %s question neutralizes escape sequences", async (type) => {
  const bad = "\u001b[31m\u001b]0;x\u0007\u202e";
  const { question } = PINNED[type]?.("turn") ?? {};
  if (question === undefined) throw new Error(`Nothing is pinned for ${type}.`);
  const hostile: InquiryQuestion = {
    ...question,
    text: `Really${bad}?`,
    context: `Look${bad}`,
    ...(type === "text" && { default: `Ada${bad}` }),
    ...(type === "select" && {
      default: `a${bad}`,
      answerType: { type, options: [{ value: `a${bad}`, description: `b${bad}` }] },
    }),
  };
  const screen = open(hostile, { label: `Assistant${bad}` });
  const shown = "␛[31m␛]0;x␇<U+202E>";
  await screen.answer([`Really${shown}?`, "\u001b"]);
  const { lines, bytes } = await screen.end();
  expect([lines, /\u001b\[31m|\u001b\]0|\u0007|\u202e/.test(bytes)]).toEqual([
    [`Look${shown}`, `Assistant${shown}`, `✖ Really${shown}? cancelled`],
    false,
  ]);
});
