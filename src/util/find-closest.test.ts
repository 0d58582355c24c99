import { expect, test } from "vitest";
import * as fc from "fast-check";
import { findClosest } from "./find-closest.ts";

const KNOWN = ["run", "result", "source", "command", "max_retries", "style"];

test.each([
  ["rum", "run"],
  ["rnu", "run"],
  ["ru", "run"],
  ["runn", "run"],
  ["sorce", "source"],
  ["comand", "command"],
  ["max_retrys", "max_retries"],
  ["maxretries", "max_retries"],
])("%s is closest to %s", (word, meant) => {
  expect(findClosest(word, KNOWN)).toBe(meant);
});

test("a word that is far from all known ones has no match", () => {
  expect(["", "colour", "xyz", "r"].map((word) => findClosest(word, KNOWN))).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(findClosest("run", [])).toBeUndefined();
});

test("a very long word has no match, and is rejected quickly", () => {
  expect(findClosest("x".repeat(1_000_000), ["assistant", "style"])).toBeUndefined();
});

test("a known word matches itself", () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1 }), fc.nat(), (words, index) => {
      const word = words[index % words.length] ?? "";
      expect(findClosest(word, words)).toBe(word);
    }),
  );
});

test("a word with one letter added, missing or changed matches", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 3 }),
      fc.nat(),
      fc.string({ minLength: 1, maxLength: 1 }),
      (word, seed, letter) => {
        const place = seed % word.length;
        const [before, after] = [word.slice(0, place), word.slice(place + 1)];
        for (const near of [
          before + after,
          before + letter + after,
          before + letter + word.slice(place),
        ])
          expect(findClosest(near, [word])).toBe(word);
      },
    ),
  );
});
