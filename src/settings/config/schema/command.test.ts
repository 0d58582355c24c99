import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { ofTool, readConfig } from "../any-config.fixture.ts";
import type { Json } from "../../../util/index.ts";
import { mergeConfig } from "../layers.ts";
import { parseConfig } from "../parse-config.ts";
import { splitWords } from "../split-words.ts";

const PATH = ["conversation", "tools", "x", "command"];

describe("a line", () => {
  test.each([
    ["just", ["just"]],
    ["  just \t run\n", ["just", "run"]],
    ["just 'a b' \"c d\"", ["just", "a b", "c d"]],
    ["just a' b'\" c\"d", ["just", "a b cd"]],
    ["just ''", ["just", ""]],
    ['just "" x', ["just", "", "x"]],
    [String.raw`just a\ b \'c\'`, ["just", "a b", "'c'"]],
    [String.raw`just "a\"b" "\\" "\$x"`, ["just", 'a"b', "\\", "$x"]],
    [String.raw`just "\n"`, ["just", String.raw`\n`]],
    [String.raw`just 'a\b'`, ["just", String.raw`a\b`]],
    [`just "it's"`, ["just", "it's"]],
    ["tool {{tool}} '{{ context | tojson }}'", ["tool", "{{tool}}", "{{ context | tojson }}"]],
    ["/opt/my\\ tools/run --x=1", ["/opt/my tools/run", "--x=1"]],
    ["echo 'ä €' 😀", ["echo", "ä €", "😀"]],
    ["a|b;c>d $HOME *", ["a|b;c>d", "$HOME", "*"]],
  ])("is split into words as a shell would: %j", (line, words) => {
    expect(splitWords(line)).toEqual(words);
  });

  test("is rejected if it has an unclosed quote or is empty", () => {
    expect({
      single: problem("just 'run"),
      double: problem('just "run'),
      escaped: problem(String.raw`just "run\"`),
      empty: problem(""),
      blank: problem(" \n\t "),
      quoted: problem("'' a"),
    }).toEqual({
      single: "has an unclosed quote",
      double: "has an unclosed quote",
      escaped: "has an unclosed quote",
      empty: "must not be empty",
      blank: "must not be empty",
      quoted: "must not be empty",
    });
  });

  test("that ends with a backslash is rejected", () => {
    expect(problem("just run\\")).toMatch(/backslash/);
  });

  test("gives back the words it was quoted from", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (words) => {
        const line = words.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(" ");
        expect(splitWords(line)).toEqual(words);
      }),
    );
  });

  test("never throws, whatever it holds", () => {
    const piece = fc.constantFrom("'", '"', "\\", " ", "\n", "a", "$", "`");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const words = splitWords(pieces.join(""));
        expect(words === undefined || words.every((word) => typeof word === "string")).toBe(true);
      }),
    );
  });
});

test("a command is a line, or a table whose arguments and shell may be absent", () => {
  expect({
    line: command("just 'a b'"),
    program: command({ program: "just" }),
    all: command({ program: "just run | cat", args: ["a b", ""], shell: true }),
  }).toStrictEqual({
    line: { program: "just", args: ["a b"], shell: false },
    program: { program: "just", args: [], shell: false },
    all: { program: "just run | cat", args: ["a b", ""], shell: true },
  });
});

test("errors inside the table are reported with their path", () => {
  const wrong: Json[] = [
    { args: ["a"] },
    { program: "a", args: "b" },
    { program: "a", shell: "yes" },
  ];
  const paths = wrong.map((value) =>
    parseConfig(ofTool({ command: value })).errors.map(({ path }) => path),
  );
  expect(paths).toEqual([[[...PATH, "program"]], [[...PATH, "args"]], [[...PATH, "shell"]]]);
});

test("an unknown key of the table is reported", () => {
  const { warnings, errors } = parseConfig(ofTool({ command: { program: "rm", arg: ["-i"] } }));
  expect([...errors, ...warnings]).toEqual([
    {
      path: [...PATH, "arg"],
      message: "unknown key; did you mean conversation.tools.x.command.args?",
    },
  ]);
});

test("an empty program is rejected in a table as in a line", () => {
  expect(problem({ program: "" })).toBe("must not be empty");
});

test("a command replaces the lower one as a whole", () => {
  const lower = readConfig(ofTool({ command: { program: "a", args: ["x"], shell: true } }));
  const upper = readConfig(ofTool({ command: { program: "b" } }));
  expect(mergeConfig(lower, upper)).toStrictEqual(upper);
});

function command(value: Json) {
  return readConfig(ofTool({ command: value })).conversation?.tools?.["x"]?.command;
}

function problem(value: Json): string | undefined {
  return parseConfig(ofTool({ command: value })).errors[0]?.message;
}
