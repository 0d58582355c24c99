import * as fc from "fast-check";
import { expect, test } from "vitest";
import { findRequiredTexts } from "./required-texts.ts";

test.each<readonly [pattern: string, texts: readonly string[] | undefined]>([
  ["needle", ["needle"]],
  ["function\\s+foo\\(", ["function"]],
  ["^import .* from", ["import "]],
  ["a\\.b\\(c", ["a.b(c"]],
  ["TODO|FIXME", ["TODO", "FIXME"]],
  ["\\b(TODO|FIXME)\\b", ["TODO", "FIXME"]],
  ["(?:get|set)Value", ["Value"]],
  ["(?<name>abc)+", ["abc"]],
  ["abc+d", ["abc"]],
  ["abcd?", ["abc"]],
  ["colou?r", ["colo"]],
  ["x{2,3}yz", ["yz"]],
  ["x{0,3}", undefined],
  ["(abc)?d", ["d"]],
  ["(abc){0}d", ["d"]],
  ["foo|", undefined],
  ["foo|\\d", undefined],
  ["(?=foo)bar", ["bar"]],
  ["(?!foo)x", ["x"]],
  ["(?<=foo|bar)x", ["x"]],
  ["(?i:foo)x", ["x"]],
  ["[abc|]d", ["d"]],
  ["[\\]a|]+d", ["d"]],
  ["ab\\w<c|d", ["ab", "d"]],
  ["\\u{1F600}ab", ["ab"]],
  ["\\u0061bc", ["bc"]],
  ["\\x61bc", ["bc"]],
  ["(a)\\1bc", ["bc"]],
  ["(?<n>a)\\k<n>bc", ["bc"]],
  ["\\p{L}bc", ["bc"]],
  ["é𝄞", ["é𝄞"]],
  ["a\\/b", ["a/b"]],
  ["\\d+", undefined],
  ["", undefined],
  ["\uFFFDabc", undefined],
  ["a|b|c|d|e|f|g|h|i|j|k", undefined],
])("of %j these texts are required: %j", (pattern, texts) => {
  expect([new RegExp(pattern, "u").unicode, findRequiredTexts(pattern)]).toEqual([true, texts]);
});

const atom = fc.constantFrom(
  ...Array.from("abc<>{}=!:"),
  "\\.",
  "\\/",
  "\\|",
  "\\(",
  "\\b",
  "\\w",
  "\\d",
  "\\x61",
  "\\u0062",
  "\\u{63}",
  "\\p{L}",
  "[ab|(]",
  "[^a]",
  "[\\]b]",
  ".",
  "^",
  "$",
);
const quantifier = fc.constantFrom("", "", "", "*", "+", "?", "{0,2}", "{1}", "{2,}", "+?", "*?");
const { pattern: anyPattern } = fc.letrec<{ pattern: string; group: string; sequence: string }>(
  (tie) => ({
    pattern: fc.array(tie("sequence"), { minLength: 1, maxLength: 3 }).map((all) => all.join("|")),
    group: fc
      .tuple(
        fc.constantFrom("(", "(?:", "(?<n>", "(?=", "(?!", "(?<=", "(?<!", "(?i:"),
        tie("pattern"),
      )
      .map(([open, inner]) => `${open}${inner})`),
    sequence: fc
      .array(
        fc
          .tuple(
            fc.oneof({ depthSize: "small", withCrossShrink: true }, atom, tie("group")),
            quantifier,
          )
          .map((parts) => parts.join("")),
        { maxLength: 5 },
      )
      .map((parts) => parts.join("")),
  }),
);

test("a text that matches has one of the required texts, whatever the pattern", () => {
  fc.assert(
    fc.property(
      anyPattern,
      fc.array(fc.stringMatching(/^[abcABC<>{}=!:./|(1]*$/), { maxLength: 20 }),
      (pattern, subjects) => {
        let regex: RegExp;
        try {
          regex = new RegExp(pattern, "u");
        } catch {
          return;
        }
        const required = findRequiredTexts(pattern);
        if (required === undefined) return;
        for (const subject of subjects.filter((each) => regex.test(each))) {
          expect([pattern, subject, required.some((text) => subject.includes(text))]).toEqual([
            pattern,
            subject,
            true,
          ]);
        }
      },
    ),
    { numRuns: 3000 },
  );
});
