import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { findSandboxProblem } from "../../src/reach/shell/index.ts";
import { ROOT } from "../support/documents.ts";
import { framesOf } from "./frame.ts";
import { makePicture, PICTURE } from "./picture.ts";
import { renderSvg } from "./svg.ts";

const WINDOW = { title: "a <title>", description: "a & b", columns: 86, rows: 23 };

const isSandboxed = (await findSandboxProblem()) === undefined;

describe("the picture", () => {
  test.runIf(isSandboxed)("is up to date; test/picture/picture.ts generates it", async () => {
    const stored = readFileSync(path.join(ROOT, PICTURE), "utf8");
    const made = await makePicture();
    expect(rowsIn(made)).toEqual(rowsIn(stored));
    expect(made === stored).toBe(true);
  });

  test("has text, style and width of every cell", async () => {
    const output = "\u001B[1;32m✔\u001B[0m 日本 is  \u001B[2mwide\u001B[0m";
    const [frame] = await framesOf([{ output }]);
    const plain = { isBold: false, isDim: false };
    expect(frame?.rows[0]).toEqual([
      { column: 0, width: 1, text: "✔", style: { color: 2, isBold: true, isDim: false } },
      { column: 2, width: 2, text: "日", style: plain },
      { column: 4, width: 2, text: "本", style: plain },
      { column: 7, width: 2, text: "is", style: plain },
      { column: 11, width: 4, text: "wide", style: { isBold: false, isDim: true } },
    ]);
  });

  test("has one frame per paragraph, and shows the keys", async () => {
    const frames = await framesOf([
      { output: "One.\r\n\r\nTwo? ", keys: "y" },
      { output: "\r\nThree." },
    ]);
    const shown = frames.map(({ rows, cursor, keys }) => [
      rows.flat().map(({ text }) => text),
      cursor,
      keys,
    ]);
    const cursor = { row: 2, column: 5 };
    expect(shown).toEqual([
      [["One."], undefined, undefined],
      [["One.", "Two?"], cursor, undefined],
      [["One.", "Two?"], cursor, "y"],
      [["One.", "Two?", "Three."], undefined, undefined],
    ]);
  });

  test("has no script, escapes text, and rests on its last frame", async () => {
    const frames = await framesOf([{ output: "<script>&\r\n\r\nlast" }]);
    const svg = renderSvg(frames, WINDOW);
    expect({
      elements: [...new Set(svg.match(/<[a-z]+/g))],
      texts: svg.match(/(?<=>)[^<>\n]+(?=<\/(?:text|title|desc)>)/g),
      rest: /\.strip\{transform:(?<where>[^}]+)\}/.exec(svg)?.groups?.["where"],
    }).toEqual({
      elements: [
        "<svg",
        "<title",
        "<desc",
        "<style",
        "<defs",
        "<g",
        "<text",
        "<rect",
        "<circle",
        "<use",
      ],
      texts: ["a &lt;title&gt;", "a &amp; b", "&lt;script&gt;&amp;", "last", "a &lt;title&gt;"],
      rest: "translateX(-758.4px)",
    });
  });
});

/** The text of every row in any frame. */
function rowsIn(svg: string): readonly string[] {
  return (svg.match(/^<g id="r\d+">.*$/gm) ?? []).map((row) =>
    row.replaceAll(/<[^>]*>/g, " ").trim(),
  );
}
