import { expect, test } from "vitest";
import { graphemesOf } from "./graphemes.ts";

test("what a person sees as one character stays whole", () => {
  expect(graphemesOf("a👨‍👩‍👧é🇳🇱")).toEqual(["a", "👨‍👩‍👧", "é", "🇳🇱"]);
});

test("plain text is split as the segmenter would", () => {
  const text = "if (a < b)\r\n\treturn\x7f;\r\0";
  const expected = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
  expect(graphemesOf(text)).toEqual(expected);
  expect(graphemesOf("plain\ttext\n\0")).toEqual(Array.from("plain\ttext\n\0"));
});
