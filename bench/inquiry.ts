/** Many questions to the inquiry model at once, against the slowest of them alone. */
import { setTimeout } from "node:timers/promises";
import { parseConfigOrThrow, resolveAssistant } from "../src/config/index.ts";
import type { InquiryId } from "../src/conversation/index.ts";
import {
  createInquiryBackend,
  type InquiryBackend,
  type InquiryCall,
} from "../src/inquiry/index.ts";
import { ScriptedModel } from "../src/testing/index.ts";
import { booleanQuestion } from "../src/tool/index.ts";
import { systemClock } from "../src/util/index.ts";
import { streamOf } from "../src/conversation/events.fixture.ts";
import { event } from "./data.ts";
import { compare, type Result } from "./measure.ts";

const ROUNDS = 9;
/** Replies take between the least and the most, each its own time: as quick as a small model is. */
const LATENCY_MS = { least: 150, most: 250 };

export async function benchInquiry(): Promise<Result[]> {
  return [
    await benchAtOnce(10, 100),
    await benchAtOnce(100, 100),
    // Each makes a request of the whole conversation, so this one grows with its length.
    await benchAtOnce(100, 1_000),
  ];
}

async function benchAtOnce(count: number, events: number): Promise<Result> {
  const inquiries = createInquiries(count, events);
  const all = async () => void (await Promise.all(inquiries.map((inquire) => inquire())));
  const slowest = async () => inquiries.at(-1)?.();
  const name = `${count} inquiries at ${events.toLocaleString("en-US")} events / slowest`;
  return { name, aim: 1.5, ...(await compare(all, slowest, ROUNDS)) };
}

/** The last one is the slowest. */
function createInquiries(count: number, events: number): readonly (() => Promise<void>)[] {
  const stream = streamOf(...Array.from({ length: events }, (_, index) => event(index)));
  const span = LATENCY_MS.most - LATENCY_MS.least;
  return Array.from({ length: count }, (_, index) => {
    const backend = createBackend(LATENCY_MS.least + (span * (index + 1)) / count);
    const call: InquiryCall = {
      inquiryId: `call_${index}.ok.1` as InquiryId, // As the coordinator makes them.
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
