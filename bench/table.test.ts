import { expect, test } from "vitest";
import type { StoredResult } from "./measure.ts";
import { asMarkdown, asText, peerTable, resultTable } from "./table.ts";

const STAMP = { date: "2026-11-17", commit: "af9fe4e+" };
const results: readonly StoredResult[] = [
  {
    name: "jp query",
    unit: "× node -e 0",
    figures: { time: { value: 6.612, noise: 0.034 }, cpu: { value: 5, noise: 0.01 } },
    goal: { most: 4 },
    detail: "212 ms against 32 ms",
    ...STAMP,
  },
  {
    name: "first token",
    unit: "× node -e 0",
    figures: { time: { value: 0.15, noise: 0 } },
    goal: { most: 0.156, text: "5 ms" },
    detail: "4.80 ms against 32 ms",
    ...STAMP,
  },
  {
    name: "packages",
    unit: "packages",
    figures: { size: { value: 1_055, noise: 0 } },
    detail: "a | b",
    ...STAMP,
  },
];

test("the table has each result next to its goal", () => {
  expect(asText(resultTable(results))).toBe(
    [
      "what         result      unit         CPU  goal               measured               date        commit",
      "jp query     6.61 ± 3 %  × node -e 0  5    4            over  212 ms against 32 ms   2026-11-17  af9fe4e+",
      "first token  0.15        × node -e 0       0.16 (5 ms)  ok    4.80 ms against 32 ms  2026-11-17  af9fe4e+",
      "packages     1,055       packages                             a | b                  2026-11-17  af9fe4e+",
    ].join("\n"),
  );
});

test("the Markdown table escapes what would end a cell", () => {
  expect(asMarkdown(resultTable(results.slice(2)))).toBe(
    [
      "| what     | result | unit     | CPU | goal |     | measured | date       | commit   |",
      "| -------- | ------ | -------- | --- | ---- | --- | -------- | ---------- | -------- |",
      "| packages | 1,055  | packages |     |      |     | a \\| b   | 2026-11-17 | af9fe4e+ |",
    ].join("\n"),
  );
});

test("other packages follow our own result, and are left out if it was not measured", () => {
  const peers = [
    { name: "other", version: "1.2.3", value: 13, detail: "416 ms", date: "2026-11-15" },
    { name: "another", detail: "in another way", date: "2026-11-15" },
  ];
  const comparisons = [
    { row: "jp query", peers },
    { row: "not measured", peers },
  ];
  expect(asText(peerTable({ machine: "", comparisons }, results))).toBe(
    [
      "what      package      result  unit         measured              date",
      "jp query  jp           6.61    × node -e 0  212 ms against 32 ms  2026-11-17",
      "          other 1.2.3  13      × node -e 0  416 ms                2026-11-15",
      "          another                           in another way        2026-11-15",
    ].join("\n"),
  );
});
