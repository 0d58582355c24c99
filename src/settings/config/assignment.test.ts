import { describe, expect, test } from "vitest";
import { ofTool, readConfig, SECRET } from "./any-config.fixture.ts";
import type { Json } from "../../util/index.ts";
import { parseAssignment, splitPath } from "./assignment.ts";
import { foldLayers } from "./layers.ts";
import { parseConfigOrThrow } from "./parse-config.ts";

const ANSWER = "conversation.tools.x.questions.q.answer";

describe("key=text", () => {
  test("is text where the schema allows text, whatever it looks like", () => {
    expect([
      valueOf("user.name=me"),
      valueOf("user.name=true"),
      valueOf("user.name=3"),
      valueOf("user.name=null"),
      valueOf("user.name="),
      valueOf("user.name=a=b:=c += d"),
      valueOf("user.name= two\nlines "),
      valueOf('assistant.name={"a":1}'),
    ]).toStrictEqual([
      { user: { name: "me" } },
      { user: { name: "true" } },
      { user: { name: "3" } },
      { user: { name: "null" } },
      { user: { name: "" } },
      { user: { name: "a=b:=c += d" } },
      { user: { name: " two\nlines " } },
      { assistant: { name: '{"a":1}' } },
    ]);
  });

  test("is the number, boolean or word that the schema allows", () => {
    const parameters = "assistant.model.parameters";
    expect([
      valueOf("assistant.request.max_retries=3"),
      valueOf(`${parameters}.temperature=0.5`),
      valueOf(`${parameters}.reasoning=high`),
      valueOf(`${parameters}.reasoning=true`),
      valueOf("conversation.start_local=true"),
      valueOf("conversation.tools.x.enable=false"),
      valueOf("conversation.tools.x.enable=explicit"),
      valueOf("conversation.tools.x.style.inline_results=5"),
      valueOf("conversation.tools.x.style.inline_results=full"),
      valueOf("assistant.model.id=openai/gpt"),
    ]).toStrictEqual([
      { assistant: { request: { max_retries: 3 } } },
      { assistant: { model: { parameters: { temperature: 0.5 } } } },
      { assistant: { model: { parameters: { reasoning: "high" } } } },
      { assistant: { model: { parameters: { reasoning: true } } } },
      { conversation: { start_local: true } },
      ofTool({ enable: false }),
      ofTool({ enable: "explicit" }),
      ofTool({ style: { inline_results: 5 } }),
      ofTool({ style: { inline_results: "full" } }),
      { assistant: { model: { id: "openai/gpt" } } },
    ]);
  });

  test("is a boolean or a number where the schema also allows text", () => {
    expect([
      valueOf("assistant.request.cache=false"),
      valueOf("assistant.request.cache=long"),
      valueOf("style.reasoning.display=80"),
      valueOf("interrupt.tool_call.compose_in_editor=true"),
    ]).toStrictEqual([
      { assistant: { request: { cache: false } } },
      { assistant: { request: { cache: "long" } } },
      { style: { reasoning: { display: 80 } } },
      { interrupt: { tool_call: { compose_in_editor: true } } },
    ]);
  });

  test("that does not fit is left to the schema to reject", () => {
    expect(() => apply("conversation.start_local=yes")).toThrow(/expected boolean, got a string/);
  });

  test("replaces a list or a text that layers add to", () => {
    expect(apply("assistant.system_prompt=own", { assistant: { system_prompt: "below" } })).toEqual(
      readConfig({ assistant: { system_prompt: "own" } }),
    );
  });
});

describe("key:=JSON", () => {
  test("is parsed as JSON", () => {
    expect([
      valueOf('user.name:="3"'),
      valueOf('conversation.tools.x.enable:={"state":false}'),
      valueOf(`${ANSWER}:=[1, {"a": null}]`),
      valueOf('assistant.request:={"max_retries": 1}'),
    ]).toStrictEqual([
      { user: { name: "3" } },
      ofTool({ enable: { state: false } }),
      ofTool({ questions: { q: { answer: [1, { a: null }] } } }),
      { assistant: { request: { max_retries: 1 } } },
    ]);
  });

  test("replaces a list that layers add to", () => {
    const below = { conversation: { attachments: ["a"] } };
    const merged = apply('conversation.attachments:=["b"]', below);
    expect(merged.conversation?.attachments?.value).toEqual(["b"]);
  });

  test("of null resets the key", () => {
    const below = { assistant: { name: "a", tool_choice: "none" } };
    expect({
      parsed: parseAssignment("assistant.name:=null"),
      applied: apply("assistant.name:=null", below),
    }).toEqual({
      parsed: { value: {}, cleared: [["assistant", "name"]] },
      applied: { assistant: { tool_choice: "none" } },
    });
  });

  test("is rejected if it is not valid JSON", () => {
    expect(() => parseAssignment("user.name:=me")).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: expect.stringMatching(/invalid JSON/),
      }),
    );
  });
});

describe("key+=text and key:+=JSON", () => {
  test("append to a text and to a list", () => {
    const below = { assistant: { system_prompt: "a" }, conversation: { attachments: ["a"] } };
    expect([
      apply("assistant.system_prompt+=b", below).assistant?.system_prompt?.value,
      apply('assistant.system_prompt:+="b"', below).assistant?.system_prompt?.value,
      apply('conversation.attachments:+=["b"]', below).conversation?.attachments?.value,
    ]).toEqual(["a\n\nb", "a\n\nb", ["a", "b"]]);
  });

  test("append one entry to a list", () => {
    const below = { conversation: { attachments: ["a"] } };
    expect(apply("conversation.attachments+=b.md", below).conversation?.attachments?.value).toEqual(
      ["a", "b.md"],
    );
  });

  test("do not reset a key: null cannot be appended", () => {
    expect(() => apply("conversation.attachments:+=null")).toThrow(/attachments/);
  });

  test("are rejected where nothing can be appended", () => {
    const words = [
      "user.name+=b",
      "conversation.max_cycles+=1",
      "user:+=null",
      'assistant.model.parameters.stop_words:+=["b"]',
      'config_load_paths:+=["b"]',
    ];
    const silent = words.filter((word) => {
      try {
        return parseAssignment(word) !== undefined;
      } catch {
        return false;
      }
    });
    expect(silent).toEqual([]);
  });
});

describe("a JSON object", () => {
  test("is a layer, and null in it resets a key", () => {
    const words =
      ' {"assistant":{"name":null,"request":{"cache":null,"max_retries":1}},"user":null}';
    expect(parseAssignment(words)).toEqual({
      value: { assistant: { request: { max_retries: 1 } } },
      cleared: [["assistant", "name"], ["assistant", "request", "cache"], ["user"]],
    });
  });

  test("keeps null inside values that hold any JSON", () => {
    const raw = {
      ...ofTool({
        questions: { q: { answer: { reason: null } } },
        options: { deep: { nothing: null }, list: [null] },
        parameters: { p: { enum: [null] } },
      }),
    };
    const { value, cleared } = parseAssignment(JSON.stringify(raw)) ?? {};
    expect({ value, cleared }).toEqual({ value: raw, cleared: [] });
  });

  test("is rejected if it is not valid JSON or not an object", () => {
    for (const words of ["{bad", "{} trailing", '{"a":}'])
      expect(() => parseAssignment(words)).toThrow(
        expect.objectContaining({ code: "config_invalid" }),
      );
  });
});

describe("a key", () => {
  test("may be quoted to contain a dot", () => {
    expect([
      splitPath('conversation.tools."my.tool".run'),
      splitPath("conversation.tools.'*'.run"),
      splitPath("conversation.tools.*.run"),
      splitPath(""),
    ]).toEqual([
      ["conversation", "tools", "my.tool", "run"],
      ["conversation", "tools", "*", "run"],
      ["conversation", "tools", "*", "run"],
      [],
    ]);
  });

  test.each([
    ["conversation.tools.'*'.run=skip", { conversation: { tools: { "*": { run: "skip" } } } }],
    ['conversation.tools."my.tool".run=skip', ofTool({ run: "skip" }, "my.tool")],
    [`${ANSWER}:=true`, ofTool({ questions: { q: { answer: true } } })],
    ["conversation.tools.x.options.dry_run:=true", ofTool({ options: { dry_run: true } })],
    [
      "conversation.tools.x.parameters.p.type=string",
      ofTool({ parameters: { p: { type: "string" } } }),
    ],
    ["assistant.model.parameters.seed:=1", { assistant: { model: { parameters: { seed: 1 } } } }],
    ["template.values.a.b=c", { template: { values: { a: { b: "c" } } } }],
    ["providers.mcp.s.command=x", { providers: { mcp: { s: { command: "x" } } } }],
  ] as const)("reaches into tables of names: %s", (words, expected) => {
    expect(valueOf(words)).toStrictEqual(expected);
  });

  test.each([
    ["conversation.tools.x.enable.state=false", { enable: { state: false } }],
    ["conversation.tools.x.enable.allow_toggle=never", { enable: { allow_toggle: "never" } }],
    ["conversation.tools.x.detached.tool=deny", { detached: { tool: "deny" } }],
    [
      "conversation.tools.x.questions.q.target.model.id=a/b",
      { questions: { q: { target: { model: { id: "a/b" } } } } },
    ],
    ["conversation.tools.x.options.paths.root=src", { options: { paths: { root: "src" } } }],
  ] as const)(
    "reaches into tables that have a shorthand, as it does in a file: %s",
    (words, tool) => {
      expect(valueOf(words)).toStrictEqual(ofTool(tool));
    },
  );

  test("that is unknown is passed on, for the caller to warn about", () => {
    expect([valueOf("assistant.nmae=x"), valueOf("nothing.at.all:=[1]")]).toStrictEqual([
      { assistant: { nmae: "x" } },
      { nothing: { at: { all: [1] } } },
    ]);
  });

  test("with an empty part is rejected", () => {
    for (const words of [".=x", "user..name=x", "user.name.=x", ".user.name=x"])
      expect(() => parseAssignment(words)).toThrow(
        expect.objectContaining({ code: "config_invalid" }),
      );
  });

  test("of many quoted parts is rejected quickly", () => {
    expect(() => parseAssignment(`${'"a".'.repeat(60)}.=x`)).toThrow(
      expect.objectContaining({ code: "config_invalid" }),
    );
  });

  test("of very many parts is parsed", () => {
    expect(parseAssignment(`${"a.".repeat(20_000)}b=x`)?.cleared).toEqual([]);
  });

  test("that every object has is harmless", () => {
    for (const words of [
      "__proto__.polluted=1",
      "constructor.prototype.polluted=1",
      "assistant.__proto__.polluted=1",
    ])
      apply(words, {}, { isLoose: true });
    expect(() => apply("conversation.tools.__proto__.run=ask")).toThrow("cannot be used");
    expect(() => apply("template.__proto__.polluted=1")).toThrow("cannot be used");
    apply(
      '{"__proto__":{"polluted":1},"template":{"__proto__":{"polluted":null}}}',
      {},
      { isLoose: true },
    );
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(({} as { run?: unknown }).run).toBeUndefined();
  });
});

test("other words are not assignments", () => {
  const words = ["dev", "personas/dev", "[1]", "=x", "", "a b=c", "dev.toml"];
  expect(words.map((word) => parseAssignment(word))).toEqual(words.map(() => undefined));
});

test("no error repeats an answer, whatever its form", () => {
  const wrong = [
    `${ANSWER}:=${SECRET}`,
    `${ANSWER}:="${SECRET}`,
    `{"conversation":{"tools":{"x":{"questions":{"q":{"answer":"${SECRET}"}}}}}`,
    `conversation.tools.x.questions:={"q":{"answer":"${SECRET}"`,
    `conversation.tools.x.question.q.answer=${SECRET}`,
  ];
  const revealing = wrong.filter((words) => {
    try {
      apply(words);
      return true;
    } catch (error) {
      return String(error).includes(SECRET);
    }
  });
  expect(revealing).toEqual([]);
});

function valueOf(words: string) {
  const { value, cleared } = parseAssignment(words) ?? {};
  expect(cleared).toEqual([]);
  return value;
}

function apply(words: string, below: Json = {}, { isLoose = false } = {}) {
  const { value = {}, cleared = [] } = parseAssignment(words) ?? {};
  const config = isLoose ? {} : parseConfigOrThrow(words.slice(0, 1), value);
  return foldLayers([
    { name: "below", config: readConfig(below) },
    { name: "words", config, cleared },
  ]);
}
