import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CommandPart, isPrefixOf, parseCommandLine } from "../../src/reach/shell/index.ts";
import { counters } from "../security/threats.ts";
import { ALLOWED, hostileLines } from "./hostile-lines.ts";
import { recordedShell, SHELLS } from "./recorded-shell.ts";

function isAllowed(part: CommandPart): boolean {
  return ALLOWED.some((rule) => isPrefixOf(rule, part));
}

function runsUnasked(line: string): boolean {
  const { parts } = parseCommandLine(line);
  return parts.length > 0 && parts.every(isAllowed);
}

describe("a hostile command line", () => {
  const lines = hostileLines();

  test("is never allowed by a prefix, in over five hundred forms", () => {
    counters("T-SHELL-5");
    expect(lines.length).toBeGreaterThan(500);
    expect(lines.filter(runsUnasked)).toEqual([]);
  });

  test("would run what the rules do not allow, in a real shell", { timeout: 120_000 }, () => {
    const shell = recordedShell(["git", "npm", "ls", "evil"]);
    const harmless = lines.filter(
      (line) =>
        !line.includes("\0") &&
        !SHELLS.some((program) => shell.run(program, line).some(([name]) => name === "evil")),
    );
    // Those whose first command would have to fail, or which need a program that is not here.
    expect(harmless.length).toBeLessThan(lines.length / 20);
  });
});

/** Lines that are compared; each starts several processes. */
const ENOUGH = 500;
const oneOf = (characters: string) => fc.constantFrom(...characters.split(""));
const PROGRAMS = ["one", "two", "three"];
const character = fc.oneof(
  { weight: 4, arbitrary: oneOf("abz09_-./:=@%+,^") },
  { weight: 4, arbitrary: oneOf(" \t\n'\"\\$`~*?[]{}()<>|&;#!") },
  { weight: 1, arbitrary: fc.constantFrom("é", "漢", "🙂") },
);
const text = fc.string({ unit: character, maxLength: 6 });
const piece = fc.oneof(
  fc.string({ unit: oneOf("ab0-./=@~^{},!#%"), maxLength: 4 }),
  text.map((value) => `'${value.replaceAll("'", "")}'`),
  text.map((value) => `"${value}"`),
  character.map((value) => `\\${value}`),
  text,
);
const word = fc.array(piece, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join(""));
const redirect = fc.constantFrom(
  " 2>/dev/null",
  ">/dev/null",
  " 2>&1",
  " >&2",
  "</dev/null",
  " 2>x",
  " 12>/dev/null",
);
const command = fc
  .tuple(
    fc.constantFrom("one", "'two'", 'th"r"ee', "o\\ne"),
    fc.array(word, { maxLength: 3 }),
    fc.option(redirect),
  )
  .map(([program, args, end]) => [program, ...args].join(" ") + (end ?? ""));
const separator = fc.constantFrom(
  "; ",
  ";",
  " && ",
  "&&",
  " | ",
  "|",
  "\n",
  " \\\n && ",
  " # x\n",
  " & ",
  " || ",
);
const line = fc
  .array(fc.tuple(command, separator), { minLength: 1, maxLength: 3 })
  .map((entries) => entries.flat().slice(0, -1).join(""));

test(
  "the words of a line without hazards are those that programs get from real shells",
  { timeout: 120_000 },
  () => {
    const shell = recordedShell(PROGRAMS);
    let compared = 0;
    const property = fc.property(line, (source) => {
      const { parts } = parseCommandLine(source);
      if (compared === ENOUGH) return;
      if (parts.length === 0 || parts.some((part) => part.hazards.length > 0)) return;
      compared += 1;
      const areKnown = parts.every(({ words: [program = ""] }) => PROGRAMS.includes(program));
      const expected = parts.map(({ words }) => JSON.stringify(words)).toSorted();
      for (const program of SHELLS) {
        const calls = shell
          .run(program, source)
          .map((words) => JSON.stringify(words))
          .toSorted();
        // What follows a command that fails, or one that does not, may not run.
        const mayStop = source.includes("||") || !areKnown;
        const missing = mayStop ? [] : expected.filter((call) => !calls.includes(call));
        const others = calls.filter((call) => !expected.includes(call));
        expect({ source, missing, others }).toEqual({ source, missing: [], others: [] });
      }
    });
    fc.assert(property, { numRuns: 3000 });
    expect(compared).toBe(ENOUGH);
  },
);
