import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { parse } from "smol-toml";
import type { Json } from "../util/index.ts";
import { setInText } from "./edit-file.ts";

const TOML = `# For all of us.
[assistant] # who
name = "jp" # its name

[assistant.model]
id = "openai/gpt" # cheap

[conversation]
attachments = [
  "a.md", # first
  "b.md",
]
start_local = false

# Careful with these.
[conversation.tools.'*']
run = "ask" # always
detached = { run = "deny", tool = "auto" } # nobody there

[conversation.tools."my.tool"]
source = "local"
`;

/** The same kind of things in other layouts. */
const LAYOUTS = [
  TOML,
  "[conversation.tools.'*']\nrun = 'ask' # always\n\n[conversation]\nstart_local = false # no\n",
  "[conversation.tools.x.style]\nhidden = true # hm\n\n[conversation.tools.x]\nrun = 'ask'\n\n[assistant.model]\nid = 'a/b'\n",
  "conversation.tools.x.run = 'ask' # dotted\nconversation.start_local = true\nassistant = { name = 'jp' }\n",
  "[[assistant.instructions]]\ntitle = 'a' # one\n\n[conversation.tools]\nx = { run = 'ask' } # inline\n",
];

describe("a TOML file", () => {
  test.each<[string, string, Json, string, string]>([
    [
      "a key of a table",
      "assistant model id",
      "google/gemini",
      'id = "openai/gpt" # cheap',
      'id = "google/gemini" # cheap',
    ],
    ["a boolean", "conversation start_local", true, "start_local = false", "start_local = true"],
    [
      "a quoted table",
      "conversation tools my.tool source",
      "builtin",
      'source = "local"',
      'source = "builtin"',
    ],
    [
      "the table of all tools",
      "conversation tools * run",
      "skip",
      'run = "ask" # always',
      'run = "skip" # always',
    ],
    [
      "an inline table",
      "conversation tools * detached tool",
      "deny",
      'detached = { run = "deny", tool = "auto" } # nobody there',
      'detached = { run = "deny", tool = "deny" } # nobody there',
    ],
  ])("changes only the key that is set: %s", async (_name, keys, value, before, after) => {
    expect(await set("c.toml", TOML, keys.split(" "), value)).toBe(TOML.replace(before, after));
  });

  test.each<[string, string[], Json]>([
    ["a new key of a table", ["assistant", "tool_choice"], "none"],
    ["a new key of an inline table", ["conversation", "tools", "*", "detached", "deliver"], "deny"],
    ["a new table", ["user", "name"], "me"],
    ["a new table inside of a table that is there", ["assistant", "request", "max_retries"], 0],
    ["a new tool", ["conversation", "tools", "fs_read_file", "run"], "unattended"],
    ["a new tool with a dot", ["conversation", "tools", "a.b", "enable"], { state: false }],
    ["a new question", ["conversation", "tools", "my.tool", "questions", "q", "answer"], true],
    ["a longer list", ["conversation", "attachments"], ["a.md", "b.md", "c.md"]],
    ["a shorter list", ["conversation", "attachments"], ["b.md"]],
    ["an empty list", ["conversation", "attachments"], []],
    ["a new list of tables", ["assistant", "instructions"], [{ title: "a", items: ["b"] }]],
    ["another type", ["conversation", "tools", "*", "detached"], "deny"],
    ["a text with everything", ["user", "name"], 'a "b" \\ \n ä 😀 # no comment'],
  ])("stays valid and keeps its comments and other values: %s", async (_name, keys, value) => {
    const text = await set("c.toml", TOML, keys, value);
    expect(plain(parse(text))).toEqual(expected(plain(parse(TOML)), keys, value));
    const lost = comments(TOML).filter((comment) => !text.includes(comment));
    // What stands inside of the value that is replaced may go with it.
    expect(lost.filter((comment) => comment !== "# first")).toEqual([]);
  });

  test("keeps its dotted keys", async () => {
    const text = 'assistant.model.id = "a/b" # it\nuser.name = "me"\n';
    expect(await set("c.toml", text, ["assistant", "model", "id"], "c/d")).toBe(
      'assistant.model.id = "c/d" # it\nuser.name = "me"\n',
    );
  });

  test("keeps its line endings and the order of its keys", async () => {
    const text = "[b]\r\nz = 1 # z\r\na = 2\r\n\r\n[a]\r\nx = 1\r\n";
    expect(await set("c.toml", text, ["b", "a"], 3)).toBe(text.replace("a = 2", "a = 3"));
  });

  test("that is empty or only a comment gets the key", async () => {
    for (const text of ["", "\n", "# Nothing yet.\n", "# Nothing yet."]) {
      const changed = await set("c.toml", text, ["assistant", "model", "id"], "a/b");
      expect(plain(parse(changed))).toEqual({ assistant: { model: { id: "a/b" } } });
      expect(changed.startsWith(text.trim())).toBe(true);
    }
  });

  test("keeps its lists of tables", async () => {
    const text =
      '[[assistant.instructions]]\ntitle = "a" # one\n\n[[assistant.instructions]]\ntitle = "b" # two\n';
    const changed = await set("c.toml", text, ["user", "name"], "me");
    expect(changed.startsWith(text)).toBe(true);
    expect(plain(parse(changed))).toEqual({
      assistant: { instructions: [{ title: "a" }, { title: "b" }] },
      user: { name: "me" },
    });
  });

  test.each(LAYOUTS)("keeps its other values, whatever is set: %j", async (text) => {
    const before = plain(parse(text));
    const key = fc.constantFrom("assistant", "model", "conversation", "tools", "*", "x", "run");
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.array(fc.string(), { maxLength: 2 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(key, { minLength: 1, maxLength: 4 }), value, async (keys, own) => {
        const after = parse(await set("c.toml", text, keys, own));
        expect(plain(after)).toEqual(expected(before, keys, own));
      }),
    );
  });

  test("gets a new tool below tables in any order", async () => {
    const keys = ["conversation", "tools", "fs_read_file", "run"];
    for (const text of LAYOUTS) {
      const after = parse(await set("c.toml", text, keys, "unattended"));
      expect(plain(after)).toEqual(expected(plain(parse(text)), keys, "unattended"));
    }
  });
});

describe("a JSON file", () => {
  test("keeps the order of its keys", async () => {
    const text = '{\n  "z": 1,\n  "a": {\n    "y": 1,\n    "b": 2\n  }\n}\n';
    expect(await set("c.json", text, ["a", "b"], 3)).toBe(text.replace('"b": 2', '"b": 3'));
    expect(await set("c.json", text, ["user", "name"], "me")).toBe(
      text.replace("  }\n}", '  },\n  "user": {\n    "name": "me"\n  }\n}'),
    );
  });

  test("keeps its indentation", async () => {
    const text = '{\n    "a": {\n        "b": 2\n    }\n}\n';
    expect(await set("c.json", text, ["a", "b"], 3)).toBe(text.replace("2", "3"));
  });
});

test("a YAML file is not edited, because its comments would be lost", async () => {
  for (const file of ["c.yaml", "c.yml"])
    await expect(set(file, "a: 1 # why\n", ["a"], 2)).rejects.toThrow(
      expect.objectContaining({
        code: "config_unreadable",
        message: expect.stringContaining(file),
      }),
    );
});

test("a file that cannot be parsed is named in the error, and not changed", async () => {
  const broken: [string, string][] = [
    ["c.toml", "this is = = not TOML"],
    ["c.json", '{"a": '],
    ["c.json", "[1, 2]"],
    ["c.json", '"text"'],
  ];
  for (const [file, text] of broken)
    await expect(set(file, text, ["user", "name"], "me")).rejects.toThrow(
      expect.objectContaining({
        code: "config_unreadable",
        message: expect.stringContaining(file),
      }),
    );
});

test("keys that every object has are harmless", async () => {
  for (const [file, text] of [
    ["c.toml", ""],
    ["c.json", "{}"],
  ] as const)
    for (const key of ["__proto__", "constructor"]) await set(file, text, [key, "polluted"], true);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

function set(file: string, text: string, keys: readonly string[], value: Json) {
  return setInText(file, text, { keys, value });
}

function comments(text: string) {
  return text.match(/#.*$/gm) ?? [];
}

function plain(value: unknown): Record<string, unknown> {
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
}

function expected(value: unknown, [key = "", ...rest]: readonly string[], set_: Json): unknown {
  const isTable = typeof value === "object" && value !== null && !Array.isArray(value);
  const table: Record<string, unknown> = isTable ? { ...value } : {};
  return { ...table, [key]: rest.length === 0 ? set_ : expected(table[key], rest, set_) };
}
