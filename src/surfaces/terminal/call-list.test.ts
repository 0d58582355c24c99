import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { callList, undecidedList } from "./call-list.ts";
import type { ListedCall } from "./listed-calls.ts";
import { TypedWidget } from "./typed-widget.fixture.ts";
import type { Size } from "./widget.ts";

const NO_MORE = { hasMore: false };
const [UP, DOWN, RIGHT, LEFT, PAGE_DOWN, END, ESCAPE, CTRL_D] = [
  "\u001b[A",
  "\u001b[B",
  "\u001b[C",
  "\u001b[D",
  "\u001b[6~",
  "\u001b[F",
  "\u001b",
  "\u0004",
];

function listed(line: string, more: Partial<ListedCall> = {}): ListedCall {
  return { id: line, line, text: [line], isDecidedAlone: false, isUnclear: false, ...more };
}

const THREE = [listed('edit("a")'), listed('edit("b")'), listed('edit("c")')];

function open(calls: readonly ListedCall[] = THREE, size: Partial<Size> = {}) {
  const list = { calls, escape: "cancel all of them" };
  return new TypedWidget(callList(list, NO_MORE), undecidedList(list), { columns: 80, ...size });
}

function many(count: number): readonly ListedCall[] {
  return Array.from({ length: count }, (_, index) => listed(`run("${index + 1}")`));
}

const KEYS = [
  "  y yes to all · n no to all · Space choose · Enter show in full · Tab say why",
  "  ? more",
];
/** On ten rows. */
const CUT_KEYS = `${KEYS[0]} …`;
const idsOf = (calls: readonly ListedCall[]) => calls.map(({ id }) => id);
const ALL = idsOf(THREE);
const said = (text: string, isMessage: boolean) => ({
  type: "denied",
  ids: ALL,
  said: { type: "said_no", text, isMessage },
});

describe("a list of calls", () => {
  test("has one row per call, and the keys in words", () => {
    expect(open().screen).toEqual([
      '❯ [ ] edit("a")',
      '  [ ] edit("b")',
      '  [ ] edit("c")',
      "? Run these 3 calls? ▮",
      ...KEYS,
    ]);
  });

  test("fits on 40 columns", () => {
    const long = listed(`run("${"npm test && ".repeat(9)}")`);
    expect(open([...THREE, long], { columns: 40 }).screen).toEqual([
      '❯ [ ] edit("a")',
      '  [ ] edit("b")',
      '  [ ] edit("c")',
      '  [!] run("npm test && npm test && npm',
      "      test && npm test && npm test &&",
      "      … 2 more lines",
      "  [!] needs a look first: Enter shows it",
      "  in full.",
      "? Run these 4 calls? ▮",
      "  y yes to 3 · n no to all",
      "  Space choose · Enter show in full",
      "  Tab say why · ? more",
    ]);
  });

  test.each([
    ["y", { type: "approved", ids: ALL }],
    ["n", undefined],
    ["n\r", { type: "denied", ids: ALL }],
    [`${DOWN} y`, { type: "approved", ids: ['edit("b")'] }],
    [`${DOWN} ${DOWN} n\r`, { type: "denied", ids: ['edit("b")', 'edit("c")'] }],
    [`  y`, { type: "approved", ids: ALL }],
    [` ${ESCAPE}`, undefined],
    ["\r", { type: "opened", id: 'edit("a")' }],
    [`${DOWN}${RIGHT}`, { type: "opened", id: 'edit("b")' }],
    [`${END}\r`, { type: "opened", id: 'edit("c")' }],
    [`${UP}\r`, { type: "opened", id: 'edit("a")' }],
    [CTRL_D, { type: "cancelled" }],
    [LEFT, undefined],
  ])("is decided by its keys: %j", (keys, ending) => {
    expect(open().type(keys).wait().ending).toEqual(ending);
  });

  test("asks about the chosen calls, if there are any", () => {
    expect(open().type(`${DOWN} `).screen).toEqual([
      '  [ ] edit("a")',
      '❯ [x] edit("b")',
      '  [ ] edit("c")',
      "? Run the chosen call? ▮",
      "  y yes to 1 · n no to 1 · Space choose · Enter show in full · Tab say why",
      "  ? more",
    ]);
    expect(open().type(` ${DOWN} `).screen).toContain("? Run the 2 chosen calls? ▮");
  });

  test("takes words as a no, never as a yes", () => {
    expect(open().type("yes please\r").ending).toEqual(said("yes please", true));
    expect(open().type("\tuse tabs\r").ending).toEqual(said("use tabs", false));
    expect(open().send("yyyy").wait().ending).toBeUndefined();
    expect(open().type("yes\r").screen).toContain(
      "  To say yes, clear the line and press y alone.",
    );
  });

  test("does not move while words are typed", () => {
    const typed = open().type(`not c${PAGE_DOWN} `);
    expect(typed.screen.slice(0, 4)).toEqual([
      '❯ [ ] edit("a")',
      '  [ ] edit("b")',
      '  [ ] edit("c")',
      "? Run these 3 calls? not c ▮",
    ]);
  });

  test("explains its keys", () => {
    expect(open().type("?").wait().screen.slice(4)).toEqual([
      "  y      yes to all",
      "  n      no to all",
      "  Space  choose calls: then y and n are for those",
      "  Enter  show the call in full, and decide about it alone",
      "  ↑↓     move; also Page Up, Page Down, Home and End",
      "  words  no, and send them as your next message",
      "  Tab    no, with a reason",
      "  Esc    cancel all of them",
      ...KEYS,
    ]);
  });
});

describe("a yes to all", () => {
  const alone = listed("remove()", { isDecidedAlone: true });
  const unclear = listed('run("a\\nrm -rf ~")', { isUnclear: true });
  const long = listed(`run("${"x".repeat(300)}; rm -rf ~")`);

  test("leaves out calls that are not shown in full, or have to be decided alone", () => {
    counters("T-DECIDE-5");
    const list = open([...THREE, alone, unclear, long]);
    expect(list.screen.slice(3, -4)).toEqual([
      "  [!] remove()",
      '  [!] run("a\\nrm -rf ~")',
      `  [!] run("${"x".repeat(68)}`,
      `      ↳${"x".repeat(72)}`,
      "      … 3 more lines",
    ]);
    expect(list.screen.slice(-4, -1)).toEqual([
      "  [!] needs a look first: Enter shows it in full.",
      "? Run these 6 calls? ▮",
      "  y yes to 3 · n no to all · Space choose · Enter show in full · Tab say why",
    ]);
    expect(list.type("y").wait().ending).toEqual({ type: "approved", ids: ALL });
  });

  test("leaves them out if they are chosen, too", () => {
    const list = open([...THREE, alone]).type(` ${END} `);
    expect(list.type("y").wait().ending).toEqual({ type: "approved", ids: ['edit("a")'] });
  });

  test("shows the first one if none is left: no key approves it unseen", () => {
    const list = open([alone, unclear, long]);
    expect(list.screen.at(-2)).toContain("y look at the first · n no to all");
    expect(list.type("y").wait().ending).toEqual({ type: "opened", id: "remove()" });
  });

  test("waits until each of them was on the screen", () => {
    counters("T-DECIDE-5");
    const calls = many(40);
    const list = open(calls, { rows: 10 });
    expect(list.type("y").wait().screen.slice(-4)).toEqual([
      "  Call 1 of 40 · ↑↓ and Page Down move",
      "? Run these 40 calls? ▮",
      "  33 calls have not been on the screen yet: ↓ or Page Down shows more.",
      CUT_KEYS,
    ]);
    expect(list.type(END).type("y").wait().ending).toBeUndefined();
    list.type("\u001b[H").type(PAGE_DOWN.repeat(9));
    expect(list.screen.slice(-2)).toEqual(["? Run these 40 calls? ▮", CUT_KEYS]);
    expect(list.type("y").wait().ending).toEqual({ type: "approved", ids: idsOf(calls) });
  });

  test("need not wait to be a no", () => {
    const calls = many(200);
    const ending = open(calls, { rows: 10 }).type("n\r").ending;
    expect(ending).toEqual({ type: "denied", ids: idsOf(calls) });
  });

  test("never happens where the screen is too small to show a call", () => {
    const calls = [listed(`run("${"x".repeat(30)}")`), ...THREE];
    const list = open(calls, { rows: 3, columns: 20 });
    expect(list.type("y").wait().ending).toBeUndefined();
    expect(list.screen.at(-1)).toContain("y yes");
  });
});

test("a list that is shown again without one of its calls keeps what was chosen and seen", () => {
  const before = open().type(`${DOWN} ${DOWN} `).state;
  const [first, , third] = THREE;
  const list = { calls: [first, third].flatMap((call) => call ?? []), escape: "cancel" };
  const again = new TypedWidget(callList(list, NO_MORE), before, { columns: 80 });
  expect(again.screen.slice(0, 3)).toEqual([
    '  [ ] edit("a")',
    '❯ [x] edit("c")',
    "? Run the chosen call? ▮",
  ]);
});
