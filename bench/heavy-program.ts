/**
 * Runs one heavy scenario in its own process while keys are typed in it: `node bench/heavy-program.ts <scenario>
 * <size> <folder>`. Prints the measurements as JSON.
 */
import { DEFAULT_LIMITS } from "../src/settings/config/index.ts";
import path from "node:path";
import { parseConfigOrThrow, resolveAssistant } from "../src/settings/config/index.ts";
import {
  createTextFinder,
  eventsOf,
  type InquiryId,
  parseConversationId,
  turnsOf,
} from "../src/record/conversation/index.ts";
import { createInquiryBackend } from "../src/core/answer-model/index.ts";
import { renderMarkdown } from "../src/surfaces/render/index.ts";
import { ScriptedModel } from "../src/testing/index.ts";
import { booleanQuestion } from "../src/record/tool/index.ts";
import { systemClock } from "../src/util/index.ts";
import { streamOf, toolCall } from "../src/record/conversation/events.fixture.ts";
import { questioner } from "../src/core/agent/questioner.fixture.ts";
import { ToolTurn } from "../src/core/agent/tool-turn.fixture.ts";
import { event } from "./data.ts";
import { type Stalls, whileTyping } from "./typing.ts";
import { openBenchWorkspace } from "./workspace.ts";

export interface HeavyReport {
  readonly milliseconds: number;
  /** CPU time of the whole process, unaffected by other programs. */
  readonly cpu: number;
  /** Growth of the process's memory at its peak. */
  readonly bytes: number;
  readonly stalls: Stalls;
}

/** The conversation for scenarios with one long record. */
export const LONG_ID = "10000000021";
const QUESTIONS = 10;
const APPENDS = 20;

type Scenario = (size: number, folder: string) => Promise<() => Promise<void>>;

/** Each prepares its data, and returns the work to measure. */
const SCENARIOS = {
  list: async (_size, folder) => {
    const { conversations } = openBenchWorkspace(folder);
    return async () => void (await conversations.list());
  },
  search: async (_size, folder) => {
    const { conversations } = openBenchWorkspace(folder);
    return async () => {
      let found = 0;
      for (const { id } of await conversations.list()) {
        const find = createTextFinder();
        for await (const { entries } of conversations.scan(id)) {
          for (const each of eventsOf(entries)) {
            if (JSON.stringify(find(each) ?? "").includes("fox 12")) found += 1;
          }
        }
      }
      if (found === 0) throw new Error("Nothing was found.");
    };
  },
  load: async (size, folder) => {
    const { conversations } = openBenchWorkspace(folder);
    return async () => {
      const { stream } = await conversations.load(parseConversationId(`jp-c${LONG_ID}`));
      if (stream.entries.length < size) throw new Error("Some of it is missing.");
      const start = stream.entries.findLastIndex(({ eventType }) => eventType === "turn_start");
      renderMarkdown({ turns: turnsOf(stream.entries.slice(start)) });
    };
  },
  open: async (_size, folder) => {
    const { conversations } = openBenchWorkspace(folder);
    return async () => {
      await using conversation = await conversations.open(parseConversationId(`jp-c${LONG_ID}`));
      for (let count = 0; count < APPENDS; count += 1) await conversation.append(event(1));
      const turn = await ToolTurn.start({
        conversation,
        tools: [questioner("asking", booleanQuestion("ok", "Go on?"))],
        config: { asking: { questions: { ok: { answer: true } } } },
      });
      await turn.run(toolCall("call_1", "asking"));
    };
  },
  questions: async (size, folder) => {
    const { conversations } = openBenchWorkspace(folder);
    const asked = Array.from({ length: QUESTIONS }, (_, index) =>
      booleanQuestion(`question_${index}`, "Go on?"),
    );
    const answers = Object.fromEntries(asked.map(({ id }) => [id, { answer: true }]));
    const turn = await ToolTurn.start({
      conversation: await conversations.create({}),
      tools: [questioner("asking", ...asked)],
      config: { asking: { questions: answers } },
      parts: { limits: { ...DEFAULT_LIMITS, automaticAnswersPerTurn: Number.POSITIVE_INFINITY } },
    });
    const calls = Array.from({ length: size }, (_, index) => toolCall(`call_${index}`, "asking"));
    return async () => {
      const responses = await turn.run(...calls);
      const failed = responses.find(({ isError }) => isError);
      if (failed !== undefined) throw new Error(failed.content);
    };
  },
  inquiries: async (size) => {
    const stream = streamOf(...Array.from({ length: 100 }, (_, index) => event(index)));
    const config = { assistant: { model: { id: "llamacpp/scripted" } } };
    const assistant = resolveAssistant(parseConfigOrThrow("the benchmark", config));
    const backend = createInquiryBackend({
      assistant: () => assistant,
      model: async () =>
        new ScriptedModel({ replies: () => [{ type: "structured", data: { answer: true } }] }),
      tools: () => [],
      attachments: () => [],
      schemaMode: "stable",
      clock: systemClock,
    });
    const inquire = async (index: number) => {
      const answer = await backend.inquire({
        inquiryId: `call_${index}.ok.1` as InquiryId, // In the format of the agent.
        toolCallId: `call_${index}`,
        toolName: "a_tool",
        question: booleanQuestion("ok", "Go on?"),
        target: { type: "assistant", assistant: {} },
        stream,
        signal: new AbortController().signal,
      });
      if (answer.type !== "answered") throw new Error(`No answer: ${JSON.stringify(answer)}`);
    };
    return async () => {
      await Promise.all(Array.from({ length: size }, (_, index) => inquire(index)));
    };
  },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;

const [, program = "", name = "", size = "", folder = ""] = process.argv;
if (path.basename(program) === path.basename(import.meta.filename)) {
  const scenario: Scenario = SCENARIOS[name as ScenarioName]; // Only heavy.ts starts it.
  const work = await scenario(Number(size), folder);
  const before = process.memoryUsage().rss;
  let [milliseconds, cpu] = [0, 0];
  const stalls = await whileTyping(async () => {
    const start = performance.now();
    const used = process.cpuUsage();
    await work();
    milliseconds = performance.now() - start;
    const { user, system } = process.cpuUsage(used);
    cpu = (user + system) / 1000;
  });
  const peak = process.resourceUsage().maxRSS * 1024;
  const report: HeavyReport = { milliseconds, cpu, bytes: Math.max(0, peak - before), stalls };
  console.log(JSON.stringify(report));
}
