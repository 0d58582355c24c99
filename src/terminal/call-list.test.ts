import { describe, expect, test } from "vitest";
import { callList, undecidedList } from "./call-list.ts";
import type { ListedCall } from "./dialogue.ts";
import { TypedWidget } from "./typed-widget.fixture.ts";
import type { Size } from "./widget.ts";

const NO_MORE = { hasMore: false };
const [UP, DOWN, RIGHT, PAGE_DOWN, END, ESCAPE, CTRL_D] = [
  "\u001b[A",
  "\u001b[B",
  "\u001b[C",
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

function screenOf(calls: readonly ListedCall[], size: Partial<Size>) {
  return open(calls, size).screen;
}

describe("a list of calls", () => {
  test("has one row per call, and the keys in words", () => {
    expect(open().screen).toMatchInlineSnapshot();
    expect(screenOf(THREE, { columns: 40 })).toMatchInlineSnapshot();
  });
  test("x", () => {
    const long = [
      listed(`run("${"x".repeat(300)}")`),
      listed("rm()", { isDecidedAlone: true }),
      ...many(30),
    ];
    expect(screenOf(long, { rows: 12 })).toMatchInlineSnapshot();
    expect(screenOf(long, { rows: 20, columns: 40 })).toMatchInlineSnapshot();
    expect(open(long, { rows: 20 }).type("?").screen).toMatchInlineSnapshot();
    expect(open(THREE, { rows: 20 }).type(" ").screen).toMatchInlineSnapshot();
    expect(open(THREE, { rows: 20 }).type("use tabs").screen).toMatchInlineSnapshot();
    expect(open(many(40), { rows: 10 }).type("y\r").screen).toMatchInlineSnapshot();
  });
});
