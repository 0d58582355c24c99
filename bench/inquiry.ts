/** Compares many concurrent questions to the inquiry model with the slowest of them alone. */
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
/** The range of reply times, as for a small model. */
const LATENCY_MS = { min: 150, max: 250 };

export async function benchInquiry(): Promise<Result[]> {
  return [
    await benchAtOnce(10, 100),
    await benchAtOnce(100, 100),
    // Each sends the whole conversation, so this one grows with its length.
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
