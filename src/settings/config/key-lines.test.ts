import { describe, expect, test } from "vitest";
import { keysInJson, keysInToml, lineFinder } from "./key-lines.ts";
import { parseYaml } from "./yaml.ts";

describe("in TOML a key is found", () => {
  const TEXT = `# config
inherit = true
assistant.name = "jp"

[assistant.model]
id = "a/b"
parameters = { top_k = 1, top_p = 1 }

[conversation.tools."my.tool"] # mine
run = "ask"
  "enable" = false
questions.q.target = "user"
[ conversation . tools . 'other' ]
run = "ask"

[[assistant.instructions]]
title = "a"

[[assistant.instructions]]
title = "b"
items = ["x"]
`;

  test.each([
    ["at the top", ["inherit"], 2],
    ["with dots", ["assistant", "name"], 3],
    ["under its header", ["assistant", "model", "id"], 6],
    ["in an inline table", ["assistant", "model", "parameters", "top_p"], 7],
    ["as a header", ["conversation", "tools", "my.tool"], 9],
    ["under a header with a quoted name", ["conversation", "tools", "my.tool", "run"], 10],
    ["in quotes", ["conversation", "tools", "my.tool", "enable"], 11],
    [
      "with dots under a header",
      ["conversation", "tools", "my.tool", "questions", "q", "target"],
      12,
    ],
    ["under a header with spaces", ["conversation", "tools", "other", "run"], 14],
    ["in the first of several tables", ["assistant", "instructions", "0", "title"], 17],
    ["in the second of several tables", ["assistant", "instructions", "1", "title"], 20],
    [
      "inside of a value in the second of several tables",
      ["assistant", "instructions", "1", "items", "0"],
      21,
    ],
  ])("%s", (_name, keys, line) => {
    expect(lineOf("c.toml", TEXT, keys)).toBe(line);
  });

  test("as far as it exists", () => {
    expect([
      lineOf("c.toml", TEXT, ["conversation", "tools", "my.tool", "source"]),
      lineOf("c.toml", TEXT, ["user", "name"]),
      lineOf("c.toml", TEXT, []),
      lineOf("c.toml", "", ["user"]),
    ]).toEqual([9, undefined, undefined, undefined]);
  });

  test("after multi-line texts and lists that look like keys and headers", () => {
    const text = `[assistant]
system_prompt = """
[user]
name = "not this"
"""
[providers.mcp.s]
arguments = [
  "a",
  ["b"],
]
command = 3
[user]
name = 4
`;
    expect([
      lineOf("c.toml", text, ["user", "name"]),
      lineOf("c.toml", text, ["providers", "mcp", "s", "command"]),
    ]).toEqual([13, 11]);
  });

  test("with Windows line endings", () => {
    expect(lineOf("c.toml", TEXT.replaceAll("\n", "\r\n"), ["assistant", "model", "id"])).toBe(6);
  });
});

describe("in JSON a key is found", () => {
  const TEXT = `{
  "assistant": {
    "model": {
      "id": { "provider": "openai", "name": "gpt" }
    },
    "name": "jp"
  },
  "conversation": {
    "tools": {
      "name": { "run": "ask" },
      "x": {
        "run": "ask"
      }
    }
  },
  "user": { "name": "assistant" }
}
`;

  test.each([
    ["where it stands", ["conversation", "tools", "x", "run"], 12],
    ["beside others in a line", ["conversation", "tools", "name", "run"], 10],
    ["and not the same key deeper inside", ["assistant", "name"], 6],
    ["in the last line", ["user", "name"], 16],
  ])("%s", (_name, keys, line) => {
    expect(lineOf("c.json", TEXT, keys)).toBe(line);
  });

  test("as far as it exists", () => {
    expect([
      lineOf("c.json", TEXT, ["conversation", "tools", "x", "source"]),
      lineOf("c.json", TEXT, ["editor"]),
    ]).toEqual([11, undefined]);
  });

  test("and not an equal value", () => {
    const text = '{\n  "assistant": {\n    "name": "tool_choice",\n    "tool_choice": 3\n  }\n}\n';
    expect(lineOf("c.json", text, ["assistant", "tool_choice"])).toBe(4);
  });
});

describe("in YAML a key is found", () => {
  const TEXT = `# name: not this
assistant:
  model:
    id: a/b
  tool_choice: none
  name: jp
conversation:
  tools:
    "my.tool":
      rerun: x
      run: ask
user:
  username: x
  name: me
`;

  test.each([
    ["where it stands", ["assistant", "tool_choice"], 5],
    ["under a quoted name", ["conversation", "tools", "my.tool"], 9],
    ["and not a longer key that ends the same", ["user", "name"], 14],
    ["and not a longer key beside it", ["conversation", "tools", "my.tool", "run"], 11],
    ["and not a comment", ["assistant", "name"], 6],
  ])("%s", (_name, keys, line) => {
    expect(lineOf("c.yaml", TEXT, keys)).toBe(line);
  });

  test("and not an equal key of a table further down", () => {
    const text = "assistant:\n  model: {}\nuser:\n  name: me\n";
    expect(lineOf("c.yaml", text, ["assistant", "name"])).toBe(1);
  });
});

describe("in lists and long texts of YAML", () => {
  const TEXT = `assistant:
  system_prompt: |
    name: not this
      tool_choice: nor this

    name: nor this
  instructions:
  - title: a
    items:
      - x
      - y
  - title: b
    description: c # d
  name: jp
`;

  test.each([
    ["a key behind a text of many lines", ["assistant", "name"], 14],
    ["a key of the first entry", ["assistant", "instructions", "0", "title"], 8],
    ["an entry inside of an entry", ["assistant", "instructions", "0", "items", "1"], 11],
    ["a key of the second entry", ["assistant", "instructions", "1", "description"], 13],
  ])("%s is found", (_name, keys, line) => {
    expect(lineOf("c.yml", TEXT, keys)).toBe(line);
  });
});

test("in YAML keys in braces, with escapes and behind anchors are found", () => {
  const text = 'a: {b: 1,\n  c: [x,\n y]}\n"d\\u0065": &q\n  - {f: 1}\n';
  const line = (...keys: string[]) => lineOf("c.yaml", text, keys);
  expect([
    line("a", "b"),
    line("a", "c"),
    line("a", "c", "1"),
    line("de"),
    line("de", "0", "f"),
  ]).toEqual([1, 2, 3, 4, 5]);
});

test("in JSON items of lists are found, on one line or several", () => {
  const text = '{"a": [1, [2,\n3], {"b":\n{"c,\\"}": "]"}, "d": 1}],\n"e": []}';
  const line = (...keys: string[]) => lineOf("c.json", text, keys);
  expect([
    line("a", "0"),
    line("a", "1", "1"),
    line("a", "2", "b", 'c,"}'),
    line("a", "2", "d"),
    line("e"),
    line("e", "0"),
  ]).toEqual([1, 2, 3, 3, 4, 4]);
});

test("in TOML a table inside a list of tables is found", () => {
  const text = "[[a.b]]\nx = 1\n[a.b.c]\ny = 1\n[[a.b]]\n[a.b.c]\ny = '''\n[z]'''\n[z]\nq = 1\n";
  const line = (...keys: string[]) => lineOf("c.toml", text, keys);
  expect([
    line("a", "b"),
    line("a", "b", "0", "c", "y"),
    line("a", "b", "1", "c", "y"),
    line("z"),
  ]).toEqual([1, 4, 7, 9]);
});

function lineOf(file: string, text: string, keys: readonly string[]): number | undefined {
  const read = file.endsWith(".json")
    ? () => keysInJson(text)
    : file.endsWith(".toml")
      ? () => keysInToml(text)
      : parseYaml(text).keys;
  return lineFinder(read)(keys);
}
