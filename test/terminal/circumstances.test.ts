import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { PromptResult } from "../../src/core/agent/index.ts";
import type { InquiryId } from "../../src/record/conversation/index.ts";
import { HOLD_MS } from "../../src/surfaces/terminal/dialogue.ts";
import { TerminalPrompter } from "../../src/surfaces/terminal/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import {
  booleanQuestion,
  type InquiryQuestion,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { PromptProcess, PromptScreen } from "../support/prompt-screen.ts";
import type { PrompterTask } from "../support/prompter-task.ts";
import { VirtualTerminal, type VirtualTerminalOptions } from "../support/virtual-terminal.ts";
import { counters } from "../security/threats.ts";

const inquiryId = "call_1.q.1" as InquiryId; // In the format of the agent.
const QUESTIONS = {
  boolean: booleanQuestion("q", "What then?"),
  select: selectQuestion("q", "What then?", { options: ["a", "b"] }),
  text: textQuestion("q", "What then?"),
  secret: secretQuestion("q", "What then?"),
};
const TYPES = Object.keys(QUESTIONS) as (keyof typeof QUESTIONS)[]; // Exactly these keys.
const CANCELLED = { inquiryId, type: "cancelled" };
const INTERRUPTED = { inquiryId, type: "interrupted" };

type More = Partial<
  Pick<PrompterTask, "notification" | "printFirst" | "edited" | "countsDescriptors">
>;

function open(question: InquiryQuestion, options: VirtualTerminalOptions = {}, more: More = {}) {
  return new PromptScreen({ method: "ask", request: { inquiryId, question }, ...more }, options);
}

function openInShell(shell: string, question: InquiryQuestion, more: More = {}) {
  const task = { method: "ask", request: { inquiryId, question }, ...more } as const;
  return new PromptProcess(task, { shell });
}

/** A terminal with an editor that stays open until the test closes it. */
class HeldEditor extends VirtualTerminal {
  readonly #opened = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<undefined>();
  readonly isEditing = this.#opened.promise;
  readonly clock = new FakeClock();
  readonly #prompter: TerminalPrompter;

  constructor() {
    super({ variables: { NO_COLOR: "1" } });
    const editText = () => {
      this.#opened.resolve();
      return this.#closed.promise;
    };
    this.#prompter = new TerminalPrompter({ device: this.device, clock: this.clock, editText });
  }

  ask(question: InquiryQuestion, { signal } = new AbortController()): Promise<PromptResult> {
    return this.#prompter.ask({ inquiryId, question, signal });
  }

  closeEditor(): void {
    this.#closed.resolve(undefined);
  }
}

/** Over a slow connection: what the terminal itself sends arrives when the test says so. */
class SlowScreen extends PromptScreen {
  readonly #held: string[] = [];

  override type(keys: string): void {
    if (keys.startsWith("\u001b[")) this.#held.push(keys);
    else super.type(keys);
  }

  deliver(): void {
    for (const report of this.#held.splice(0)) super.type(report);
  }
}

/** Skips the rest of a long text. */
const SKIP = [
  ["more lines ·", "\u001b[F"],
  ["go to the question", " "],
] as const;

describe("a question", () => {
  test.each(
    TYPES.flatMap((type) =>
      [
        { name: "Escape", key: "\u001b" },
        { name: "Ctrl-C", key: "\u0003" },
        { name: "Ctrl-D", key: "\u0004" },
      ].map((one) => ({ type, ...one })),
    ),
  )("is cancelled by every key that cancels: $type, $name", async ({ type, key }) => {
    verifies("082/prompt/cancellation-carries-the-id");
    const screen = open(QUESTIONS[type]);
    await screen.answer(["What then?", key]);
    expect([await screen.result(), screen.lines]).toEqual([CANCELLED, ["✖ What then? cancelled"]]);
  });

  test.each(TYPES)("is closed and erased when the signal aborts: type %s", async (type) => {
    const screen = open({ ...QUESTIONS[type], context: "Look." });
    // Typing a secret shows nothing, so there would be nothing to wait for.
    const key = { boolean: "?", select: "x", text: "x", secret: "" }[type];
    const changed = { boolean: "Esc    cancel", select: '"x"', text: "then? x", secret: "then?" }[
      type
    ];
    await screen.answer(["What then?", key], [changed, ""]);
    screen.abort();
    const unsent = type === "text" ? ["Not sent: x"] : [];
    expect([await screen.result(), screen.lines]).toEqual([INTERRUPTED, ["Look.", ...unsent]]);
  });

  test("leaves no report of the terminal to the shell if it is withdrawn while it opens", async () => {
    const screen = new SlowScreen({
      method: "ask",
      request: { inquiryId, question: QUESTIONS.text },
    });
    await screen.until("\u001b[6n");
    screen.abort();
    await setImmediate();
    screen.deliver(); // Echoed if jp does not take it.
    expect([await screen.result(), screen.bytes]).toEqual([
      INTERRUPTED,
      expect.not.stringMatching(/\[\d+;\d+R/),
    ]);
  });

  test.each(TYPES)("is interrupted when the terminal closes: type %s", async (type) => {
    counters("T-PROV-8");
    const screen = open(QUESTIONS[type]);
    await screen.answer(["What then?", ""]);
    screen.hangUp();
    expect(await screen.result()).toEqual(INTERRUPTED);
  });

  test("is asked on the terminal when the standard streams are redirected", async () => {
    const shell = 'echo no | "$@" 2>errors | cat >output';
    const screen = openInShell(shell, QUESTIONS.boolean, { printFirst: "words\n" });
    await screen.answer(["What then?", "y"]);
    const result = await screen.result();
    const read = (name: string) => readFileSync(path.join(screen.folder, name), "utf8");
    expect([result, screen.lines, read("output"), read("errors")]).toEqual([
      { inquiryId, type: "answered", answer: true, isRemembered: false },
      ["✔ What then? yes"],
      "words\n",
      "",
    ]);
  });

  test("ignores keys typed before it was asked", async () => {
    counters("T-PROV-7", "T-DECIDE-5");
    // Nothing reads the key until the question is shown.
    const shell = 'echo started; "$@"';
    const screen = openInShell(shell, QUESTIONS.boolean);
    await screen.answer(["started", "y"], ["? What then?", "n\r"]);
    expect(await screen.result()).toEqual({
      inquiryId,
      type: "answered",
      answer: false,
      isRemembered: false,
    });
  });

  test("waits for the editor of a question that was withdrawn", async () => {
    const screen = new HeldEditor();
    const withdrawn = new AbortController();
    const first = screen.ask(QUESTIONS.text, withdrawn);
    await screen.answer(["? What then?", "\u0018"]);
    await screen.isEditing;
    withdrawn.abort();
    const second = screen.ask({ ...QUESTIONS.text, text: "And then?" });
    await setImmediate();
    const { isRaw } = screen;
    screen.closeEditor();
    await screen.answer(["This question was withdrawn.", "\r"], ["? And then?", ""]);
    screen.clock.advance(HOLD_MS);
    screen.type("x\r");
    expect([isRaw, await first, await second]).toMatchObject([
      false,
      { type: "interrupted" },
      { answer: "x" },
    ]);
  });

  test("restores the terminal settings", async () => {
    const shell = 'stty -a >before; "$@"; stty -a >after';
    const screen = openInShell(shell, QUESTIONS.text);
    await screen.answer(["What then?", "x\r"]);
    await screen.end();
    const read = (name: string) => readFileSync(path.join(screen.folder, name), "utf8");
    expect([read("after"), screen.bytes.lastIndexOf("\u001b[?2004")]).toEqual([
      read("before"),
      screen.bytes.lastIndexOf("\u001b[?2004l"),
    ]);
  });

  test("fails without a terminal", async () => {
    const shell = 'setsid -w "$@" </dev/null; echo done';
    const screen = openInShell(shell, QUESTIONS.text);
    await screen.until("done");
    expect(screen.resultSoFar).toEqual({
      code: "no_terminal",
      message: "No terminal is available to ask on.",
    });
  });
});

describe("resizing the window", () => {
  const text = "A question that takes most of a line of eighty columns, does it not?";
  const KEYS =
    "  y yes · a yes to this question for the rest of the turn · n no · Tab say why · ? more";

  test.each([
    [
      60,
      [
        "? A question that takes most of a line of eighty columns,",
        "does it not?",
        "  y yes · a yes to this question for the rest of the turn",
        "  n no · Tab say why · ? more",
      ],
      3,
    ],
    [120, [`? ${text}`, KEYS], 2],
    [90, [`? ${text}`, KEYS], 2],
  ])("shows the question once, in the new layout: %i columns", async (columns, lines, count) => {
    const screen = open(booleanQuestion("q", text, { context: "Above." }), { columns: 100 });
    await screen.answer(["? more", ""]);
    screen.resize(columns, 24);
    await screen.untilShown((shown) => shown.join("\n") === ["Above.", ...lines].join("\n"));
    screen.type("y\r");
    await screen.end();
    expect([screen.lines[0], screen.lines.length]).toEqual(["Above.", count]);
  });

  test("several times shows the question once, with the text typed so far", async () => {
    const typed = "ab".repeat(40);
    const screen = open(textQuestion("q", "Name?", { context: "Above." }), { columns: 100 });
    await screen.answer(["Name?", `${typed}\nsecond`], ["second", ""]);
    const rowsOf = (columns: number) => {
      const width = columns - 3;
      const rows = Array.from({ length: Math.ceil(80 / width) }, (_, index) =>
        typed.slice(index * width, (index + 1) * width),
      );
      const below = [...rows, "second", "Enter submit · Alt-Enter new line"];
      return ["Above.", "? Name?", ...below.map((row) => `  ${row}`)];
    };
    for (const columns of [70, 36, 60, 45, 100]) {
      screen.resize(columns, 24);
      await screen.untilShown((lines) => lines.join("\n") === rowsOf(columns).join("\n"));
    }
    screen.type("\r");
    await screen.end();
    expect(screen.lines).toEqual(["Above.", `✔ Name? ${typed} second`]);
  });

  test.skipIf(!existsSync("/proc/self/fd"))(
    "leaves no descriptor of the terminal open",
    async () => {
      const screen = openInShell('"$@"', booleanQuestion("q", text), { countsDescriptors: true });
      await screen.answer(["? more", ""]);
      for (const [columns, last] of [
        [60, "  n no · Tab say why · ? more"],
        [120, KEYS],
        [60, "  n no · Tab say why · ? more"],
      ] as const) {
        screen.resize(columns, 24);
        await screen.untilShown((lines) => lines.at(-1) === last);
      }
      screen.type("y\r");
      expect(await screen.result()).toBe(0);
    },
  );

  test.each([
    ["select", 40, "  Enter select · Tab add note"],
    ["select", 20, "  Tab add note"],
    ["text", 30, "  Tab add note"],
  ] as const)(
    "shows a %s question once if its hints need more rows at %i columns",
    async (type, columns, last) => {
      const question = { ...QUESTIONS[type], context: "Above.", allowsNote: true };
      const screen = open(question, { columns: 60 }, { edited: "" });
      await screen.answer(["Tab add note", ""]);
      screen.resize(columns, 24);
      await screen.untilShown((lines) => lines.at(-1) === last);
      const asked = screen.lines.filter((line) => line.startsWith("? What then?"));
      screen.type("\r");
      await screen.end();
      expect([asked.length, screen.lines.length]).toEqual([1, 2]);
    },
  );

  test("keeps the way back to the question in the full view", async () => {
    const context = Array.from({ length: 50 }, (_, index) => `line ${index + 1}`).join("\n");
    const screen = open(textQuestion("q", text, { context }), { columns: 100, rows: 10 });
    await screen.answer(...SKIP, ["Ctrl-O show all", "\u000f"], ["1-9 of 52", ""]);
    screen.resize(50, 8);
    await screen.answer(["1-7 of 53", "q"], ["does it not?", "yes\r"]);
    await screen.end();
    const from = screen.lines.findIndex((line) => line.startsWith("✔"));
    expect(screen.lines.slice(from)).toEqual([
      "✔ A question that takes most of a line of eighty",
      "columns, does it not? yes",
    ]);
  });
});

describe("a long context", () => {
  const context = Array.from({ length: 50 }, (_, index) => `line ${index + 1}`).join("\n");

  test.each([
    ["select", "\u000f"],
    ["text", "\u000f"],
    ["secret", "\u000f"],
  ] as const)("above a %s question is shown in full by %j", async (type, key) => {
    const screen = open({ ...QUESTIONS[type], context }, { rows: 12 });
    await screen.answer(...SKIP, ["show all", key], ["1-11 of 52", "\u001b[6~"]);
    await screen.answer(["12-22 of 52", "\u001b[F"], ["42-52 of 52", ""]);
    const { lines } = screen;
    screen.type("\u001b");
    await screen.answer(["? What then?\n", "\u0003"]); // The key that was pressed is not on it.
    await screen.end();
    const first = screen.lines.slice(0, 2);
    expect([lines[0], lines.at(-1), first, screen.lines.at(-1)]).toEqual([
      "line 42",
      "42-52 of 52 · ↑↓ PageUp PageDown Home End · q back",
      ["line 1", "line 2"],
      "✖ What then? cancelled",
    ]);
  });

  const KEYS = "  y yes · a yes to all · n no · Tab say why · ? more";

  test("leaves room for the question, and says how much is hidden", async () => {
    const screen = open({ ...QUESTIONS.boolean, context }, { rows: 10 });
    await screen.answer(["more lines ·", ""]);
    const before = screen.lines;
    const all = context.split("\n");
    await screen.answer(["more lines ·", "\u001b[F"], ["of 50", ""]);
    const { lines } = screen;
    screen.type("y");
    await screen.end();
    expect([before, lines, screen.lines]).toEqual([
      [
        ...all.slice(0, 7),
        "… 43 more lines · End shows the rest · Space next page",
        "? What then?",
        KEYS,
      ],
      [...all.slice(43), "44-50 of 50 · PgUp PgDn scroll", "? What then?", KEYS],
      [...all.slice(0, 6), "… 44 more lines", "✔ What then? yes"],
    ]);
  });

  test("need not be read to say no in words, which stay while it is scrolled", async () => {
    const screen = open({ ...QUESTIONS.boolean, context }, { rows: 10 });
    await screen.answer(["more lines ·", "use sed"], ["then? use sed", "\u001b[6~"]);
    await screen.answer(["then? use sed", "\r"]);
    expect(await screen.result()).toMatchObject({ answer: false, note: "use sed" });
  });

  test("keeps the typed text while it is shown in full", async () => {
    const screen = open({ ...QUESTIONS.text, context }, { rows: 10 });
    await screen.answer(...SKIP, ["show all", "abc"], ["? What then? abc", "\u000f"]);
    await screen.answer(["1-9 of 52", "q"], ["? What then? abc", "\r"]);
    expect(await screen.result()).toMatchObject({ answer: "abc" });
  });
});

test("a redraw never erases the whole screen, which tmux would add to its scrollback", async () => {
  const screen = open(QUESTIONS.select);
  await screen.answer(["What then?", "\u001b[B"], ["What then?", "\r"]);
  const { bytes } = await screen.end();
  const erased = bytes.split("\u001b[J").slice(0, -1);
  expect(erased.filter((before) => !before.endsWith("\u001b[C"))).toEqual([]);
  expect(erased.length).toBeGreaterThan(1);
});

describe("colors", () => {
  const context = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new";

  test("highlight a diff", async () => {
    const screen = open({ ...QUESTIONS.boolean, context }, { variables: { TERM: "xterm" } });
    await screen.answer(["What then?", "y"]);
    const { bytes } = await screen.end();
    expect(
      ["\u001b[31m-old\u001b[39m", "\u001b[32m+new\u001b[39m"].map((line) => bytes.includes(line)),
    ).toEqual([true, true]);
  });

  test("are left out with NO_COLOR", async () => {
    const variables = { TERM: "xterm", NO_COLOR: "1" };
    const screen = open({ ...QUESTIONS.select, context }, { variables });
    await screen.answer(["What then?", "\r"]);
    const { bytes } = await screen.end();
    expect(/\u001b\[[0-9;]*m/.test(bytes)).toBe(false);
  });
});

test.each([
  [
    { bell: true, desktop: false },
    { bell: true, desktop: false },
  ],
  [
    { bell: false, desktop: true },
    { bell: false, desktop: true },
  ],
  [
    { bell: false, desktop: false },
    { bell: false, desktop: false },
  ],
])("a question notifies as configured: %j", async (notification, notified) => {
  const question = textQuestion("q", "What\u001b]9;x\u0007 then?");
  const screen = open(question, {}, { notification });
  await screen.answer(["then?", "\u0003"]);
  const { bytes } = await screen.end();
  const message = "\u001b]9;jp: What␛]9;x␇ then?\u0007";
  const rest = bytes.replace(message, "");
  expect({ bell: rest.includes("\u0007"), desktop: bytes.includes(message) }).toEqual(notified);
});
