import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { ofTool, readConfig } from "../../../test/support/any-config.ts";
import type { Json } from "../../util/index.ts";
import { configToJson } from "../delta.ts";
import { mergeConfig } from "../merge.ts";
import { parseConfig } from "../parse-config.ts";
import { resolveTools } from "../tool-settings.ts";

const CHEAP = { model: { id: "openai/mini" }, request: { max_retries: 1 } };

describe("a target", () => {
  test("is the user, the assistant, or the config of one", () => {
    expect({
      user: targetOf("user"),
      assistant: targetOf("assistant"),
      empty: targetOf({}),
      table: targetOf({ model: { id: "openai/mini" }, system_prompt: "Be brief." }),
    }).toStrictEqual({
      user: { type: "user" },
      assistant: { type: "assistant", assistant: {} },
      empty: { type: "assistant", assistant: {} },
      table: {
        type: "assistant",
        assistant: {
          system_prompt: { value: "Be brief.", strategy: "replace" },
          model: { id: { provider: "openai", name: "mini" } },
        },
      },
    });
  });

  test("of another kind is refused, with what is wrong inside of a table", () => {
    const path = ["conversation", "tools", "x", "questions", "q", "target"];
    expect({
      word: problemsOf("assistent"),
      number: problemsOf(1),
      list: problemsOf([]),
      nothing: problemsOf(null),
      inside: problemsOf({ model: { id: 3 }, request: { max_retries: "x" } }),
    }).toEqual({
      word: [path],
      number: [path],
      list: [path],
      nothing: [path],
      inside: [
        [...path, "model", "id"],
        [...path, "request", "max_retries"],
      ],
    });
  });

  test("with a misspelt key is told, since its model would be lost", () => {
    expect(parseConfig(config({ target: { modle: { id: "openai/mini" } } })).warnings).toEqual([
      {
        path: ["conversation", "tools", "x", "questions", "q", "target", "modle"],
        message: "there is no such key; did you mean model?",
      },
    ]);
  });

  test("replaces a lower one as a whole, whichever form either has", () => {
    const forms: Json[] = ["user", "assistant", {}, CHEAP, { name: "Judge" }];
    for (const lower of forms)
      for (const upper of forms) {
        const merged = mergeConfig(
          readConfig(config({ target: lower })),
          readConfig(config({ target: upper })),
        );
        expect(merged).toStrictEqual(readConfig(config({ target: upper })));
      }
  });

  test("is stored in the form in which it is read back as itself", () => {
    const stored = (target: Json) => configToJson(readConfig(config({ target })));
    expect([
      stored("user"),
      stored("assistant"),
      stored({}),
      stored({ instructions: [{ title: "a" }], system_prompt: { value: "b", strategy: "append" } }),
    ]).toStrictEqual([
      config({ target: "user" }),
      config({ target: "assistant" }),
      config({ target: "assistant" }),
      config({
        target: {
          instructions: { value: [{ title: "a" }], strategy: "replace" },
          system_prompt: "b",
        },
      }),
    ]);
  });
});

describe("an answer", () => {
  test("is any JSON, nothing and false included", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.constantFrom(false, 0, "", null, [], {}), fc.jsonValue()),
        (answer) => {
          const settings = settingsOf(readConfig(config({ answer: answer as Json })));
          expect(settings).toStrictEqual({ target: { type: "user" }, answer: { value: answer } });
        },
      ),
    );
  });

  test("of an upper layer counts, also where it is false or null", () => {
    expect([false, 0, "", null].map((answer) => answerOver(answer))).toStrictEqual([
      { value: false },
      { value: 0 },
      { value: "" },
      { value: null },
    ]);
  });

  test("that is a table is replaced and not mixed with a lower one", () => {
    const lower = readConfig(config({ answer: { a: 1, b: 2 } }));
    const upper = readConfig(config({ answer: { c: 3 } }));
    expect(settingsOf(mergeConfig(lower, upper))?.answer).toStrictEqual({ value: { c: 3 } });
  });
});

test("questions merge by id, and each by key", () => {
  const lower = readConfig(
    ofTool({
      source: "local",
      questions: {
        q: { target: "assistant", exclusive: true, prompt_label: "A" },
        r: { answer: 1, exclusive: true },
      },
    }),
  );
  const upper = readConfig(
    ofTool({ questions: { q: { prompt_label: "B" }, r: { exclusive: false }, s: {} } }),
  );
  expect(resolveTools(mergeConfig(lower, upper)).get("x")?.questions).toStrictEqual(
    new Map<string, unknown>([
      ["q", { target: { type: "assistant", assistant: {} }, exclusive: true, promptLabel: "B" }],
      ["r", { target: { type: "user" }, answer: { value: 1 }, exclusive: false }],
      ["s", { target: { type: "user" } }],
    ]),
  );
});

function config(question: Json) {
  return ofTool({ questions: { q: question } });
}

function targetOf(target: Json) {
  return readConfig(config({ target })).conversation?.tools?.["x"]?.questions?.["q"]?.target;
}

function settingsOf(partial: ReturnType<typeof readConfig>) {
  return resolveTools(mergeConfig(readConfig(ofTool({ source: "local" })), partial))
    .get("x")
    ?.questions.get("q");
}

function problemsOf(target: Json) {
  return parseConfig(config({ target })).errors.map((error) => error.path);
}

/** What is in force where a lower layer says true. */
function answerOver(answer: Json) {
  const merged = mergeConfig(readConfig(config({ answer: true })), readConfig(config({ answer })));
  return settingsOf(merged)?.answer;
}
