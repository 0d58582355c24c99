import { describe, expect, test } from "vitest";
import type { ListedCall } from "./listed-calls.ts";
import { numberCalls, plainCalls } from "./plain-calls.ts";

function listed(id: string, more: Partial<ListedCall> = {}): ListedCall {
  const text = [`${id}()`, 'Source: local command "x"'];
  return { id, line: `${id}()`, text, isDecidedAlone: false, isUnclear: false, ...more };
}

const CALLS = [listed("a"), listed("b"), listed("remove", { isDecidedAlone: true })];

function open(calls: readonly ListedCall[] = CALLS, sendsWords = true) {
  return plainCalls({ calls, escape: "cancel all of them", sendsWords });
}

const HINT =
  "Type all, none, or the numbers of the calls to run, such as 1,2, and press Enter, or say what to do instead.";
const approved = (...ids: readonly string[]) => ({
  type: "end",
  ending: { type: "approved", ids },
});
const denied = (...ids: readonly string[]) => ({ type: "end", ending: { type: "denied", ids } });
const opened = (id: string) => ({ type: "end", ending: { type: "opened", id } });
const again = (line: string) => ({ type: "again", lines: [line] });

describe("several calls in plain mode", () => {
  test("are numbered and printed in full", () => {
    const { lines, hint } = open();
    expect([lines, hint]).toEqual([
      [
        "3 calls wait for your permission:",
        "1. a()",
        '   Source: local command "x"',
        "2. b()",
        '   Source: local command "x"',
        "3. remove()",
        '   Source: local command "x"',
        "   Only decided alone: all does not include it.",
        "Run these 3 calls?",
      ],
      HINT,
    ]);
  });

  test.each([
    ["all", approved("a", "b")],
    ["y", approved("a", "b")],
    ["Yes", approved("a", "b")],
    ["none", denied("a", "b", "remove")],
    ["n", denied("a", "b", "remove")],
    ["1", approved("a")],
    ["2, 1", approved("b", "a")],
    ["1 3", approved("a")],
    ["3", opened("remove")],
    ["no 2,3", denied("b", "remove")],
    ["show 2", opened("b")],
    ["show 1,2", again("Type one number after show.")],
    ["4", again("There is no call 4.")],
    ["0", again("There is no call 0.")],
    ["", again(HINT)],
    ["x", again(HINT)],
    ["/why", again("Type the reason after /why, on the same line.")],
  ])("are decided by a line: %j", (line, result) => {
    expect(open().readLine(line)).toEqual(result);
  });

  test.each([
    ["all but the last", "all but the last", true],
    ["no 2 is wrong", "no 2 is wrong", true],
    ["/why too early", "too early", false],
  ])("are turned down by words, which are never a yes: %j", (line, text, isMessage) => {
    const said = { type: "said_no", text, isMessage };
    expect(open().readLine(line)).toEqual({
      type: "end",
      ending: { type: "denied", ids: ["a", "b", "remove"], said },
    });
  });

  test("keep their numbers when some of them are decided", () => {
    const left = CALLS.slice(1);
    const numbered = numberCalls(left, numberCalls(CALLS, []));
    const { lines, readLine, hint } = plainCalls({ calls: left, escape: "cancel" }, numbered);
    expect(lines.filter((line) => /^\d\./.test(line))).toEqual(["2. b()", "3. remove()"]);
    expect(hint).toContain("such as 2,3");
    expect([readLine("1"), readLine("2")]).toEqual([again("There is no call 1."), approved("b")]);
    expect(numberCalls([listed("x"), listed("y")], numbered)).toEqual(["x", "y"]);
  });

  test("are shown one by one if none of them can be decided with others", () => {
    const alone = CALLS.map((call) => ({ ...call, isDecidedAlone: true }));
    expect(open(alone).readLine("all")).toEqual(opened("a"));
  });
});
