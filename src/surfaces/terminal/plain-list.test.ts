import { describe, expect, test } from "vitest";
import type { SelectList } from "./listed-options.ts";
import { plainList } from "./plain-list.ts";

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

describe("a list in plain mode", () => {
  test("numbers its options and names the default", () => {
    const { lines, hint } = open({}, [1]);
    expect([lines, hint]).toEqual([
      ["Which?", "1. blog: a post", "2. mail", "3. e-mail"],
      "Type a number or value and press Enter. Or just press Enter for 2, mail.",
    ]);
  });

  test.each([
    ["2", chosen(1)],
    ["2.", chosen(1)],
    [" blog ", chosen(0)],
    ["BLOG", chosen(0)],
    ["=mail", chosen(1)],
    ["mail", chosen(1)],
    ["", again("Type a number or value and press Enter.")],
    ["4", again("No option 4. Type a number from 1 to 3.")],
    ["0", again("No option 0. Type a number from 1 to 3.")],
    ["fax", again('No option "fax". Type a number from 1 to 3.')],
    ["ail", again('These options contain "ail". Type a number.', "2. mail", "3. e-mail")],
  ])("reads %j", (typed, reading) => {
    expect(open().readLine(typed)).toEqual(reading);
  });

  test("takes the default when the line is empty", () => {
    expect(open({}, [2]).readLine("")).toEqual(chosen(2));
  });

  test.each([
    ["10", chosen(1)],
    ["2", again("2 is ambiguous. Type 2. for the number or =2 for the value.")],
    ["2.", chosen(1)],
    ["=2", chosen(0)],
    ["1", chosen(0)],
  ])("of numbers never guesses: %j", (typed, reading) => {
    expect(open({ options: [{ label: "2" }, { label: "10" }] }).readLine(typed)).toEqual(reading);
  });

  test.each([
    ["fax", own("fax")],
    ["mail", chosen(1)],
    ["=ail", own("ail")],
    [
      "ail",
      again(
        'These options contain "ail". Type a number.',
        "2. mail",
        "3. e-mail",
        "Or type =ail to give that as your own answer.",
      ),
    ],
    ["9", again("No option 9. Type a number from 1 to 3.")],
    ["=9", own("9")],
  ])("that allows other answers reads %j", (typed, reading) => {
    expect(open({ allowsOther: true }).readLine(typed)).toEqual(reading);
  });

  test.each([
    ["3, 1", chosen(0, 2)],
    ["3 1 1", chosen(0, 2)],
    ["e-mail,blog", chosen(0, 2)],
    ["", chosen(1)],
    ["none", chosen()],
    ["1, fax", own("fax", 0)],
    ["fax, pigeon", again("Type only one answer of your own at a time.")],
    ["1, 7", again("No option 7. Type a number from 1 to 3.")],
  ])("with several choices reads %j", (typed, reading) => {
    expect(open({ isMultiple: true, allowsOther: true }, [1]).readLine(typed)).toEqual(reading);
  });

  test("shows what is selected", () => {
    const { lines, hint } = open({ isMultiple: true }, [1]);
    expect([lines[2], hint]).toEqual([
      "2. mail (selected)",
      "Type numbers or values separated by commas and press Enter. " +
        "Or just press Enter for the selected ones. Type none for none.",
    ]);
  });

  test("shows the details of an option, neutralized", () => {
    const list = open({
      options: [{ label: "a", preview: "one\n\u001b[2Jtwo\n" }, { label: "b" }],
    });
    expect([list.readLine("?1"), list.readLine("?2"), list.readLine("? 3")]).toEqual([
      again("one", "␛[2Jtwo"),
      again("Option 2 has no details."),
      again("No option 3. Type a number from 1 to 2."),
    ]);
  });
});
