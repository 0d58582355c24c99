/** Config from every source is read, or rejected with a place and a reason. */
/* oxlint-disable vitest/no-standalone-expect -- `fuzz` makes a test of each property. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import * as fc from "fast-check";
import { dump } from "js-yaml";
import { stringify } from "smol-toml";
import { afterAll, expect, test } from "vitest";
import {
  ConfigError,
  configToJson,
  explainLayers,
  findUnusable,
  foldLayers,
  type LoadOptions,
  loadLayers,
  parseConfig,
  resolveTools,
} from "../../src/settings/config/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../src/util/index.ts";
import { anyConfig, ofTool, SECRET } from "../../src/settings/config/any-config.fixture.ts";
import { fuzz } from "./fuzz.ts";
import { explainGrowth } from "./growth.ts";
import { changedJson, hostileJson, withDepths } from "./hostile-json.ts";
import { damagedText, hostilePiece, hostileText } from "./hostile-text.ts";
import { scratchFolder } from "./scratch-folder.ts";

const folder = scratchFolder();
afterAll(() => folder[Symbol.dispose]());

const FORMATS: Readonly<Record<string, (value: object) => string>> = {
  toml: (value) => stringify(value),
  json: (value) => JSON.stringify(value, null, 2),
  yaml: (value) => dump(value),
};

/** A config with an answer in it, and perhaps mistakes elsewhere. */
const withAnswer: fc.Arbitrary<JsonObject> = fc
  .tuple(anyConfig(), changedJson(anyConfig()))
  .map(([first, second]) => {
    const config = isJsonObject(second) ? { ...first, ...second } : first;
    return { ...config, ...ofTool({ questions: { q: { answer: SECRET } }, run: "sometimes" }) };
  });

/** Config as people write it, with notations that programs do not use. */
const HAND_WRITTEN: Readonly<Record<string, readonly string[]>> = {
  toml: [
    '# A comment\nextends = ["more*.toml", { path = "none.toml", strategy = "after" }]\ninherit = false\n',
    "[template.values]\nday = 1979-05-27\ntime = 07:32:00\nlist = [\n  1, # one\n  { a = 2 },\n]\n",
    '[[assistant.instructions]]\ntitle = """a\nb"""\n[[assistant.instructions]]\nitems = [\'c\']\n',
    "config_load_paths = ['.']\nassistant.system_prompt = { value = 'a', strategy = 'append' }\n",
  ],
  yaml: [
    "# A comment\nassistant: &a\n  name: jp\n  system_prompt: |\n    one: 1\n    two\nuser: {name: 'x'}\n",
    'template:\n  values:\n    a: &x [1, 2]\n    b: *x\n    c: 2001-12-14\n    d: !!str 1\n    "e f": >-\n      g\n',
    "conversation:\n  attachments:\n  - a\n  - type: b\n    - c\n  tools: {x: {run: never}}\n? complex key\n: value\n",
    "---\nextends: [more.yaml]\n...\n---\nsecond: document\n",
  ],
  json: [
    '{"extends": ["more.json", 3], "assistant": {"instructions": [{"title": 1}, {"titel": "\\u0041"}]}}',
    '{"conversation": {"tools": {"x": {"run": "never", "command": "a \'b"}, "*": {"source": "local"}}}}',
  ],
};

const handWritten = fc.constantFrom("toml", "json", "yaml").chain((format) =>
  fc.record({
    format: fc.constant(format),
    text: damagedText(fc.constantFrom(...(HAND_WRITTEN[format] ?? []))),
  }),
);

const generated = fc
  .tuple(fc.constantFrom("toml", "json", "yaml"), fc.oneof(anyConfig(), withAnswer))
  .map(([format, value]) => ({ format, text: written(format, value) }))
  .chain(({ format, text }) =>
    fc.record({ format: fc.constant(format), text: damagedText(fc.constant(text)) }),
  );

const anyText = fc.oneof(generated, handWritten);

fuzz(
  "a file is parsed, or rejected by name without revealing an answer",
  400,
  fc.asyncProperty(anyText, async ({ format, text }) => {
    const file = place(`.jp/config.${format}`, text);
    place("user/config.toml", "assistant.name = 'jp'\nconversation.attachments = ['a']\n");
    place(`.jp/more.${format}`, text);
    const outcome = await load({ settings: ["more", "assistant.name=a"] });
    if (!(outcome instanceof ConfigError) || outcome.code === "config_not_found") return;
    const others = outcome.message
      .split("\n")
      .filter((line) => !line.startsWith(path.dirname(file)));
    expect(others).toEqual([]);
    expect(["config_invalid", "config_unreadable"]).toContain(outcome.code);
    if (outcome.code === "config_unreadable") expect(told(outcome)).not.toContain(SECRET);
  }),
);

fuzz(
  "errors about other keys do not reveal an answer",
  300,
  fc.asyncProperty(
    withAnswer,
    fc.constantFrom("toml", "json", "yaml", "words"),
    async (value, format) => {
      fc.pre(!holdsElsewhere(value));
      const settings = format === "words" ? [JSON.stringify(value)] : [];
      if (format !== "words") place(`.jp/config.${format}`, written(format, value));
      const outcome = await load({ settings });
      expect(outcome instanceof ConfigError ? told(outcome) : "").not.toContain(SECRET);
    },
  ),
);

fuzz(
  "a document of any shape is parsed, or rejected with a reason",
  600,
  fc.property(fc.oneof(changedJson(anyConfig()), hostileJson), (marked) => {
    const { config, errors } = parseConfig(withDepths(marked));
    if (errors.length > 0) expect(config).toEqual({});
    for (const { message } of errors) expect(message).not.toMatch(/\n|\bundefined\b.*\bat\b/);
  }),
);

const KEYS = [
  "assistant.model.id",
  "assistant.model.parameters.max_tokens",
  "assistant.system_prompt",
  "assistant.instructions",
  "conversation.tools.x.enable",
  "conversation.tools.x.questions.q.answer",
  "conversation.tools.x.questions.q.target",
  'conversation.tools."my.tool".run',
  "conversation.tools.'*'.style.inline_results",
  "conversation.attachments",
  "providers.llm.aliases.a",
  "providers.mcp.s.command",
  "template.values.a",
  "extends",
  "inherit",
  "__proto__.polluted",
  "constructor.prototype.polluted",
  "conversation.tools.__proto__.enable",
  "template.values.__proto__.polluted",
];

const anyValue = fc.oneof(
  fc.constantFrom("true", "12", "null", "[]", "{}", '"a"', "off", "openai/x", `"${SECRET}"`),
  hostileJson.map((value) => JSON.stringify(value)),
  hostileText,
);

const anySetting = fc.oneof(
  fc
    .tuple(fc.constantFrom(...KEYS), fc.constantFrom("=", ":=", "+=", ":+="), anyValue)
    .map(([key, sign, value]) => `${key}${sign}${value}`),
  damagedText(
    fc.tuple(fc.constantFrom(...KEYS), anyValue).map(([key, value]) => `${key}:=${value}`),
  ),
  damagedText(withAnswer.map((value) => JSON.stringify(value))),
  hostilePiece.map((piece) => `@${piece}`),
  hostileText,
);

fuzz(
  "command-line assignments are parsed, or rejected",
  500,
  fc.asyncProperty(fc.array(anySetting, { minLength: 1, maxLength: 3 }), async (settings) => {
    await load({ settings });
  }),
);

fuzz(
  "errors do not repeat a value from the command line",
  300,
  fc.asyncProperty(
    fc.constantFrom(...KEYS),
    fc.constantFrom("=", ":=", "+=", ":+=", " = ", ":"),
    damagedText(fc.constant(`"the answer is ${SECRET}"`)),
    async (key, sign, value) => {
      const isAnswer = key.endsWith(".answer");
      const outcome = await load({ settings: [`${key}${sign}${value}`] });
      if (isAnswer && outcome instanceof ConfigError && sign !== ":") {
        expect(told(outcome)).not.toContain(SECRET);
      }
    },
  ),
);

fuzz(
  "environment variables are parsed, reported as unknown, or rejected by name",
  400,
  fc.asyncProperty(
    fc.array(
      fc.tuple(
        fc.oneof(
          fc.constantFrom(...KEYS).map((key) => key.replaceAll(/[."'*]+/g, "_").toUpperCase()),
          fc
            .array(fc.constantFrom("CONVERSATION", "TOOLS", "X", "PARAMETERS", "PROPERTIES", ""))
            .map((words) => words.join("_")),
          hostileText,
        ),
        fc.oneof(
          anyValue,
          anyValue.map((value) => `:${value}`),
          anyValue.map((value) => `:+${value}`),
        ),
      ),
      { minLength: 1, maxLength: 3 },
    ),
    async (pairs) => {
      const variables = Object.fromEntries(pairs.map(([name, value]) => [`JP_CFG_${name}`, value]));
      await load({}, variables);
    },
  ),
);

test.each<[string, string, (count: number) => string]>([
  ["unknown keys in TOML", "toml", (count) => repeated(count, (index) => `unknown_${index} = 1\n`)],
  ["unknown keys in YAML", "yaml", (count) => repeated(count, (index) => `unknown_${index}: 1\n`)],
  [
    "unknown keys in JSON",
    "json",
    (count) => `{${repeated(count, (index) => `"u${index}":1,\n`)}"z":1}`,
  ],
  ["characters of a key", "toml", (count) => `${"x".repeat(count)} = 1\n`],
  ["blanks in YAML", "yaml", (count) => `unknown: a\n  b${" ".repeat(4 * count)}c\n`],
  ["quotes in TOML", "toml", (count) => `x = '${'"'.repeat(count)}'\n`],
  [
    "parts of a key in TOML",
    "toml",
    (count) => `template.values.a = [${"[],".repeat(count)}]\nx = 1\n`,
  ],
])("many %s take no longer than they are many", async (_what, format, make) => {
  const read = async (count: number) => {
    place(`.jp/config.${format}`, make(count));
    await load({});
  };
  expect(await explainGrowth(2_000, read)).toBeUndefined();
});

test.each<[string, (count: number) => string]>([
  ["quoted parts of a key", (count) => `${'"a".'.repeat(count)}.=x`],
  ["parts of a key", (count) => `${"a.".repeat(count)}b=x`],
  ["characters of a key", (count) => `assistant.${"x".repeat(count)}=x`],
  [
    "arguments of a command",
    (count) => `conversation.tools.x.command=${"a\\ 'b' \"c\" ".repeat(count)}'`,
  ],
])("many %s on the command line take no longer than they are many", async (_what, make) => {
  const read = async (count: number) => void (await load({ settings: [make(count)] }));
  expect(await explainGrowth(2_000, read)).toBeUndefined();
});

test("an ambiguous variable is read in linear time", async () => {
  const names = "A_PROPERTIES_".repeat(40);
  const variables = { [`JP_CFG_CONVERSATION_TOOLS_X_PARAMETERS_${names}`]: "x" };
  expect(await load({}, variables)).not.toBeInstanceOf(ConfigError);
});

/** Loads and resolves the config, or returns the error. Throws unexpected errors. */
async function load(
  options: Omit<LoadOptions, "places">,
  variables: Record<string, string> = {},
): Promise<ConfigError | object> {
  const places = {
    userFolder: path.join(folder.path, "user"),
    workspaceRoot: folder.path,
    cwd: folder.path,
    variables,
  };
  try {
    const { layers } = await loadLayers({ ...options, places });
    explainLayers(layers);
    const config = foldLayers(layers);
    findUnusable(config);
    resolveTools(config);
    JSON.stringify(configToJson(config));
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    if (/\n\s+at |call stack/.test(error.message)) throw new Error("a stack", { cause: error });
    return error;
  } finally {
    rmSync(path.join(folder.path, ".jp"), { recursive: true, force: true });
  }
}

function place(name: string, text: string): string {
  const file = path.join(folder.path, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

function told(error: ConfigError): string {
  return `${error.message}\n${error.hint ?? ""}\n${error.cause instanceof Error ? error.cause.message : ""}`;
}

function written(format: string, value: Json): string {
  try {
    return FORMATS[format]?.(withoutNulls(value) as object) ?? "";
  } catch {
    return JSON.stringify(value); // The format cannot express it.
  }
}

/** TOML has no null. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(entries.map(([key, member]) => [key, withoutNulls(member)]));
}

/** Whether the answer appears outside of the fields for answers. */
function holdsElsewhere(value: Json): boolean {
  const { conversation: _conversation, ...others } = value as JsonObject;
  return JSON.stringify(others).includes(SECRET);
}

function repeated(count: number, make: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => make(index)).join("");
}
