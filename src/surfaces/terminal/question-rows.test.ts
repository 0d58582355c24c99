import { expect, test } from "vitest";
import { plain } from "../render/index.ts";
import { closedLine, stackRows } from "./question-rows.ts";

test.each([
  { message: "Name?", summary: "Ada", line: "✔ Name? Ada" },
  { message: "Name?", summary: "Ada\nLovelace", line: "✔ Name? Ada Lovelace" },
  { message: "Name?", summary: "a".repeat(30), line: `✔ Name? ${"a".repeat(11)}…` },
  { message: "b".repeat(30), summary: "yes", line: `✔ ${"b".repeat(13)}… yes` },
  {
    message: "b".repeat(30),
    summary: "a".repeat(30),
    line: `✔ ${"b".repeat(7)}… ${"a".repeat(8)}…`,
  },
  { message: "日".repeat(30), summary: "本".repeat(30), line: "✔ 日日日… 本本本本…" },
  { message: "Name?", summary: "\u001b[2J", line: "✔ Name? ␛[2J" },
  { message: "Apply?", summary: "no", isNo: true, line: "✖ Apply? no" },
])("a closed question is shown as $line", ({ line, ...closed }) => {
  expect(closedLine(closed, { columns: 20, rows: 5, paint: plain })).toBe(line);
});

test.each([
  { active: 0, rows: ["head", "0", "1", "2", "foot"], activeRow: 1 },
  { active: 4, rows: ["head", "3", "4", "5", "foot"], activeRow: 2 },
  { active: 9, rows: ["head", "7", "8", "9", "foot"], activeRow: 3 },
])("a long body is cut to the rows around row $active", ({ active, rows, activeRow }) => {
  const body = Array.from({ length: 10 }, (_, index) => `${index}`);
  expect(stackRows({ head: ["head"], body, active, foot: ["foot"] }, 5)).toEqual({
    rows,
    activeRow,
  });
});
