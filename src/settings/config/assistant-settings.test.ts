import { describe, expect, test } from "vitest";
import { readConfig } from "./any-config.fixture.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import {
  type AssistantSettings,
  parseCachePolicy,
  resolveAssistant,
  resolveInquiryAssistant,
  resolveSections,
} from "./assistant-settings.ts";
import { DEFAULT_SYSTEM_PROMPT } from "./default-system-prompt.ts";
import { DEFAULTS } from "./defaults.ts";
import { configToJson, mergeConfig } from "./layers.ts";

const MODEL = { id: "anthropic/claude" };

const UNSAID: AssistantSettings = {
  name: "jp",
  model: { provider: "anthropic", name: "claude" },
  parameters: { other: {} },
  systemPrompt: DEFAULT_SYSTEM_PROMPT,
  sections: [],
  toolChoice: "auto",
  request: {
    maxRetries: 5,
    baseBackoffMs: 1000,
    maxBackoffMs: 60_000,
    idleTimeoutMs: 60_000,
    promptTimeoutMs: 600_000,
    maxResponseBytes: 1_048_576,
  },
  cache: "short",
};

const EVERYTHING: JsonObject = {
  name: "Ada",
  system_prompt: "Be brief.",
  system_prompt_sections: [{ title: "Tone", content: "Calm." }],
  instructions: [{ title: "Rules", items: ["Think."] }],
  tool_choice: "required",
  model: {
    id: "openai/gpt",
    parameters: {
      max_tokens: 100,
      reasoning: "high",
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop_words: ["END"],
      other: { seed: 1 },
      verbosity: "low",
    },
  },
  request: {
    max_retries: 1,
    base_backoff_ms: 10,
    max_backoff_secs: 2,
    stream_idle_timeout_secs: 0,
    prompt_timeout_secs: 1.5,
    max_response_bytes: 0,
    cache: "long",
  },
};

const ALL_OF_IT: AssistantSettings = {
  name: "Ada",
  model: { provider: "openai", name: "gpt" },
  parameters: {
    maxTokens: 100,
    temperature: 0.5,
    topP: 0.9,
    topK: 40,
    stopWords: ["END"],
    reasoning: { type: "effort", effort: "high", isHidden: false },
    other: { seed: 1, verbosity: "low" },
  },
  systemPrompt: "Be brief.",
  sections: [
    { title: "Tone", content: "Calm." },
    { title: "Rules", content: "- Think." },
  ],
  toolChoice: "required",
  request: {
    maxRetries: 1,
    baseBackoffMs: 10,
    maxBackoffMs: 2000,
    idleTimeoutMs: 0,
    promptTimeoutMs: 1500,
    maxResponseBytes: 0,
  },
  cache: "long",
};

describe("the main assistant", () => {
  test("with only a model gets the defaults", () => {
    const config = readConfig({ assistant: { model: MODEL } });
    expect(resolveAssistant(mergeConfig(DEFAULTS, config))).toStrictEqual(UNSAID);
  });

  test("gets the same defaults without the layer of defaults", () => {
    expect(resolve({ model: MODEL })).toStrictEqual(UNSAID);
  });

  test("has everything in its config", () => {
    expect(resolve(EVERYTHING)).toStrictEqual(ALL_OF_IT);
  });

  test("has no system prompt if it is empty", () => {
    const { systemPrompt: _said, ...rest } = UNSAID;
    expect(resolve({ model: MODEL, system_prompt: " " })).toStrictEqual(rest);
  });

  test("needs a model, and the error says how to set one", () => {
    expect(() => resolve({})).toThrow(
      expect.objectContaining({
        code: "no_model",
        commandHint: expect.stringContaining("jp config set assistant.model.id provider/name"),
      }),
    );
  });

  test("may be required to call one tool", () => {
    expect(resolve({ model: MODEL, tool_choice: "fs_read_file" }).toolChoice).toEqual({
      tool: "fs_read_file",
    });
  });

  test("never waits longer than the longest timer", () => {
    const { request } = resolve({
      model: MODEL,
      request: { stream_idle_timeout_secs: 1e9, max_backoff_secs: 1e9 },
    });
    expect(request).toMatchObject({ idleTimeoutMs: 2 ** 31 - 1, maxBackoffMs: 2 ** 31 - 1 });
  });

  test.each<[Json, unknown]>([
    [true, { type: "auto", isHidden: false }],
    ["auto", { type: "auto", isHidden: false }],
    [false, { type: "off" }],
    ["off", { type: "off" }],
    ["none", { type: "off" }],
    ["low", { type: "effort", effort: "low", isHidden: false }],
    [{ effort: "auto" }, { type: "auto", isHidden: false }],
    [{ exclude: true }, { type: "auto", isHidden: true }],
    [{ effort: "off", exclude: true }, { type: "off" }],
    [{ effort: 0 }, { type: "off" }],
    [{ effort: 2048 }, { type: "effort", effort: 2048, isHidden: false }],
    [
      { effort: "max", exclude: true },
      { type: "effort", effort: "max", isHidden: true },
    ],
  ])("reasons as configured: %j", (reasoning, expected) => {
    const { parameters } = resolve({ model: { ...MODEL, parameters: { reasoning } } });
    expect(parameters).toStrictEqual({ reasoning: expected, other: {} });
  });
});

describe("the assistant that answers a question", () => {
  test("is the main one by default", () => {
    expect(resolveInquiry({ assistant: EVERYTHING })).toStrictEqual(ALL_OF_IT);
  });

  test("has everything configured for inquiries", () => {
    expect(
      resolveInquiry({
        assistant: { model: MODEL, system_prompt_sections: [{ content: "Main." }] },
        conversation: { inquiry: { assistant: EVERYTHING } },
      }),
    ).toStrictEqual(ALL_OF_IT);
  });

  test("has everything configured for the question", () => {
    expect(
      resolveInquiry(
        {
          assistant: { model: MODEL },
          conversation: { inquiry: { assistant: { name: "Bob", request: { cache: false } } } },
        },
        EVERYTHING,
      ),
    ).toStrictEqual(ALL_OF_IT);
  });

  test("takes each value from the most specific config that sets it", () => {
    const settings = resolveInquiry(
      {
        assistant: {
          system_prompt: "Main.",
          model: { ...MODEL, parameters: { temperature: 1, top_k: 1, max_tokens: 1, seed: 1 } },
          request: { max_retries: 1, max_response_bytes: 1 },
        },
        conversation: {
          inquiry: {
            assistant: {
              model: { id: "openai/small", parameters: { temperature: 2, top_k: 2 } },
              request: { cache: "1h", max_retries: 2 },
            },
          },
        },
      },
      { model: { parameters: { temperature: 0 } }, request: { max_retries: 0 } },
    );
    expect(settings).toStrictEqual({
      ...UNSAID,
      systemPrompt: "Main.",
      model: { provider: "openai", name: "small" },
      parameters: { temperature: 0, topK: 2, maxTokens: 1, other: { seed: 1 } },
      request: { ...UNSAID.request, maxRetries: 0, maxResponseBytes: 1 },
      cache: "long",
    });
  });

  test("has the same prompt before and after a conversation records its config", () => {
    const config = readConfig({
      assistant: { model: MODEL, system_prompt_sections: [{ content: "Main." }] },
      conversation: { inquiry: { assistant: { system_prompt_sections: [{ content: "Own." }] } } },
    });
    const remembered = mergeConfig(config, readConfig(configToJson(config)));
    const sections = [config, remembered].map(
      (each) => resolveInquiryAssistant(each, { type: "assistant", assistant: {} }).sections,
    );
    expect(sections).toStrictEqual([[{ content: "Own." }], [{ content: "Own." }]]);
  });

  test("may be named by an alias", () => {
    const { model } = resolveInquiry(
      { providers: { llm: { aliases: { small: "openai/gpt-mini" } } } },
      { model: { id: "small" } },
    );
    expect(model).toEqual({ provider: "openai", name: "gpt-mini" });
  });
});

function resolve(assistant: JsonObject): AssistantSettings {
  return resolveAssistant(readConfig({ assistant }));
}

function resolveInquiry(config: JsonObject, target: JsonObject = {}): AssistantSettings {
  const { assistant = {} } = readConfig({ assistant: target });
  return resolveInquiryAssistant(readConfig(config), { type: "assistant", assistant });
}

test("sections and instructions are sorted by position, then as written", () => {
  const sections = resolveSections(
    [
      { title: "B", content: "b" },
      { content: "last", position: 10 },
      { title: "C", content: "c", position: 0 },
      { content: "first", position: -900 },
    ],
    [
      { title: "D", items: ["d"] },
      { title: "second", items: ["e"], position: -1 },
    ],
  );
  expect(sections).toStrictEqual([
    { content: "first" },
    { title: "second", content: "- e" },
    { title: "B", content: "b" },
    { title: "C", content: "c" },
    { title: "D", content: "- d" },
    { content: "last" },
  ]);
});

test("a section with a tag is wrapped in an element of that name", () => {
  expect(resolveSections([{ title: "Who", tag: "identity", content: "You.\n" }], [])).toEqual([
    { title: "Who", content: "<identity>\nYou.\n</identity>" },
  ]);
});

test("an instruction has its description, items and examples", () => {
  const examples = ["One.\nTwo.", { good: "yes", bad: "no", weight: 2 }, 3];
  expect(
    resolveSections(
      [],
      [{ title: "Rules", description: "Follow them.\n", items: ["A", "B\nb"], examples }],
    ),
  ).toEqual([
    {
      title: "Rules",
      content: [
        "Follow them.",
        "",
        "- A",
        "- B",
        "  b",
        "",
        "Examples:",
        "",
        "- One.",
        "  Two.",
        "- good: yes",
        "  bad: no",
        "  weight: 2",
        "- 3",
      ].join("\n"),
    },
  ]);
});

test("empty sections and instructions are left out", () => {
  expect(
    resolveSections(
      [
        { title: "T", content: " " },
        { tag: "t", content: "" },
      ],
      [{ title: "T" }, {}],
    ),
  ).toEqual([]);
});

test.each([
  [true, "short"],
  ["short", "short"],
  ["long", "long"],
  [false, "off"],
  ["off", "off"],
  ["0", "off"],
  ["0s", "off"],
  ["1ms", "short"],
  ["5m", "short"],
  ["59m 59s", "short"],
  ["60m", "long"],
  ["1h", "long"],
  ["0.5h30m", "long"],
  [" 1d ", "long"],
])("%j is %s", (written, expected) => {
  expect(parseCachePolicy(written)).toBe(expected);
});

test.each(["", "sometimes", "5", "5 years", "-1h", "1h and more", "toString"])(
  "%j is refused",
  (written) => {
    expect(() => parseCachePolicy(written)).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: expect.stringContaining("assistant.request.cache: expected true, short"),
      }),
    );
  },
);
