import { expect, test } from "vitest";
import { plain } from "../render/index.ts";
import { closedLine } from "./question-rows.ts";

test.each([
  { message: "Name?", said: "Ada", line: "✔ Name? Ada" },
  { message: "Name?", said: "Ada\nLovelace", line: "✔ Name? Ada Lovelace" },
  { message: "Name?", said: "a".repeat(30), line: `✔ Name? ${"a".repeat(11)}…` },
  { message: "b".repeat(30), said: "yes", line: `✔ ${"b".repeat(13)}… yes` },
  { message: "b".repeat(30), said: "a".repeat(30), line: `✔ ${"b".repeat(7)}… ${"a".repeat(8)}…` },
  { message: "日".repeat(30), said: "本".repeat(30), line: "✔ 日日日… 本本本本…" },
  { message: "Name?", said: "\u001b[2J", line: "✔ Name? ␛[2J" },
])("$line stays of a question", ({ message, said, line }) => {
  expect(closedLine({ message, said }, { columns: 20, rows: 5, paint: plain })).toBe(line);
});
