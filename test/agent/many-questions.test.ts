/** Many tools ask at once and get answers from all sources. No answer goes to the wrong question. */
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_LIMITS } from "../../src/settings/config/index.ts";
import type { ToolCallRequest } from "../../src/record/conversation/index.ts";
import { defineTool, textQuestion } from "../../src/record/tool/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { toolCall } from "../../src/record/conversation/events.fixture.ts";
import { problemsOf } from "../../src/record/conversation/record-rules.fixture.ts";
import { ToolTurn } from "../../src/core/agent/tool-turn.fixture.ts";

/** Each call asks for its own word. They differ in who answers. */
const KINDS = ["person", "model", "config", "remembered"] as const;

type Kind = (typeof KINDS)[number];

test.each([100, 500])("each of many calls gets its own answer: %i calls", async (count) => {
  verifies(
    "028/goal/parallel-inquiries",
    "082/prompt/answer-carries-the-id",
    "082/id/unique-within-the-turn",
  );
  const warnings: string[] = [];
  const onWarning = ({ message }: Error) => warnings.push(message);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const turn = await startTurn(count);
  const calls = Array.from({ length: count }, (_, number) => callOf(number));
  const responses = await turn.run(...calls);
  await setImmediate();
  expect({
    contents: responses.map(({ id, content }) => `${id}: ${content}`),
    deciders: countDeciders(turn),
    problems: problemsOf(turn.events),
    warnings,
  }).toEqual({
    contents: calls.map(({ id }, number) => `${id}: ${wordsFor(number)}`),
    deciders: {
      user: count / 4 + 1,
      assistant: count / 4,
      config: count / 4,
      remembered: count / 4 - 1,
    },
    problems: [],
    warnings: [],
  });
});

/** Models are fast or slow. The person is slower than all of them. */
function startTurn(count: number): Promise<ToolTurn> {
  const names = Array.from({ length: count }, (_, number) => callOf(number).name);
  const tools = [...new Set(names)].map((name) =>
    defineTool({
      name,
      description: "",
      parameters: { type: "object" },
      run: async ({ number }: { readonly number?: number }, { ask }) =>
        ask(textQuestion("word", `Your word, ${number}?`, { rememberAs: `the words of ${name}` })),
    }),
  );
  const { recordBytesPerCall } = DEFAULT_LIMITS;
  const limits = {
    recordBytesPerCall,
    automaticAnswersPerCall: 1,
    automaticAnswersPerTurn: count,
  };
  return ToolTurn.start({
    tools,
    parts: { limits },
    config: Object.fromEntries(names.map((name, number) => [name, configOf(number)])),
    script: {
      answers: async ({ question, inquiryId }) => {
        await setImmediate();
        const isRemembered = inquiryId.startsWith("remembered");
        return { answer: isRemembered ? "the common word" : wordFor(question.text), isRemembered };
      },
    },
    answers: async ({ question, inquiryId }) => {
      for (let wait = inquiryId.length % 3; wait > 0; wait -= 1) await setImmediate();
      return { type: "answered", answer: wordFor(question.text), model: "test/model" };
    },
  });
}

/** Calls that ask a person or a model share a tool. Each configured answer has a separate tool. */
function callOf(number: number): ToolCallRequest {
  const kind = kindOf(number);
  const name = kind === "config" ? `config_${number}` : kind;
  return toolCall(`${kind}_${number}`, name, { number });
}

function kindOf(number: number): Kind {
  return KINDS[number % KINDS.length] ?? "person";
}

function configOf(number: number): JsonObject {
  const kind = kindOf(number);
  if (kind === "config") return { questions: { word: { answer: `word ${number}` } } };
  return kind === "model" ? { questions: { word: { target: "assistant" } } } : {};
}

function wordFor(text: string): string {
  return text.replace("Your word, ", "word ").replace("?", "");
}

function wordsFor(number: number): string {
  return kindOf(number) === "remembered" ? "the common word" : `word ${number}`;
}

function countDeciders(turn: ToolTurn): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const event of turn.recorded("inquiry_response")) {
    const kind = event.outcome === "answered" ? event.answeredBy?.kind : event.outcome;
    counts[kind ?? "none"] = (counts[kind ?? "none"] ?? 0) + 1;
  }
  return counts;
}
