/** Compares many concurrent questions to the inquiry model with the slowest of them alone. */
import { setTimeout } from "node:timers/promises";
import { parseConfigOrThrow, resolveAssistant } from "../src/settings/config/index.ts";
import type { InquiryId } from "../src/record/conversation/index.ts";
import {
  createInquiryBackend,
  type InquiryBackend,
  type InquiryCall,
} from "../src/core/answer-model/index.ts";
import { ScriptedModel } from "../src/testing/index.ts";
import { booleanQuestion } from "../src/record/tool/index.ts";
import { systemClock } from "../src/util/index.ts";
import { streamOf } from "../src/record/conversation/events.fixture.ts";
import { event } from "./data.ts";
import { against, type Bench, type Result, takeTurns, timeOf } from "./measure.ts";
import { sized } from "./small.ts";
import { ratioOf } from "./statistics.ts";

const ROUNDS = 9;
/** The range of reply times, typical of a small model. */
const LATENCY_MS = { min: 150, max: 250 };

const INQUIRY = {
  short: "100 concurrent inquiries at 100 events",
  // Each sends the whole conversation, so its time grows with the length.
  long: "100 concurrent inquiries at 1,000 events",
};

export const inquiry: Bench = {
  rows: Object.values(INQUIRY),
  run: async () => [
    await benchAtOnce(INQUIRY.short, sized(100), 100),
    await benchAtOnce(INQUIRY.long, sized(100), sized(1_000)),
  ],
};

async function benchAtOnce(name: string, count: number, events: number): Promise<Result> {
  const inquiries = createInquiries(count, events);
  const took = await takeTurns(
    {
      all: () => timeOf(() => Promise.all(inquiries.map((inquire) => inquire()))),
      slowest: () => timeOf(() => inquiries.at(-1)?.()),
    },
    ROUNDS,
  );
  const [all, slowest] = [took.all.map(({ time }) => time), took.slowest.map(({ time }) => time)];
  return {
    name,
    unit: "× the slowest",
    goal: { most: 1.5 },
    figures: { time: ratioOf(all, slowest) },
    detail: against(all, slowest),
  };
}

/** The last one is the slowest. */
function createInquiries(count: number, events: number): readonly (() => Promise<void>)[] {
  const stream = streamOf(...Array.from({ length: events }, (_, index) => event(index)));
  const span = LATENCY_MS.max - LATENCY_MS.min;
  return Array.from({ length: count }, (_, index) => {
    const backend = createBackend(LATENCY_MS.min + (span * (index + 1)) / count);
    const call: InquiryCall = {
      inquiryId: `call_${index}.ok.1` as InquiryId, // In the format of the agent.
      toolCallId: `call_${index}`,
      toolName: "a_tool",
      question: booleanQuestion("ok", "Go on?"),
      target: { type: "assistant", assistant: {} },
      stream,
      signal: new AbortController().signal,
    };
    return async () => {
      const answer = await backend.inquire(call);
      if (answer.type !== "answered") throw new Error(`No answer: ${JSON.stringify(answer)}`);
    };
  });
}

function createBackend(latency: number): InquiryBackend {
  const config = { assistant: { model: { id: "llamacpp/scripted" } } };
  const assistant = resolveAssistant(parseConfigOrThrow("the benchmark", config));
  const model = new ScriptedModel({
    replies: () => [
      { type: "wait", until: setTimeout(latency) },
      { type: "structured", data: { answer: true } },
    ],
  });
  return createInquiryBackend({
    assistant: () => assistant,
    model: async () => model,
    tools: () => [],
    attachments: () => [],
    schemaMode: "stable",
    clock: systemClock,
  });
}
