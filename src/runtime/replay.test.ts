import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Prompter, Toolbox } from "../agent/index.ts";
import { toolboxOf } from "../agent/tool-turn.fixture.ts";
import {
  type ConversationEvent,
  type ConversationStream,
  eventsOf,
  StreamEntry,
} from "../conversation/index.ts";
import type { AttemptRequest, AttemptResult } from "../executor/index.ts";
import type { InquiryAnswer, InquiryCall } from "../inquiry/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  ScriptedInquiryBackend,
  ScriptedModel,
  ScriptedPrompter,
  type ScriptedReply,
} from "../testing/index.ts";
import {
  booleanQuestion,
  type InquiryQuestion,
  type Question,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../tool/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { createTurn } from "./turn.ts";
import { replayConversation } from "./replay.ts";

const MINUTE_MS = 60_000;
const clock = new FakeClock();

const SURE = booleanQuestion("sure", "Sure?");
const WHICH = selectQuestion("which", "Which?", { options: ["a", "b"], allowsNote: true });
const NAME = textQuestion("name", "Name?", { default: "by default" });
const WHERE = selectQuestion("where", "Where?", { options: ["here", "there"] });
const KEY = secretQuestion("key", "Key?");

const POLICIES: Readonly<Record<string, JsonObject>> = {
  plain: { detached: { tool: "defaults" } },
  careful: { run: "ask", result: "ask", detached: "deny" },
  patient: { run: "ask", result: "ask", detached: "defer" },
  modest: { questions: { sure: { target: "assistant" } }, result: "ask" },
  configured: { questions: { which: { answer: "b" } }, result: "skip" },
  advised: {
    questions: {
      sure: { target: ["assistant", "user"] },
      which: { target: ["assistant", "user"] },
    },
    result: "ask",
  },
  pressed: {
    questions: {
      name: { deadline: "2h", on_timeout: "default" },
      which: { deadline: "1h" },
      sure: { target: ["assistant", "user"], deadline: "90m", on_timeout: "escalate" },
    },
  },
};

interface Call {
  readonly tool: string;
  /** What it asks in each attempt. */
  readonly plan: readonly (readonly Question[])[];
  /** The number of event loop iterations that an attempt takes. */
  readonly takes: number;
}

type Reaction = "yes" | "remember" | "no" | "close" | "later" | "change" | "wait";

interface Story {
  /** Each turn is a list of replies that call tools. */
  readonly turns: readonly (readonly (readonly Call[])[])[];
  readonly reactions: readonly Reaction[];
  readonly isInteractive: boolean;
}

const anyStory: fc.Arbitrary<Story> = fc.record({
  turns: fc.array(
    fc.array(
      fc.array(
        fc.record({
          tool: fc.constantFrom(...Object.keys(POLICIES)),
          plan: fc.array(
            fc.uniqueArray(fc.constantFrom<Question>(SURE, WHICH, NAME, KEY), {
              minLength: 1,
              maxLength: 3,
            }),
            { maxLength: 2 },
          ),
          takes: fc.nat(5),
        }),
        { minLength: 1, maxLength: 3 },
      ),
      { maxLength: 2 },
    ),
    { minLength: 1, maxLength: 3 },
  ),
  reactions: fc.array(
    fc.constantFrom<Reaction>("yes", "yes", "remember", "no", "close", "later", "change", "wait"),
    { minLength: 1, maxLength: 8 },
  ),
  isInteractive: fc.boolean(),
});

const SAME_QUESTIONS: Story = {
  turns: [
    [
      [
        { tool: "plain", plan: [[SURE, WHICH]], takes: 0 },
        { tool: "plain", plan: [[WHICH, SURE]], takes: 2 },
      ],
    ],
  ],
  reactions: ["yes", "yes", "remember"],
  isInteractive: true,
};

const LEFT_AND_CLOSED: Story = {
  turns: [[Array.from({ length: 3 }, () => ({ tool: "plain", plan: [[SURE]], takes: 0 }))], []],
  reactions: ["later", "close"],
  isInteractive: true,
};

describe("a replay", () => {
  test("of any conversation finds everything as recorded", async () => {
    await fc.assert(
      fc.asyncProperty(anyStory, async (story) => {
        const { stream } = await tell(story);
        const before = JSON.stringify(stream.entries);
        expect(await replayConversation({ stream, toolbox: storyToolbox([]) })).toEqual({
          turns: story.turns.length,
        });
        expect(JSON.stringify(stream.entries)).toBe(before);
      }),
      { numRuns: 100, seed: 17, examples: [[SAME_QUESTIONS], [LEFT_AND_CLOSED]] },
    );
  }, 60_000);

  test("asks no model, runs no tool, and leaves the record alone", async () => {
    const { stream } = await recordDeploy();
    const before = JSON.stringify(stream.entries);
    const never = deployToolbox(() => {
      throw new Error("it ran");
    });
    expect(await replayConversation({ stream, toolbox: never })).toEqual({ turns: 1 });
    expect(JSON.stringify(stream.entries)).toBe(before);
  });

  test("of a record of an older version finds everything as recorded", async () => {
    const { stream } = await recordDeploy();
    const bookkeeping = new Set(["attempt_start", "permission_request"]);
    const older = withEvents(stream, (event) => (bookkeeping.has(event.type) ? [] : [event]));
    expect(await replayConversation({ stream: older, toolbox: deployToolbox() })).toEqual({
      turns: 1,
    });
  });

  test("runs tools for real if asked to, with the recorded answers", async () => {
    const { stream } = await recordDeploy();
    let runs = 0;
    const toolbox = deployToolbox((request) => {
      runs += 1;
      return deploy(WHERE, request);
    });
    expect(await replayConversation({ stream, toolbox, runsTools: true })).toEqual({ turns: 1 });
    expect(runs).toBe(2);
  });

  test("goes on with the same calls of a live model, whatever its words and ids", async () => {
    const { stream } = await recordDeploy();
    const model = new ScriptedModel({ replies: deployReplies("toolu_9", "All right then.") });
    const options = { stream, model, toolbox: deployToolbox(), clock };
    expect(await replayConversation(options)).toEqual({ turns: 1 });
  });

  test("does not give a secret to a tool that runs for real", async () => {
    const stream = (await recordDeploy(secretQuestion("where", "Where?"))).stream;
    const given: Json[] = [];
    const toolbox = deployToolbox((request) => {
      given.push(request.answers);
      return deploy(secretQuestion("where", "Where?"), request);
    });
    const { divergence } = await replayConversation({ stream, toolbox, runsTools: true });
    expect([divergence?.toolCallId, given]).toEqual(["call_1", [{}]]);
  });
});

describe("a divergence", () => {
  test("is a question that is asked in other words", async () => {
    const { stream } = await recordDeploy();
    const toolbox = deployToolbox((request) => deploy({ ...WHERE, text: "Whither?" }, request));
    const { divergence } = await replayConversation({ stream, toolbox, runsTools: true });
    expect(divergence).toMatchObject({
      turn: 1,
      toolCallId: "call_1",
      recorded: { type: "inquiry_request", question_id: "where", question: { text: "Where?" } },
      now: { type: "inquiry_request", question_id: "where", question: { text: "Whither?" } },
    });
  });

  test("is a question that is no longer asked", async () => {
    const { stream } = await recordDeploy();
    const toolbox = deployToolbox(() => ({ type: "success", content: 'deployed "here"' }));
    const { divergence } = await replayConversation({ stream, toolbox, runsTools: true });
    expect([divergence?.recorded?.["type"], divergence?.now?.["type"]]).toEqual([
      "inquiry_request",
      "tool_call_response",
    ]);
  });

  test("is another result", async () => {
    const { stream } = await recordDeploy();
    const toolbox = deployToolbox((request) => {
      const result = deploy(WHERE, request);
      return result.type === "success" ? { ...result, content: "deployed nowhere" } : result;
    });
    const { divergence } = await replayConversation({ stream, toolbox, runsTools: true });
    expect(divergence).toMatchObject({
      recorded: { type: "tool_call_response", content: 'deployed "here"' },
      now: { type: "tool_call_response", content: "deployed nowhere" },
    });
  });

  test("is another call of a live model, and one that it no longer makes", async () => {
    const { stream } = await recordDeploy();
    const toolbox = deployToolbox();
    const other = [
      { type: "tool_call", id: "x", name: "deploy", arguments: { to: "prod" } },
    ] as const;
    const differing = new ScriptedModel({ replies: [other, "Done."] });
    const silent = new ScriptedModel({ replies: ["I would rather not."] });
    const options = { stream, toolbox, clock };
    expect([
      (await replayConversation({ ...options, model: differing })).divergence,
      (await replayConversation({ ...options, model: silent })).divergence,
    ]).toMatchObject([
      { turn: 1, recorded: { arguments: {} }, now: { arguments: { to: "prod" } } },
      { turn: 1, recorded: { type: "tool_call_request" } },
    ]);
  });

  test("is a policy that is stricter now", async () => {
    const { stream } = await recordDeploy();
    const toolbox = deployToolbox(undefined, { run: "skip" });
    const { divergence } = await replayConversation({ stream, toolbox });
    expect(divergence).toMatchObject({
      recorded: { type: "permission_request" },
      now: { type: "permission_decision", decision: "denied" },
    });
  });
});

type Attempt = (request: AttemptRequest) => AttemptResult | Promise<AttemptResult>;

function deploy(question: Question, { answers }: AttemptRequest): AttemptResult {
  const answer = answers[question.id];
  if (answer !== undefined)
    return { type: "success", content: `deployed ${JSON.stringify(answer)}` };
  return { type: "needs_input", question, source: { source: "tool", name: "deploy" } };
}

function deployToolbox(attempt?: Attempt, policy: JsonObject = { run: "ask" }): Toolbox {
  const run = attempt ?? ((request) => deploy(WHERE, request));
  const executor = { attempt: async (request: AttemptRequest) => run(request) };
  return toolboxOf({ tools: [{ name: "deploy", executor }], config: { deploy: policy } });
}

function deployReplies(id: string, words: string): readonly ScriptedReply[] {
  return [[{ type: "tool_call", id, name: "deploy" }], words];
}

/** One turn, with a permission and a question. */
async function recordDeploy(question: Question = WHERE): Promise<ConversationWriter> {
  const conversation = await new MemoryConversationStore(clock).create({});
  await createTurn({
    conversation,
    model: new ScriptedModel({ replies: deployReplies("call_1", "Done.") }),
    toolbox: deployToolbox((request) => deploy(question, request)),
    prompter: new ScriptedPrompter({
      answers: [{ answer: "here" }],
      permissions: [{ type: "run", isRemembered: false }],
    }),
    clock,
  }).run({ content: "Deploy it." });
  return conversation;
}

function withEvents(
  stream: ConversationStream,
  change: (event: ConversationEvent) => readonly ConversationEvent[],
): ConversationStream {
  const events = [...eventsOf(stream.entries)].flatMap(change);
  return { ...stream, entries: events.map((event) => StreamEntry.fromEvent(event)) };
}

/** Lets the story happen. Whatever is left for later is taken up once by another process. */
async function tell({ turns, reactions, isInteractive }: Story): Promise<ConversationWriter> {
  const conversation = await new MemoryConversationStore(clock).create({});
  const calls: Call[] = [];
  const person = createPerson(reactions, isInteractive);
  const tools = storyToolbox(calls);
  for (const [number, cycles] of turns.entries()) {
    const replies = cycles.map((made): ScriptedReply => {
      const asked = made.map((call) => {
        const key = calls.push(call) - 1;
        const id = `call_${key}`;
        return { type: "tool_call" as const, id, name: call.tool, arguments: { key } };
      });
      return [{ type: "reasoning", text: "Hm." }, { type: "text", text: "Well." }, ...asked];
    });
    const model = new ScriptedModel({ replies: [...replies, `Done with ${number}.`] });
    const begin = () =>
      createTurn({
        conversation,
        model,
        toolbox: tools,
        prompter: person,
        inquiries: new ScriptedInquiryBackend(replyOfModel),
        clock,
      });
    const end = await begin().run({ content: `Turn ${number}.` });
    if (end.type === "waiting" && number % 2 === 0) {
      clock.advance(1000);
      await begin().resume();
    }
  }
  return conversation;
}

async function passHour(): Promise<void> {
  for (let minute = 0; minute < 60; minute += 20) {
    clock.advance(20 * MINUTE_MS);
    await setImmediate();
  }
}

async function replyOfModel({ toolCallId, question }: InquiryCall): Promise<InquiryAnswer> {
  if (toolCallId.endsWith("1")) return { type: "failed", kind: "provider", message: "503" };
  if (toolCallId.endsWith("3")) await passHour();
  const isNo = toolCallId.endsWith("2") && question.answerType.type === "boolean";
  const answer = isNo ? false : fitting(question);
  return {
    type: "answered",
    answer,
    model: "test/model",
    ...(!toolCallId.endsWith("0") && { reason: "I think so." }),
  };
}

function storyToolbox(calls: readonly Call[]): Toolbox {
  const attempts = new Map<number, number>();
  const tools = Object.keys(POLICIES).map((name) => ({
    name,
    executor: { attempt: (request: AttemptRequest) => attempt(name, request) },
  }));
  return toolboxOf({ tools, config: POLICIES });

  async function attempt(
    name: string,
    { arguments: given }: AttemptRequest,
  ): Promise<AttemptResult> {
    const key = Number(given["key"]);
    const { plan = [], takes = 0 } = calls[key] ?? {};
    const number = attempts.get(key) ?? 0;
    attempts.set(key, number + 1);
    for (let left = takes; left > 0; left -= 1) await setImmediate();
    const [question, ...more] = plan[number] ?? [];
    if (question === undefined) {
      return { type: takes === 3 ? "error" : "success", content: `result of ${name} ${key}` };
    }
    return { type: "needs_input", question, more, source: { source: "tool", name } };
  }
}

function createPerson(reactions: readonly Reaction[], isThere: boolean): Prompter {
  let used = 0;
  const react = async (): Promise<Reaction> => {
    const reaction = reactions[used % reactions.length] ?? "yes";
    used += 1;
    await setImmediate();
    return reaction;
  };
  return {
    channel: "story",
    canAsk: () => isThere,
    ask: async ({ inquiryId, question, signal }) => {
      const reaction = await react();
      if (reaction === "wait") {
        await passHour();
        if (signal.aborted) return { inquiryId, type: "interrupted" };
      }
      if (reaction === "later") return { inquiryId, type: "later" };
      if (reaction === "close") return { inquiryId, type: "cancelled" };
      const isRemembered = reaction === "remember";
      return { inquiryId, type: "answered", answer: fitting(question), isRemembered, note: "n" };
    },
    askPermission: async ({ arguments: given }) => {
      const reaction = await react();
      if (reaction === "later") return { type: "later" };
      if (reaction === "close") return { type: "cancelled" };
      const isRemembered = reaction === "remember";
      if (reaction === "no") return { type: "skip", isRemembered, reason: "not now" };
      const edited = reaction === "change" ? { arguments: { ...given, extra: 1 } } : {};
      return { type: "run", isRemembered, ...edited };
    },
    askDelivery: async ({ content }) => {
      const reaction = await react();
      if (reaction === "later") return { type: "later" };
      if (reaction === "close") return { type: "cancelled" };
      if (reaction === "no") return { type: "withhold" };
      return reaction === "change"
        ? { type: "deliver", content: `Edited: ${content}` }
        : { type: "deliver" };
    },
  };
}

function fitting({ answerType }: InquiryQuestion): Json {
  if (answerType.type === "boolean") return true;
  return answerType.type === "select" ? "a" : "some text";
}
