import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { SECRET } from "./any-config.fixture.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { findConfigFile, readConfigFile } from "./config-file.ts";

const NAME = { assistant: { name: "jp" }, list: [1, true] };

describe("a config file", () => {
  test.each([
    ["c.toml", 'list = [1, true]\n[assistant]\nname = "jp" # its name\n'],
    ["c.json", JSON.stringify(NAME)],
    ["c.yaml", "assistant: {name: jp}\nlist:\n  - 1\n  - true\n"],
    ["c.yml", '{"assistant": {"name": "jp"}, "list": [1, true]}'],
  ])("may be %s", async (name, text) => {
    const file = place(name, text);
    const read = await readConfigFile(file);
    expect([read.file, plain(read.value)]).toEqual([file, NAME]);
  });

  test.each([
    ["c.toml", ""],
    ["c.toml", "# nothing\n"],
    ["c.json", "{}"],
    ["c.yaml", ""],
    ["c.yaml", "# nothing yet\n"],
    ["c.yaml", "---\n"],
    ["c.yml", "null"],
  ])("may be empty: %s with %j", async (name, text) => {
    expect(plain((await readConfigFile(place(name, text))).value)).toEqual({});
  });

  test.each([
    ["c.toml", '[assistant]\nname = "jp"\n'],
    ["c.json", '{"assistant": {"name": "jp"}}'],
    ["c.yaml", "assistant: {name: jp}\n"],
  ])("may start with a byte order mark and have Windows line endings: %s", async (name, text) => {
    const read = await readConfigFile(place(name, `\uFEFF${text.replaceAll("\n", "\r\n")}`));
    expect(plain(read.value)).toEqual({ assistant: { name: "jp" } });
  });

  test.each([
    ["c.toml", '"$schema" = "./s.json"\nlist = [1, true]\nassistant.name = "jp"\n'],
    ["c.toml", '#:schema ./s.json\nlist = [1, true]\nassistant.name = "jp"\n'],
    ["c.json", JSON.stringify({ $schema: "./s.json", ...NAME })],
    ["c.yaml", "$schema: ./s.json\nassistant: {name: jp}\nlist: [1, true]\n"],
    ["c.yml", "# yaml-language-server: $schema=./s.json\nassistant: {name: jp}\nlist: [1, true]\n"],
  ])("may name its schema, which is not part of the config: %s", async (name, text) => {
    expect(plain((await readConfigFile(place(name, text))).value)).toEqual(NAME);
  });

  test("has no other use for $schema: a table of that name stays, to be warned about", async () => {
    const { value } = await readConfigFile(place("c.json", '{"$schema": {"run": "ask"}}'));
    expect(plain(value)).toEqual({ $schema: { run: "ask" } });
  });

  test("holds dates as text in TOML, because config is JSON", async () => {
    const file = place(
      "c.toml",
      "day = 1979-05-27\ntime = 07:32:00\nlist = [{ at = 1979-05-27T07:32:00Z }]\n",
    );
    const { value } = await readConfigFile(file);
    expect(value).toEqual(JSON.parse(JSON.stringify(value)));
  });
});

describe("a syntax error", () => {
  test.each([
    ["c.toml", 'a = 1\n\n[assistant]\nname = = "jp"\n', /4:/],
    ["c.toml", "a = 1\na = 2\n", /2:/],
    ["c.json", '{\n  "a": 1,\n}', /line 3|3:1/],
    ["c.yaml", "a: 1\n b: 2\n", /2:/],
    ["c.yaml", "a: 1\na: 2\n", /2:/],
  ])("is reported with file and position: %s with %j", async (name, text, where) => {
    const file = place(name, text);
    const error: unknown = await readConfigFile(file).catch((cause: unknown) => cause);
    expect(error).toMatchObject({
      code: "config_unreadable",
      message: expect.stringMatching(where),
    });
    expect(String(error)).toContain(`${file}: `);
  });

  test.each([
    ["c.toml", `[conversation.tools.x.questions.q]\nanswer = "${SECRET}"\ntarget = \n`],
    ["c.toml", `[conversation.tools.x.questions.q]\nanswer = "${SECRET}\n`],
    ["c.json", `{"conversation":{"tools":{"x":{"questions":{"q":{"answer":"${SECRET}" oops}}}}}}`],
    ["c.json", `{"answer": ${SECRET}}`],
    ["c.yaml", `questions:\n  q:\n    answer: "${SECRET}\n`],
    ["c.yaml", `questions:\n  q: {answer: ${SECRET}}}\n`],
    ["c.yaml", `answer: *${SECRET}\n`],
    ["c.yaml", `answer: !${SECRET} x\n`],
    ["c.yaml", `answer: !%${SECRET} x\n`],
    ["c.yaml", `answer: !<${SECRET}^> x\n`],
    ["c.yaml", `answer: !${SECRET}!a x\n`],
    ["c.yaml", `%TAG !${SECRET}! a\n%TAG !${SECRET}! a\n---\na: 1\n`],
    ["c.yaml", `${SECRET}: |\n${SECRET}\n  ${SECRET}: [\n`],
    ["c.toml", `${SECRET}\n`],
    ["c.toml", `answer = ${SECRET}\n`],
    ["c.toml", `answer = 0x${SECRET}\n`],
    ["c.toml", `answer = 1979-${SECRET}\n`],
    ["c.toml", `answer = "\\u${SECRET}"\n`],
    ["c.json", SECRET],
    ["c.json", `{"answer": "\\u${SECRET}"}`],
    ["c.json", `{"answer": "${SECRET}`],
  ])("does not quote an answer in the file: %s with %j", async (name, text) => {
    counters("T-PATH-5");
    const error: unknown = await readConfigFile(place(name, text)).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "config_unreadable" });
    expect(String(error)).not.toContain(SECRET);
  });
});

test("a missing file, or a folder in its place, is reported", async () => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, "d.toml"));
  for (const name of ["c.toml", "d.toml", "d.toml/c.toml"])
    await expect(readConfigFile(path.join(folder, name))).rejects.toThrow(
      expect.objectContaining({
        code: "config_not_found",
        message: `Config file not found: ${path.join(folder, name)}`,
      }),
    );
});

test("TOML is read before JSON and JSON before YAML, and never a folder", () => {
  const folder = temporaryFolder();
  const found = () => {
    const file = findConfigFile(folder, "config");
    return file === undefined ? undefined : path.basename(file);
  };
  const steps = [found()];
  mkdirSync(path.join(folder, "config.toml"));
  for (const name of ["config.txt", "config.yml", "config.yaml", "config.json"]) {
    writeFileSync(path.join(folder, name), "");
    steps.push(found());
  }
  expect(steps).toEqual([undefined, undefined, "config.yml", "config.yaml", "config.json"]);
});

test("keys that every object has are harmless in any format", async () => {
  const files: [string, string][] = [
    ["c.toml", "[__proto__]\npolluted = 1\n[constructor.prototype]\npolluted = 1\n"],
    ["c.json", '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}'],
    ["c.yaml", "__proto__: {polluted: 1}\nconstructor: {prototype: {polluted: 1}}\n"],
  ];
  for (const [name, text] of files) {
    const { value } = await readConfigFile(place(name, text));
    expect((value as { polluted?: unknown }).polluted).toBeUndefined();
  }
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test.each([
  ["c.yaml", "a: &a [*a]\n", "nested deeper than 1000 levels"],
  ["c.json", `{"a": ${"[".repeat(20_000)}${"]".repeat(20_000)}}`, "nested deeper than 1000 levels"],
  ["c.toml", `a${".a".repeat(20_000)} = 1\n`, "nested deeper than 1000 levels"],
  [
    "c.yaml",
    `a0: &a0 [x,x]\n${Array.from({ length: 60 }, (_, index) => `a${index + 1}: &a${index + 1} [*a${index},*a${index}]\n`).join("")}`,
    "more than 100000 values",
  ],
])("%s that expands to more than memory or stack can hold is rejected", async (name, text, why) => {
  const file = place(name, text);
  await expect(readConfigFile(file)).rejects.toThrow(
    expect.objectContaining({ code: "config_unreadable", message: `${file}: ${why}` }),
  );
});

test("a file that the disk refuses to read is reported", async () => {
  const file = path.join(temporaryFolder(), "c.toml");
  symlinkSync(file, file);
  await expect(readConfigFile(file)).rejects.toThrow(
    expect.objectContaining({
      code: "config_unreadable",
      message: `Cannot read ${file} (ELOOP).`,
    }),
  );
});

function place(name: string, text: string): string {
  const file = path.join(temporaryFolder(), name);
  writeFileSync(file, text);
  return file;
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
