import { Command } from "commander";
import { describe, expect, expectTypeOf, test } from "vitest";
import { addOptions } from "./define.ts";
import { type FlagsOf, type Options, parseCount, TOOL_OPTIONS } from "./options.ts";

const DECLARED = {
  "-y, --yes": "Without a value",
  "--no-save": "True by default",
  "-m, --model-name <name>": "With a value",
  "--focus [text]": "With a value that may be left out",
  "--fork [turns]": { description: "Also parsed", parse: parseCount },
  "--title <text>": "With a way to remove it",
  "--no-title": "The way to remove it",
  "--sort <key>": { description: "With a default", choices: ["age", "name"], default: "age" },
  "--scope <scope>": {
    description: "Several choices",
    choices: ["user", "tool"],
    isRepeatable: true,
  },
  "-k, --compact [rule]": { description: "Several values, or none", isRepeatable: true },
} as const satisfies Options;

function parse<Declared extends Options>(declared: Declared, ...words: string[]) {
  const definition = addOptions(new Command().exitOverride().configureOutput({}), declared);
  definition.configureOutput({ writeErr: () => undefined });
  return definition.parse(words, { from: "user" }).opts<FlagsOf<Declared>>();
}

describe("the flags of a command", () => {
  test("have the types of what commander makes of the declaration", () => {
    expectTypeOf<FlagsOf<typeof DECLARED>>().toEqualTypeOf<
      { readonly save: boolean; readonly sort: "age" | "name" } & {
        readonly yes?: boolean;
        readonly modelName?: string;
        readonly focus?: string | true;
        readonly fork?: number | true;
        readonly title?: string | false;
        readonly scope?: readonly ("user" | "tool")[];
        readonly compact?: readonly (string | true)[];
      }
    >();
    expect(parse(DECLARED)).toEqual({ save: true, sort: "age" });
    const words = "-y --no-save -m small --focus --fork 2 --no-title --sort name";
    const repeated = "--scope user --scope tool -k r -k";
    expect(parse(DECLARED, ...`${words} ${repeated}`.split(" "))).toEqual({
      yes: true,
      save: false,
      modelName: "small",
      focus: true,
      fork: 2,
      title: false,
      sort: "name",
      scope: ["user", "tool"],
      compact: ["r", true],
    });
  });

  test("keep the order of -t and -T", () => {
    expect(parse(TOOL_OPTIONS, "-t", "web", "-T", "-t").tool).toEqual([
      { isEnabled: true, name: "web" },
      { isEnabled: false },
      { isEnabled: true },
    ]);
  });

  test("are only those that are allowed, also if an option is repeated", () => {
    expect(() => parse(DECLARED, "--scope", "user", "--scope", "all")).toThrow(
      "Allowed choices are user, tool.",
    );
  });
});
