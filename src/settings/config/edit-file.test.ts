import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { parse } from "smol-toml";
import type { Json } from "../../util/index.ts";
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

  test.each<[string, string, string, string]>([
    [
      "below the last key of its table",
      "assistant.tool_choice",
      'name = "jp" # its name\n',
      "tool_choice = 1\n",
    ],
    ["below a header without keys", "empty.n", "[empty]\n", "n = 1\n"],
    ["above keys that are commented out", "user.email", 'name = "me"\n', "email = 1\n"],
    [
      "in a new table, below the tables it belongs to and above the comment of the next",
      "assistant.request.max_retries",
      'id = "openai/gpt" # cheap\n\n',
      "[assistant.request]\nmax_retries = 1\n\n",
    ],
    [
      "in a new table, below the comments of the table above",
      "user.address.city",
      '# email = "me@example.org"\n\n',
      "[user.address]\ncity = 1\n\n",
    ],
    [
      "in a new table, above the tables inside it",
      "style.n",
      '[user]\nname = "me"\n# email = "me@example.org"\n\n',
      "[style]\nn = 1\n\n",
    ],
    ["at the end, if no table is related", "other.n", "# The end.\n", "\n[other]\nn = 1\n"],
    [
      "outside all tables, above them and below the comment of the file",
      "n",
      "# Ours.\n\n",
      "n = 1\n\n",
    ],
  ])("gets a new key %s", async (_name, key, above, added) => {
    const text = `# Ours.

# The assistant.
[assistant] # who
name = "jp" # its name

[assistant.model]
id = "openai/gpt" # cheap

# ---- Empty ----

# Nothing yet.
[empty]

# About the user.
[user]
name = "me"
# email = "me@example.org"

# How things look.
[style.typewriter]
text_delay = "1ms"
# The end.
`;
    expect(text.split(above)).toHaveLength(2);
    for (const eol of ["\n", "\r\n"]) {
      const written = (words: string) => words.replaceAll("\n", eol);
      expect(await set("c.toml", written(text), key.split("."), 1)).toBe(
        written(text.replace(above, above + added)),
      );
    }
  });

  test.each<[string, string, string, string]>([
    [
      "dotted keys",
      "a.b = 1 # it\n\n# More.\n[t]\nx = 1\n",
      "a.c.d",
      "a.b = 1 # it\na.c.d = 1\n\n# More.\n[t]\nx = 1\n",
    ],
    ["dotted keys of a table", "[t]\na.b = 1\nx = 1\n", "t.a.c", "[t]\na.b = 1\na.c = 1\nx = 1\n"],
    [
      "an inline table",
      "[t]\nx = { y = 1 } # it\n\n# More.\n[u]\n",
      "t.x.z",
      "[t]\nx = { y = 1, z = 1 } # it\n\n# More.\n[u]\n",
    ],
    [
      "a list of tables",
      "[[a.l]]\nx = 1\n\n# Two.\n[[a.l]]\nx = 2\n\n[b]\ny = 1\n",
      "a.m.n",
      "[[a.l]]\nx = 1\n\n# Two.\n[[a.l]]\nx = 2\n\n[a.m]\nn = 1\n\n[b]\ny = 1\n",
    ],
    [
      "indentation",
      "[a]\n  x = 1\n\n[b]\n  y = 1\n",
      "a.z",
      "[a]\n  x = 1\n  z = 1\n\n[b]\n  y = 1\n",
    ],
    [
      "tables without blank lines",
      "[a.b]\nx = 1\n# More.\n[c]\ny = 1\n",
      "a.d.z",
      "[a.b]\nx = 1\n[a.d]\nz = 1\n# More.\n[c]\ny = 1\n",
    ],
    ["no final line break", "[a]\nx = 1", "a.z", "[a]\nx = 1\nz = 1\n"],
    ["no final line break but CRLF", "[a]\r\nx = 1", "b.z", "[a]\r\nx = 1\r\n\r\n[b]\r\nz = 1\r\n"],
    [
      "a text over several lines",
      '[a]\nx = """\n[b]\ny = 1"""\n\n[c]\n',
      "a.z",
      '[a]\nx = """\n[b]\ny = 1"""\nz = 1\n\n[c]\n',
    ],
    ["a byte order mark", "\uFEFF[a]\nx = 1\n\n[b]\n", "a.z", "\uFEFF[a]\nx = 1\nz = 1\n\n[b]\n"],
    [
      "names in quotes",
      "[a.'*']\nx = 1\n\n[b]\n",
      "a.it's me.z",
      "[a.'*']\nx = 1\n\n[a.\"it's me\"]\nz = 1\n\n[b]\n",
    ],
  ])("with %s gets a new key in its style", async (_name, text, key, after) => {
    expect(await set("c.toml", text, key.split("."), 1)).toBe(after);
  });

  test("gets a new list or table below the tables it belongs to", async () => {
    const text = "[a]\nx = 1\n\n# More.\n[b]\ny = 1\n";
    expect([
      await set("c.toml", text, ["a", "l"], [{ t: "u" }, { t: "v" }]),
      await set("c.toml", text, ["a", "t"], { u: 1, v: { w: 2 } }),
      await set("c.toml", text, ["a", "e"], []),
    ]).toEqual([
      text.replace("# More", '[[a.l]]\nt = "u"\n\n[[a.l]]\nt = "v"\n\n# More'),
      text.replace("# More", "[a.t]\nu = 1\n\n[a.t.v]\nw = 2\n\n# More"),
      text.replace("x = 1\n", "x = 1\ne = []\n"),
    ]);
  });

  test("keeps the comments of a table whose keys are replaced", async () => {
    const text =
      "# The table.\n[a.b] # it\nx = 1 # same\n# About y.\ny = 2\n\n# More.\n[c]\nz = 1\n";
    expect([
      await set("c.toml", text, ["a", "b"], { x: 1, w: 3 }),
      await set("c.toml", text, ["a", "b"], 5),
    ]).toEqual([
      "# The table.\n[a.b] # it\nx = 1 # same\nw = 3\n\n# More.\n[c]\nz = 1\n",
      "# The table.\n\n# More.\n[c]\nz = 1\n\n[a]\nb = 5\n",
    ]);
  });

  test("loses only what is removed, and the comment about it", async () => {
    const text =
      "# Ours.\na = 1\n\n# About b.\n[b]\n# About x.\nx = 1\ny = 2\n\n# About c.\n[b.c]\nz = 1\n\n# About d.\n[d]\nw = 1\n";
    const remove = async (...keys: string[]) => setInText("c.toml", text, { keys });
    expect([
      await remove("b", "x"),
      await remove("b", "c", "z"),
      await remove("b"),
      await remove("d", "w"),
      await remove("a"),
    ]).toEqual([
      text.replace("# About x.\nx = 1\n", ""),
      text.replace("# About c.\n[b.c]\nz = 1\n\n", ""),
      "# Ours.\na = 1\n\n# About d.\n[d]\nw = 1\n",
      text.replace("\n# About d.\n[d]\nw = 1\n", ""),
      text.replace("a = 1\n", ""),
    ]);
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

  test("keeps its line breaks", async () => {
    const text = '{\r\n  "a": 1\r\n}\r\n';
    expect(await set("c.json", text, ["a"], 3)).toBe(text.replace("1", "3"));
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
