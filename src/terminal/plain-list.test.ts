import { describe, expect, test } from "vitest";
import { plainList } from "./plain-list.ts";
import type { SelectList } from "./select-list.ts";

const LIST: SelectList = {
  message: "Which?",
  options: [{ label: "blog", description: "a post" }, { label: "mail" }, { label: "e-mail" }],
};

function open(changes: Partial<SelectList> = {}, marked: readonly number[] = []) {
  return plainList({ ...LIST, ...changes }, { filter: "", active: 0, marked });
}

function chosen(...indexes: readonly number[]) {
  return { type: "end", ending: { ending: { type: "chosen", indexes }, marked: indexes } };
}

function own(text: string, ...marked: readonly number[]) {
  return { type: "end", ending: { ending: { type: "other", text, isWhole: true }, marked } };
}

function again(...lines: readonly string[]) {
  return { type: "again", lines };
}

describe("a list in lines of text", () => {
  test("has numbers, and says what Enter alone takes", () => {
    const { lines, hint } = open({}, [1]);
    expect([lines, hint]).toEqual([
      ["Which?", "1. blog: a post", "2. mail", "3. e-mail"],
      "Type a number or a value, then Enter. Enter alone takes 2, mail.",
    ]);
  });

  test.each([
    ["2", chosen(1)],
    ["2.", chosen(1)],
    [" blog ", chosen(0)],
    ["BLOG", chosen(0)],
    ["=mail", chosen(1)],
    ["mail", chosen(1)],
    ["", again("Type a number or a value, then Enter.")],
    ["4", again("There is no option 4. Type a number from 1 to 3.")],
    ["0", again("There is no option 0. Type a number from 1 to 3.")],
    ["fax", again('There is no option "fax". Type a number from 1 to 3.')],
    ["ail", again('These have "ail" in them. Type a number.', "2. mail", "3. e-mail")],
  ])("takes %j for what it is", (typed, reading) => {
    expect(open().read(typed)).toEqual(reading);
  });

  test("takes a suggestion with Enter alone", () => {
    expect(open({}, [2]).read("")).toEqual(chosen(2));
  });

  test.each([
    ["10", chosen(1)],
    ["2", again("2 could mean two things. Type 2. for the number, =2 for the value.")],
    ["2.", chosen(1)],
    ["=2", chosen(0)],
    ["1", chosen(0)],
  ])("of numbers takes no guess for an answer: %j", (typed, reading) => {
    expect(open({ options: [{ label: "2" }, { label: "10" }] }).read(typed)).toEqual(reading);
  });

  test.each([
    ["fax", own("fax")],
    ["mail", chosen(1)],
    ["=ail", own("ail")],
    [
      "ail",
      again(
        'These have "ail" in them. Type a number.',
        "2. mail",
        "3. e-mail",
        "Or =ail for an answer of your own.",
      ),
    ],
    ["9", again("There is no option 9. Type a number from 1 to 3.")],
    ["=9", own("9")],
  ])("with a way out takes %j for what it is", (typed, reading) => {
    expect(open({ allowsOther: true }).read(typed)).toEqual(reading);
  });

  test.each([
    ["3, 1", chosen(0, 2)],
    ["3 1 1", chosen(0, 2)],
    ["e-mail,blog", chosen(0, 2)],
    ["", chosen(1)],
    ["none", chosen()],
    ["1, fax", own("fax", 0)],
    ["fax, pigeon", again("One answer of your own at a time, please.")],
    ["1, 7", again("There is no option 7. Type a number from 1 to 3.")],
  ])("of which several can be chosen takes %j for what it is", (typed, reading) => {
    expect(open({ isMultiple: true, allowsOther: true }, [1]).read(typed)).toEqual(reading);
  });

  test("says what is marked", () => {
    const { lines, hint } = open({ isMultiple: true }, [1]);
    expect([lines[2], hint]).toEqual([
      "2. mail (marked)",
      "Type numbers or values, with commas between them, then Enter. " +
        'Enter alone takes what is marked, "none" takes nothing.',
    ]);
  });

  test("tells more about an option, made harmless", () => {
    const list = open({
      options: [{ label: "a", preview: "one\n\u001b[2Jtwo\n" }, { label: "b" }],
    });
    expect([list.read("?1"), list.read("?2"), list.read("? 3")]).toEqual([
      again("one", "␛[2Jtwo"),
      again("There is no more about option 2."),
      again("There is no option 3."),
    ]);
  });
});
