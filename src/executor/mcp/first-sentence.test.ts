import { expect, test } from "vitest";
import { firstSentence } from "./first-sentence.ts";

test.each([
  ["Reads a file. It must exist.", "Reads a file.", "It must exist."],
  ["Reads a file", "Reads a file", ""],
  ["Reads a file.", "Reads a file.", ""],
  ["", "", ""],
  ["  Reads\n  a file.\n\nMore.", "Reads a file.", "More."],
  ["Reads a file\n\nIt must exist.", "Reads a file", "It must exist."],
  ["Reads:\n- files\n- folders. Often.", "Reads:", "- files\n- folders. Often."],
  ["Reads files, e.g. Markdown. And more.", "Reads files, e.g. Markdown.", "And more."],
  ["Reads file.txt from version 1.2 on. Really?", "Reads file.txt from version 1.2 on.", "Really?"],
  ["Reads it (all of it.) Then stops!", "Reads it (all of it.)", "Then stops!"],
  ["Liest es. Über alles.", "Liest es.", "Über alles."],
])("%j is split at its first sentence", (text, sentence, rest) => {
  expect(firstSentence(text)).toEqual({ sentence, rest });
});
