import { expect, test } from "vitest";
import { resolveSections } from "./assistant-sections.ts";

test("sections and instructions stand by position, and else as they are written", () => {
  const sections = resolveSections(
    [
      { title: "B", content: "b" },
      { content: "last", position: 10 },
      { title: "C", content: "c", position: 0 },
      { content: "first", position: -900 },
    ],
    [
      { title: "D", items: ["d"] },
      { title: "second", items: ["e"], position: -1 },
    ],
  );
  expect(sections).toStrictEqual([
    { content: "first" },
    { title: "second", content: "- e" },
    { title: "B", content: "b" },
    { title: "C", content: "c" },
    { title: "D", content: "- d" },
    { content: "last" },
  ]);
});

test("a section with a tag is an element of that name", () => {
  expect(resolveSections([{ title: "Who", tag: "identity", content: "You.\n" }], [])).toEqual([
    { title: "Who", content: "<identity>\nYou.\n</identity>" },
  ]);
});

test("an instruction is its description, its items and its examples", () => {
  const examples = ["One.\nTwo.", { good: "yes", bad: "no", weight: 2 }, 3];
  expect(
    resolveSections(
      [],
      [{ title: "Rules", description: "Follow them.\n", items: ["A", "B\nb"], examples }],
    ),
  ).toEqual([
    {
      title: "Rules",
      content: [
        "Follow them.",
        "",
        "- A",
        "- B",
        "  b",
        "",
        "Examples:",
        "",
        "- One.",
        "  Two.",
        "- good: yes",
        "  bad: no",
        "  weight: 2",
        "- 3",
      ].join("\n"),
    },
  ]);
});

test("what says nothing is left out", () => {
  expect(
    resolveSections(
      [
        { title: "T", content: " " },
        { tag: "t", content: "" },
      ],
      [{ title: "T" }, {}],
    ),
  ).toEqual([]);
});
