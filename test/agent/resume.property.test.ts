/** A turn that is cut off anywhere, and continued by another process, ends as it would have ended. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ModelTurn } from "../../src/core/agent/model-turn.fixture.ts";
import { OUTCOME_UNKNOWN, SKIPPED_IN_DOUBT } from "../../src/core/agent/model-texts.ts";
import type { NamedExecutor } from "../../src/core/agent/tool-turn.fixture.ts";
import {
  type ConversationEvent,
  type InquiryRequest,
  readTurnProgress,
  type ToolCallResponse,
} from "../../src/record/conversation/index.ts";
import { problemsOf } from "../../src/record/conversation/record-rules.fixture.ts";
import { FakeClock, MemoryConversationStore, type ScriptedStep } from "../../src/testing/index.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import type { Json, JsonObject } from "../../src/util/index.ts";

const QUESTIONS: readonly Question[] = [
  booleanQuestion("sure", "Sure?"),
  textQuestion("name", "Name?"),
  textQuestion("model", "What does the model say?"),
  secretQuestion("pin", "PIN?"),
];

const ANSWERS: Readonly<Record<string, Json>> = {
  sure: true,
  name: "Ada",
  model: "yes",
  pin: "s3cret",
};

/** A call asks the questions of each round together, does its work once, and ends. */
interface PlannedCall {
  readonly rounds: readonly (readonly Question[])[];
  readonly run: "ask" | "unattended";
  readonly result: "ask" | "unattended";
  readonly isIdempotent: boolean;
}

interface Plan {
  /** The calls of each reply. */
  readonly replies: readonly (readonly PlannedCall[])[];
  /** What the person says about a call in doubt. `nobody`: there is no person. */
  readonly doubt: "run" | "skip" | "It was done." | "nobody";
}

const anyCall: fc.Arbitrary<PlannedCall> = fc.record({
  rounds: fc.array(fc.subarray([...QUESTIONS], { minLength: 1, maxLength: 2 }), { maxLength: 2 }),
  run: fc.constantFrom("ask", "unattended"),
  result: fc.constantFrom("ask", "unattended"),
  isIdempotent: fc.boolean(),
});

const anyPlan: fc.Arbitrary<Plan> = fc.record({
  replies: fc.array(fc.array(anyCall, { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 2,
  }),
  doubt: fc.constantFrom<Plan["doubt"]>("run", "skip", "It was done.", "nobody"),
});

test("a turn that is cut after any write, and its continuation again, ends in good order", async () => {
  await fc.assert(
    fc.asyncProperty(anyPlan, fc.nat(), async (plan, choice) => {
      const first = await runProcess(plan, { events: [], effects: [] });
      for (const cut of first.cuts) {
        const second = await runProcess(plan, cutAt(first, cut));
        expect(problemsAfter(plan, cutAt(first, cut), second)).toEqual([]);
        const again = second.cuts[choice % second.cuts.length] ?? 0;
        const third = await runProcess(plan, cutAt(second, again));
        expect(problemsAfter(plan, cutAt(second, again), third)).toEqual([]);
      }
    }),
    { numRuns: 8 },
  );
});

/** Work that a tool did outside, which no record takes back. */
interface Effect {
  readonly call: string;
  /** How many events were on record by then. */
  readonly at: number;
}

/** What is left of a process that has died. */
interface Remains {
  readonly events: readonly ConversationEvent[];
  readonly effects: readonly Effect[];
}

interface ProcessEnd extends Remains {
  readonly type: string;
  /** The lengths that its record had between two writes. */
  readonly cuts: readonly number[];
  readonly asked: readonly string[];
}

/** Whatever was done before the next write may have been done. */
function cutAt({ events, effects }: Remains, length: number): Remains {
  return { events: events.slice(0, length), effects: effects.filter(({ at }) => at <= length) };
}

async function runProcess(plan: Plan, remains: Remains): Promise<ProcessEnd> {
  const conversation = await new MemoryConversationStore(new FakeClock()).create({});
  if (remains.events.length > 0) await conversation.append(...remains.events);
  const effects = [...remains.effects];
  const cuts: number[] = [];
  const calls = plan.replies.flatMap((reply, index) =>
    reply.map((call, place) => ({ name: nameOf(index, place), call })),
  );
  const perform = (name: string) =>
    void effects.push({ call: name, at: conversation.stream.entries.length });
  const isNew = remains.events.length === 0;
  const turn = await ModelTurn.create({
    conversation,
    tools: calls.map(({ name, call }) => plannedTool(name, call, perform)),
    config: Object.fromEntries(calls.map(({ name, call }) => [name, configOf(call)])),
    script: {
      permissions: () => ({ type: "run", isRemembered: false }),
      deliveries: () => ({ type: "deliver" }),
      answers: (request) => ({
        answer: request.kind === "question" ? (ANSWERS[request.questionId] ?? "") : plan.doubt,
      }),
    },
    answers: () => ({ type: "answered", answer: "yes", model: "test/model" }),
    replies: ({ parts }) => nextReply(plan, parts.events),
    beforeAppend: () => void cuts.push(conversation.stream.entries.length),
    // Whoever started the turn has answered; the others may have to do without.
    isInteractive: isNew || plan.doubt !== "nobody",
  });
  const { type } = isNew ? await turn.run() : await turn.resume();
  const asked = turn.prompter.questions.map(({ inquiryId }) => inquiryId);
  return {
    type,
    events: turn.events,
    effects,
    // Nothing can be continued before the request is on record.
    cuts: [...new Set([...cuts, turn.events.length])].filter((cut) => cut > 0),
    asked,
  };
}

function nameOf(reply: number, place: number): string {
  return `tool_${reply}_${place}`;
}

function configOf({ run, result, isIdempotent }: PlannedCall): JsonObject {
  return {
    run,
    result,
    idempotent: isIdempotent,
    detached: { run: "deny", tool: "deny", deliver: "deny" },
    questions: { model: { target: "assistant" } },
  };
}

function plannedTool(
  name: string,
  { rounds }: PlannedCall,
  perform: (name: string) => void,
): NamedExecutor {
  return {
    name,
    executor: {
      attempt: async ({ answers, signal }) => {
        if (signal.aborted) return { type: "cancelled" };
        const isOpen = ({ id }: Question) => answers[id] !== ANSWERS[id];
        const [question, ...more] =
          rounds.find((round) => round.some(isOpen))?.filter(isOpen) ?? [];
        if (question !== undefined) {
          return { type: "needs_input", question, more, source: { source: "tool", name } };
        }
        perform(name);
        await Promise.resolve();
        return { type: "success", content: `${name} did it` };
      },
    },
  };
}

/** Makes the calls that it has not made yet, one reply after the other. */
function nextReply(
  { replies }: Plan,
  events: readonly ConversationEvent[],
): readonly ScriptedStep[] | string {
  const made = new Set(events.flatMap((event) => ("name" in event ? [event.name] : [])));
  for (const [index, reply] of replies.entries()) {
    const missing = reply.map((_, place) => nameOf(index, place)).filter((name) => !made.has(name));
    if (missing.length === 0) continue;
    return [
      { type: "reasoning", text: "Hm" },
      ...missing.map((name) => ({ type: "tool_call", id: `id_${name}`, name }) as const),
    ];
  }
  return "Done";
}

/** What is wrong with how a process continued what another has left. */
function problemsAfter(plan: Plan, remains: Remains, end: ProcessEnd): readonly string[] {
  const problems = [...problemsOf(end.events)];
  if (end.type !== "done") problems.push(`the turn ended as ${end.type}`);
  if (JSON.stringify(end.events).includes("s3cret")) problems.push("a secret is on record");
  const before = readTurnProgress(remains.events);
  const isOver = before.next === "done";
  if (!isOver && lastTurnOf(end.events).at(-1)?.type !== "chat_response") {
    problems.push("the model has not had the last word");
  }
  for (const [index, reply] of plan.replies.entries()) {
    for (const [place, call] of reply.entries()) {
      const name = nameOf(index, place);
      problems.push(...problemsOfCall(name, call, { plan, remains, end }));
    }
  }
  return problems;
}

interface Continuation {
  readonly plan: Plan;
  readonly remains: Remains;
  readonly end: ProcessEnd;
}

function problemsOfCall(
  name: string,
  call: PlannedCall,
  { plan, remains, end }: Continuation,
): readonly string[] {
  const id = `id_${name}`;
  const problems: string[] = [];
  const open = readTurnProgress(remains.events).calls.find(({ request }) => request.id === id);
  const effects = end.effects.filter((effect) => effect.call === name).length;
  const reruns = end.events.filter(
    (event) =>
      event.type === "permission_decision" &&
      event.toolCallId === id &&
      event.action === "rerun" &&
      event.decision === "approved",
  ).length;
  if (!call.isIdempotent && effects > 1 + reruns) problems.push(`${name} ran again unasked`);
  const text = responseOf(end, id)?.content ?? "nothing";
  const hasEnded = open === undefined ? responseOf(remains, id) : open.permissions.deliver?.request;
  const earlier = remains.effects.filter((effect) => effect.call === name).length;
  if (hasEnded && effects > earlier) problems.push(`${name} ran after its end`);
  if (plan.doubt !== "nobody" && !allowedResults(name, plan, call).includes(text)) {
    problems.push(`${name} ended with: ${text}`);
  }
  if (open?.isInDoubt === true && plan.doubt === "nobody" && !call.isIdempotent) {
    if (text !== OUTCOME_UNKNOWN) problems.push(`${name} was in doubt, but ended with: ${text}`);
  }
  if (open !== undefined && !open.isInDoubt && plan.doubt !== "nobody") {
    if (text !== `${name} did it`) problems.push(`${name} was not in doubt, and ended: ${text}`);
    const waiting = open.asked.filter(({ response }) => response === undefined);
    for (const { request } of waiting) {
      if (request.questionId !== "model" && !end.asked.includes(request.id)) {
        problems.push(`${request.id} was not asked again`);
      }
    }
  }
  return [...problems, ...askedTwice(end.events, id)];
}

function responseOf({ events }: Remains, id: string): ToolCallResponse | undefined {
  return events.find(
    (event): event is ToolCallResponse => event.type === "tool_call_response" && event.id === id,
  );
}

function allowedResults(name: string, { doubt }: Plan, call: PlannedCall): readonly string[] {
  const done = `${name} did it`;
  if (call.isIdempotent || doubt === "run") return [done];
  return [done, doubt === "skip" ? SKIPPED_IN_DOUBT : doubt];
}

/** Only a secret is asked more than once. */
function askedTwice(events: readonly ConversationEvent[], id: string): readonly string[] {
  const asked = events.filter(
    (event): event is InquiryRequest =>
      event.type === "inquiry_request" && event.toolCallId === id && event.questionId !== "pin",
  );
  const ids = asked.map(({ questionId }) => questionId);
  return ids
    .filter((each, index) => ids.indexOf(each) !== index)
    .map((each) => `${id} asked ${each} twice`);
}

function lastTurnOf(events: readonly ConversationEvent[]): readonly ConversationEvent[] {
  const start = events.findLastIndex(({ type }) => type === "turn_start");
  return events.slice(start);
}
