/** Keys in any order, split anywhere, on every widget and on the prompter. */
/* oxlint-disable vitest/no-standalone-expect -- `fuzz` makes a test of each property. */
import { StringDecoder } from "node:string_decoder";
import { expect, test } from "vitest";
import type { InquiryId } from "../../src/record/conversation/index.ts";
import type { SelectList } from "../../src/surfaces/terminal/listed-options.ts";
import { decisionLine, undecided } from "../../src/surfaces/terminal/decision-line.ts";
import { decodeInput, decodeLoneEscape } from "../../src/surfaces/terminal/key.ts";
import { pager, pagerStart } from "../../src/surfaces/terminal/pager.ts";
import type { SideActions } from "../../src/surfaces/terminal/question-rows.ts";
import { selectList } from "../../src/surfaces/terminal/select-list.ts";
import { ShownWidget } from "../../src/surfaces/terminal/show-widget.ts";
import { bufferOf } from "../../src/surfaces/terminal/text-buffer.ts";
import { secretEntry, textEntry } from "../../src/surfaces/terminal/text-entry.ts";
import type { Widget } from "../../src/surfaces/terminal/widget.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { explainMisfit, type Question } from "../../src/record/tool/index.ts";
import { oneLine } from "../../src/util/index.ts";
import { PromptProcess } from "../support/prompt-screen.ts";
import { FakeTerminal } from "./fake-terminal.ts";
import { fuzz } from "./fuzz.ts";
import { explainGrowth } from "./growth.ts";
import { hostilePiece, hostileText, inPieces } from "./hostile-text.ts";
import * as fc from "fast-check";
import stringWidth from "fast-string-width";

const SEQUENCES = [
  "\u001b[A",
  "\u001b[B",
  "\u001b[C",
  "\u001b[D",
  "\u001b[1;5C",
  "\u001b[1;3D",
  "\u001bOH",
  "\u001b[3~",
  "\u001b[5~",
  "\u001b[6~",
  "\u001b[13;2u",
  "\u001b[27;5;13~",
  "\u001b[12;40R",
  "\u001b\r",
  "\u001bb",
  "\u001b\u007f",
  "\u001b[999999999999999999999~",
  "\u001b[;;;;;m",
  "\u001b[<0;1;1M",
  "\u001b]11;rgb:00/00/00\u0007",
];

const anyInput = fc
  .array(
    fc.oneof(
      fc.constantFrom(...SEQUENCES),
      fc.integer({ min: 1, max: 26 }).map((code) => String.fromCharCode(code)),
      fc.constantFrom("y", "n", "Y", "N", "a", " ", "?", "v", "q", "1", "日", "é", "👩🏽\u200d💻"),
      hostileText.map((text) => `\u001b[200~${text}\u001b[201~`),
      hostilePiece,
    ),
    { maxLength: 25 },
  )
  .map((parts) => parts.join(""));

fuzz(
  "keys are decoded the same however the input is split, without pauses in between",
  600,
  fc.property(inPieces(anyInput).map(asDecoded), (pieces) => {
    const whole = decodeInput(pieces.join(""));
    let rest = "";
    const sent = pieces.flatMap((piece) => {
      const decoded = decodeInput(rest + piece);
      rest = decoded.rest;
      return decoded.sent;
    });
    expect({ sent, rest }).toEqual(whole);
    expect(decodeLoneEscape(rest).length).toBeLessThanOrEqual(1);
  }),
);

/** As a stream delivers text: it never splits a character. */
function asDecoded(pieces: readonly string[]): readonly string[] {
  const decoder = new StringDecoder("utf8");
  const bytes = Buffer.from(pieces.join(""));
  let start = 0;
  const decoded = pieces.map(({ length }) =>
    decoder.write(bytes.subarray(start, (start += length))),
  );
  return [...decoded, decoder.write(bytes.subarray(start)) + decoder.end()];
}

const anyAsides: fc.Arbitrary<SideActions> = fc.record({
  hasMore: fc.boolean(),
  note: fc.option(hostileText, { nil: undefined }),
});

const anyList: fc.Arbitrary<SelectList> = fc.record({
  message: hostileText.map(oneLine),
  options: fc.array(
    fc.record(
      {
        label: hostileText.map(oneLine),
        description: hostileText.map(oneLine),
        preview: hostileText,
      },
      { requiredKeys: ["label"] },
    ),
    { minLength: 1, maxLength: 14 },
  ),
  allowsOther: fc.boolean(),
  isMultiple: fc.boolean(),
});

/** A widget, its initial state, and whether it may end with a given value. */
interface Case {
  readonly widget: Widget<unknown, { readonly type: string }>;
  readonly state: unknown;
  readonly mayEnd: (ending: object) => boolean;
}

/** Hides the type of the state. */
function caseOf<State, Ending extends { readonly type: string }>(
  widget: Widget<State, Ending>,
  state: State,
  mayEnd: (ending: Ending) => boolean,
): Case {
  return { widget, state, mayEnd } as unknown as Case;
}

const anyCase: fc.Arbitrary<Case> = fc.oneof(
  fc
    .tuple(hostileText.map(oneLine), anyAsides, fc.constantFrom("y", "n", undefined))
    .map(([message, asides, suggested]) => {
      const choices = [
        { key: "y", label: "yes" },
        { key: "n", label: "no" },
        { key: "1", label: "one" },
      ] as const;
      const menu = { message, choices, default: suggested, noKey: "n", escape: "cancel" } as const;
      return caseOf(decisionLine(menu, asides), undecided, (ending) => {
        if (ending.type === "said_no") return ending.text.trim() !== "";
        return ending.type !== "chosen" || choices.some(({ key }) => key === ending.choice);
      });
    }),
  fc.tuple(anyList, anyAsides).map(([list, asides]) =>
    caseOf(selectList(list, asides), { filter: "", active: 0, marked: [] }, (ending) => {
      if (ending.type === "other") return list.allowsOther === true;
      if (ending.type !== "chosen") return true;
      const { indexes } = ending;
      const areThere = indexes.every((index) => list.options[index] !== undefined);
      const areOnce = new Set(indexes).size === indexes.length;
      return areThere && areOnce && (list.isMultiple === true || indexes.length === 1);
    }),
  ),
  fc
    .tuple(hostileText.map(oneLine), hostileText, anyAsides, fc.boolean())
    .map(([message, text, asides, hasEditor]) =>
      caseOf(
        textEntry({ message, default: oneLine(text), problem: oneLine(text), hasEditor }, asides),
        bufferOf(text),
        (ending) => ending.type !== "editor" || hasEditor,
      ),
    ),
  fc
    .tuple(hostileText.map(oneLine), anyAsides)
    .map(([message, asides]) => caseOf(secretEntry({ message }, asides), bufferOf(""), () => true)),
  fc
    .tuple(fc.array(hostileText.map(oneLine), { maxLength: 30 }), fc.boolean())
    .map(([lines, mustRead]) =>
      caseOf(
        pager({ linesFor: () => lines, mustRead }),
        pagerStart,
        (ending) => ending.type === "cancelled" || ending.isRead || !mustRead,
      ),
    ),
);

const anySize = fc.record({
  columns: fc.integer({ min: 1, max: 100 }),
  rows: fc.integer({ min: 1, max: 30 }),
});

/** Everything except our own colours and the sequences that draw a region. */
const OURS =
  /\u001b\[[0-9;]*m|\u001b\[\d+[AG]|\u001b\[[CJHK]|\u001b\[6n|\u001b\[\?(?:1049|25)[hl]|\u001b\[2J|\r\n|\r/g;
const UNSAFE = /[\0-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/;

fuzz(
  "no keys, sizes or torn sequences break a widget, and each key redraws at most one screen",
  120,
  fc.asyncProperty(
    anyCase,
    inPieces(anyInput),
    fc.array(anySize, { minLength: 1, maxLength: 4 }),
    fc.boolean(),
    async ({ widget, state, mayEnd }, pieces, sizes, isFullScreen) => {
      const terminal = new FakeTerminal(sizes[0] ?? { columns: 80, rows: 24 });
      const { signal } = new AbortController();
      const clock = new FakeClock();
      const shown = new ShownWidget(widget, state, { terminal, signal, clock, isFullScreen });
      let rest = "";
      for (const [index, piece] of pieces.entries()) {
        const size = sizes[index % sizes.length];
        if (index % 5 === 4 && size !== undefined) terminal.resize(size);
        const decoded = decodeInput(rest + piece);
        rest = decoded.rest;
        const before = terminal.written.length;
        terminal.send(decoded.sent);
        const { columns, rows } = terminal.size;
        // Each cell may have a separate colour and several combining marks.
        expect(terminal.written.length - before).toBeLessThan(2000 + columns * rows * 100);
      }
      terminal.hangUp();
      const ending = await shown.ended;
      if (ending.type !== "cancelled" && ending.type !== "aborted")
        expect(mayEnd(ending)).toBe(true);
      expect(terminal.written.replaceAll(OURS, "")).not.toMatch(UNSAFE);
      expect(terminal.isListening).toBe(false);
    },
  ),
);

fuzz(
  "all rows fit on the screen, and the cursor is on it",
  250,
  fc.property(anyCase, anyInput, anySize, ({ widget, state: first, mayEnd }, input, size) => {
    let state = first;
    const canvas = { ...size, paint: (_style: string, text: string) => text };
    for (const key of decodeInput(input).sent) {
      if (key.type !== "text" && key.type !== "paste" && key.type !== "named") continue;
      const step = widget.update(state, key, size);
      if ("ending" in step) {
        expect(mayEnd(step.ending)).toBe(true);
        return;
      }
      state = step.state;
      const { rows, cursor } = widget.view(state, canvas);
      // Nothing fits on a screen that is narrower than a marker and its margin.
      if (size.columns < 12) continue;
      const tooWide = rows.filter((row) => stringWidth(row) > size.columns);
      expect(tooWide.filter((row) => !hasWideCluster(row))).toEqual([]);
      expect(cursor.column).toBeLessThanOrEqual(size.columns);
      expect(cursor.row).toBeLessThan(rows.length);
    }
  }),
);

/** A grapheme cluster is never split, however wide it is. */
function hasWideCluster(row: string): boolean {
  return [...new Intl.Segmenter().segment(row)].some(({ segment }) => stringWidth(segment) > 2);
}

const QUESTIONS: readonly Omit<Question, "id" | "exclusive" | "persistence">[] = [
  { text: "Sure?", answerType: { type: "boolean" }, default: true, allowsNote: true },
  { text: "Name?", answerType: { type: "text" }, context: "line\n".repeat(60) },
  { text: "Key?", answerType: { type: "secret" } },
  {
    text: "Which?",
    answerType: {
      type: "select",
      options: [{ value: "a", description: "A" }, { value: 2 }, { value: "c", preview: "x\ny" }],
      allowsOther: true,
      isMultiple: true,
    },
  },
  { text: "One?", answerType: { type: "select", options: [{ value: "a" }, { value: "b" }] } },
];

fuzz(
  "on a terminal, answers are valid and the terminal is restored",
  4,
  fc.asyncProperty(
    fc.constantFrom(...QUESTIONS),
    inPieces(anyInput.filter((input) => !/[\u0003\u001a\u001c]/.test(input))),
    fc.array(
      anySize.filter(({ columns, rows }) => columns > 20 && rows > 5),
      { maxLength: 2 },
    ),
    async (question, pieces, sizes) => {
      const asked = { exclusive: false, persistence: "turn", ...question } as const;
      const screen = new PromptProcess(
        {
          method: "ask",
          request: { inquiryId: "call_1.a.1" as InquiryId, question: asked },
        },
        { shell: 'before=$(stty -g); "$@"; [ "$before" = "$(stty -g)" ] && echo "as it was"' },
      );
      await screen.until("?");
      for (const piece of pieces) screen.type(piece);
      for (const { columns, rows } of sizes) screen.resize(columns, rows);
      // Leave whatever is open.
      const nudge = setInterval(() => screen.type("\u001b"), 100);
      const { bytes } = await screen.end().finally(() => clearInterval(nudge));
      const result = screen.resultSoFar as { type: string; answer?: never };
      if (result.type === "answered") {
        expect(explainMisfit(asked.answerType, result.answer ?? null)).toBeUndefined();
      } else expect(result).toEqual({ inquiryId: "call_1.a.1", type: "cancelled" });
      expect(bytes).toContain("as it was");
      expect(bytes.lastIndexOf("\u001b[?2004l")).toBeGreaterThan(
        bytes.lastIndexOf("\u001b[?2004h"),
      );
    },
  ),
);

test.each<[string, (count: number) => string]>([
  ["pasted without brackets", (count) => "word \r".repeat(count / 6)],
  ["pasted", (count) => `\u001b[200~${"日本 ".repeat(count / 3)}\u001b[201~`],
  ["sent as sequences", (count) => "\u001b[D\u001b[1;5C".repeat(count / 9)],
  ["torn", (count) => `\u001b[${"1;".repeat(count / 2)}`],
])("what is %s takes no longer than it is long", async (_how, make) => {
  const type = async (count: number) => {
    const terminal = new FakeTerminal({ columns: 80, rows: 24 });
    const widget = textEntry({ message: "?", hasEditor: false }, { hasMore: false });
    const { signal } = new AbortController();
    const shown = new ShownWidget(widget, bufferOf(""), {
      terminal,
      signal,
      clock: new FakeClock(),
    });
    const input = make(count);
    let rest = "";
    // As much as a terminal delivers at once.
    for (let start = 0; start < input.length; start += 1024) {
      const decoded = decodeInput(rest + input.slice(start, start + 1024));
      rest = decoded.rest;
      terminal.send(decoded.sent);
    }
    terminal.hangUp();
    await shown.ended;
  };
  expect(await explainGrowth(12_000, type)).toBeUndefined();
});
