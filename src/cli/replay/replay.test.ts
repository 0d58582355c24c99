import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  closeTurn,
  type NoAnswerReason,
  type Prompter,
  type Toolbox,
  type Turn,
} from "../../core/agent/index.ts";
import { toolboxOf } from "../../core/agent/tool-turn.fixture.ts";
import {
  type ConversationEvent,
  type ConversationStream,
  describeOpenTurn,
  eventsOf,
  StreamEntry,
  lastTurn,
} from "../../record/conversation/index.ts";
import type {
  AttemptRequest,
  AttemptResult,
  CheckResult,
  Executor,
} from "../../reach/executor/index.ts";
import type { InquiryAnswer, InquiryCall } from "../../core/answer-model/index.ts";
import { ProviderError } from "../../reach/provider/index.ts";
import type { ConversationWriter } from "../../stores/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  ScriptedInquiryBackend,
  ScriptedModel,
  ScriptedPrompter,
  type ScriptedReply,
} from "../../testing/index.ts";
import {
  booleanQuestion,
  type InquiryQuestion,
  type Question,
  secretQuestion,
  selectQuestion,
  textQuestion,
  type ToolSource,
} from "../../record/tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { answerInquiry, createTurn, listPending } from "../../assemble/index.ts";
import { createPolicy } from "../../core/policy/index.ts";
import { replayConversation, type ReplayResult } from "./replay.ts";

const MINUTE_MS = 60_000;
const CLOCK = new FakeClock();
/** `JP_FUZZ_TIMES` multiplies it. */
const STORIES = 40 * Number(process.env["JP_FUZZ_TIMES"] ?? 1);
const TIMEOUT_MS = 600 * STORIES;

const SURE = booleanQuestion("sure", "Sure?");
const WHICH = selectQuestion("which", "Which?", { options: ["a", "b"], allowsNote: true });
const NAME = textQuestion("name", "Name?", { default: "by default" });
const WHERE = selectQuestion("where", "Where?", { options: ["here", "there"] });
const KEY = secretQuestion("key", "Key?");
/** Their binding is another one in each attempt. */
const BOUND = { ...booleanQuestion("bound", "Overwrite it?"), binding: "" };
const BOUND_TOO = { ...textQuestion("bound_too", "Rename it?"), binding: "" };

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
  named: {
    detached: { tool: "deny" },
    questions: {
      sure: { target: { user: "ada" } },
      which: { target: ["assistant", { user: "ada" }] },
      name: { target: { user: "ben" } },
    },
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
  /** The questions of each attempt. */
  readonly plan: readonly (readonly Question[])[];
  /** The number of event loop iterations that an attempt takes. */
  readonly takes: number;
}

/** `elsewhere`: answers what has waited longest through another process, while the prompt is open. */
type Reaction =
  | "yes"
  | "remember"
  | "no"
  | "close"
  | "later"
  | "change"
  | "wait"
  | "elsewhere"
  | NoAnswerReason;

/** A process that runs a turn, or goes on with it. */
interface Process {
  readonly isInteractive: boolean;
  /** It dies after this write. */
  readonly lastWrite?: number | undefined;
  /** How many things are answered from elsewhere after it has ended. */
  readonly answersAfter: number;
}

interface StoryTurn {
  /** The calls of each reply. */
  readonly replies: readonly (readonly Call[])[];
  readonly processes: readonly [Process, ...Process[]];
  readonly isDiscarded: boolean;
}

interface Story {
  readonly turns: readonly StoryTurn[];
  readonly reactions: readonly Reaction[];
  /** The tools change when jp looks at them for the nth time. */
  readonly changesAt?: readonly number[];
}

const callAmong = (
  tools: readonly string[],
  maxAttempts: number,
  ...questions: readonly Question[]
) =>
  fc.record({
    tool: fc.constantFrom(...tools),
    plan: fc.array(fc.uniqueArray(fc.constantFrom(...questions), { minLength: 1, maxLength: 3 }), {
      maxLength: maxAttempts,
    }),
    takes: fc.nat(5),
  });

const anyProcess: fc.Arbitrary<Process> = fc.record({
  isInteractive: fc.boolean(),
  lastWrite: fc.option(fc.integer({ min: 1, max: 25 }), { nil: undefined }),
  answersAfter: fc.nat(2),
});

const turnAmong = (
  call: fc.Arbitrary<Call>,
  { maxCalls, process }: { readonly maxCalls: number; readonly process: fc.Arbitrary<Process> },
): fc.Arbitrary<StoryTurn> =>
  fc.record({
    replies: fc.array(fc.array(call, { minLength: 1, maxLength: maxCalls }), { maxLength: 2 }),
    processes: fc.tuple(process, process, process),
    isDiscarded: fc.boolean(),
  });

const reactionsAmong = (...reactions: readonly Reaction[]): fc.Arbitrary<readonly Reaction[]> =>
  fc.array(fc.constantFrom(...reactions), { minLength: 1, maxLength: 8 });

const anyStory: fc.Arbitrary<Story> = fc.record({
  turns: fc.array(
    turnAmong(callAmong(Object.keys(POLICIES), 2, SURE, WHICH, NAME, KEY), {
      maxCalls: 3,
      process: anyProcess,
    }),
    { minLength: 1, maxLength: 3 },
  ),
  reactions: reactionsAmong(
    ...(["yes", "yes", "remember", "no", "close", "later", "change", "wait"] as const),
    ...(["elsewhere", "timed_out", "unavailable", "declined_by_client"] as const),
  ),
});

const PERSONAL = ["plain", "careful", "patient", "configured"];

/**
 * One call at a time, with a person, without deadlines and models: where decisions are left out, prompts open in another
 * order, less time passes, and fewer answers count as automatic.
 */
const anyStoryWithChanges: fc.Arbitrary<Story> = fc.record({
  turns: fc.array(
    turnAmong(callAmong(PERSONAL, 4, SURE, WHICH, NAME, BOUND, BOUND_TOO), {
      maxCalls: 1,
      process: anyProcess.map((process) => ({ ...process, isInteractive: true })),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  reactions: reactionsAmong("yes", "yes", "no", "close", "later", "change", "elsewhere"),
  changesAt: fc.array(fc.nat(40), { minLength: 1, maxLength: 6 }),
});

const ATTENDED: Process = { isInteractive: true, answersAfter: 0 };
const UNATTENDED: Process = { isInteractive: false, answersAfter: 0 };
const killed = (lastWrite: number): Process => ({ ...ATTENDED, lastWrite });

const callOf = (tool: string, takes: number, ...plan: Call["plan"]): Call => ({
  tool,
  plan,
  takes,
});
const turnOf = (replies: StoryTurn["replies"], ...processes: StoryTurn["processes"]): StoryTurn => {
  return { replies, processes, isDiscarded: false };
};

const PLAIN = callOf("plain", 0);
const CAREFUL = callOf("careful", 0);
const PATIENT = callOf("patient", 0);

const EXAMPLES: readonly [string, readonly Reaction[], ...StoryTurn[]][] = [
  [
    "two calls ask the same",
    ["yes", "yes", "remember"],
    turnOf([[callOf("plain", 0, [SURE, WHICH]), callOf("plain", 2, [WHICH, SURE])]], ATTENDED),
  ],
  [
    "questions are left for later, then closed",
    ["later", "close"],
    turnOf([Array.from({ length: 3 }, () => callOf("plain", 0, [SURE]))], ATTENDED),
    turnOf([], ATTENDED),
  ],
  [
    "the process ended before a tool went on with an answer from elsewhere",
    ["yes", "elsewhere"],
    turnOf([[callOf("plain", 5), callOf("plain", 2, [SURE, KEY])]], killed(11), UNATTENDED),
  ],
  [
    "the process ended between a remembered permission and the start",
    ["remember", "timed_out", "yes"],
    turnOf(
      [
        [PLAIN, PLAIN, CAREFUL],
        [PLAIN, CAREFUL],
      ],
      killed(20),
      ATTENDED,
    ),
  ],
  [
    "a permission that was asked for earlier is remembered for the next call",
    ["remember", "yes"],
    turnOf([[PATIENT, PATIENT, PLAIN]], { ...UNATTENDED, lastWrite: 6 }, ATTENDED),
  ],
  [
    "a question is left for later, and the next one cannot be asked",
    ["later", "unavailable"],
    turnOf([[callOf("named", 0, [SURE, KEY])]], ATTENDED),
  ],
  [
    "a client declines to ask for a permission, and then a question",
    ["declined_by_client", "yes", "declined_by_client"],
    turnOf([[CAREFUL], [callOf("careful", 0, [SURE])]], ATTENDED),
  ],
  [
    "a secret is asked for again because the next question was left for later and answered elsewhere",
    ["yes", "later", "elsewhere"],
    turnOf([[callOf("plain", 0, [KEY, SURE]), callOf("plain", 3, [NAME])]], ATTENDED),
  ],
  [
    "the arguments of a call were edited that waited behind one that was left for later again",
    ["unavailable", "change"],
    turnOf([[PATIENT, PATIENT]], UNATTENDED, UNATTENDED, ATTENDED),
  ],
  [
    "a client declines to ask about a call that waited behind one that was left for later again",
    ["later", "declined_by_client"],
    turnOf([[PATIENT, PATIENT]], UNATTENDED, ATTENDED),
  ],
  [
    "one of two people could not be asked when the process ended",
    ["yes"],
    turnOf([[callOf("named", 0, [WHICH, SURE, NAME])]], killed(8)),
  ],
];

const done: Attempt = () => ({ type: "success", content: "done" });

describe("a replay", () => {
  test(
    "of any conversation finds everything as recorded",
    async () => {
      const property = fc.asyncProperty(anyStory, async (story) => {
        expect(await replayStory(story)).toEqual({ turns: story.turns.length });
      });
      await fc.assert(property, { numRuns: STORIES });
    },
    TIMEOUT_MS,
  );

  test(
    "of any conversation whose tools have changed finds everything as recorded",
    async () => {
      const property = fc.asyncProperty(anyStoryWithChanges, async (story) => {
        expect(await replayStory(story)).toEqual({ turns: story.turns.length });
      });
      await fc.assert(property, { numRuns: STORIES });
    },
    TIMEOUT_MS,
  );

  test.each(EXAMPLES)("finds everything as recorded if %s", async (_, reactions, ...turns) => {
    expect(await replayStory({ turns, reactions })).toEqual({ turns: turns.length });
  });

  test("finds everything as recorded if a tool kept changing after its arguments were edited", async () => {
    const turns = [
      turnOf([[CAREFUL]], ATTENDED),
      turnOf([[callOf("patient", 0, [SURE])]], killed(8), ATTENDED, ATTENDED),
    ];
    const reactions = ["change", "yes"] as const;
    expect(await replayStory({ turns, reactions, changesAt: [12, 15] })).toEqual({ turns: 2 });
  });

  test("finds everything as recorded if a tool asked again in an attempt that is left out", async () => {
    const asking = callOf("patient", 0, [SURE, BOUND_TOO], [BOUND_TOO]);
    const processes = [{ ...ATTENDED, answersAfter: 1 }, ATTENDED, ATTENDED] as const;
    const turns = [turnOf([[callOf("plain", 0, [SURE])], [asking]], ...processes)];
    const reactions = ["close", "later", "yes", "yes", "later", "yes"] as const;
    expect(await replayStory({ turns, reactions, changesAt: [8] })).toEqual({ turns: 1 });
  });

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
    const events = [...eventsOf(stream.entries)].filter(({ type }) => !bookkeeping.has(type));
    const older = { ...stream, entries: events.map((event) => StreamEntry.fromEvent(event)) };
    expect(await replayConversation({ stream: older, toolbox: deployToolbox() })).toEqual({
      turns: 1,
    });
  });

  test("finds everything as recorded if a request failed, and the turn was continued", async () => {
    const conversation = await new MemoryConversationStore(CLOCK).create({});
    const error = new ProviderError("overloaded", "Busy.", { isRetryable: false });
    const parts = { conversation, toolbox: deployToolbox(done), clock: CLOCK };
    const prompter = new ScriptedPrompter({ permissions: [{ type: "run" }] });
    const [calls = "", words = ""] = deployReplies("call_1", "Done.");
    const failing = new ScriptedModel({ replies: [calls, [{ type: "error", error }]] });
    const failed = createTurn({ ...parts, model: failing, prompter }).run({
      content: "Deploy it.",
    });
    await expect(failed).rejects.toBe(error);
    const model = new ScriptedModel({ replies: [words] });
    await createTurn({ ...parts, model, prompter }).resume();
    const { stream } = conversation;
    const toolbox = deployToolbox(done);
    expect(await replayConversation({ stream, toolbox })).toEqual({ turns: 1 });
  });

  test.each<CheckResult>([
    { type: "done", content: "It is deployed.", isError: false },
    { type: "not_done" },
    { type: "unknown" },
    { type: "timed_out" },
  ])("repeats what the tool's own check said, and runs no check: $type", async (said) => {
    const finished = await recordDeploy(WHERE, done);
    const before = [...eventsOf(finished.stream.entries)];
    const start = before.findIndex(({ type }) => type === "attempt_start");
    const conversation = await new MemoryConversationStore(CLOCK).create({});
    await conversation.append(...before.slice(0, start + 1));
    let checks = 0;
    const checking: Executor = {
      attempt: async (request) => done(request),
      check: async () => {
        checks += 1;
        return said;
      },
    };
    const tools = [{ name: "deploy", executor: checking }];
    const toolbox = toolboxOf({ tools, config: { deploy: { run: "ask" } } });
    const model = new ScriptedModel({ replies: ["Done."] });
    const prompter = new ScriptedPrompter({ answers: [{ answer: "skip" }] });
    await createTurn({ conversation, model, toolbox, prompter, clock: CLOCK }).resume();
    const { stream } = conversation;
    expect([
      await replayConversation({ stream, toolbox }),
      await replayConversation({ stream, toolbox: deployToolbox(done) }),
      await replayConversation({ stream, toolbox, runsTools: true }),
      checks,
    ]).toEqual([{ turns: 1 }, { turns: 1 }, { turns: 1 }, 1]);
  });

  test("finds everything as recorded if a later call was asked about first, and answered for both", async () => {
    const conversation = await new MemoryConversationStore(CLOCK).create({});
    const call = { type: "tool_call", name: "deploy" } as const;
    await createTurn({
      conversation,
      model: new ScriptedModel({
        replies: [
          [
            { ...call, id: "b" },
            { ...call, id: "a" },
          ],
          "Done.",
        ],
      }),
      toolbox: deployToolbox(done),
      prompter: new ScriptedPrompter({ permissions: [{ type: "run", isRemembered: true }] }),
      clock: CLOCK,
    }).run({ content: "Deploy both." });
    // As older versions recorded it, for which it counted what was asked first.
    const events = [...eventsOf(conversation.stream.entries)];
    const [first = 0, second = 0] = [...events.entries()].flatMap(([index, { type }]) =>
      type === "tool_call_request" ? [index] : [],
    );
    const swapped = events
      .map(
        (event, index) =>
          events[index === first ? second : index === second ? first : index] ?? event,
      )
      .map((event) => StreamEntry.fromEvent(event));
    const stream = { ...conversation.stream, entries: swapped };
    const isRemembered = events.some(
      (event) =>
        event.type === "permission_decision" &&
        event.toolCallId === "a" &&
        event.decidedBy.kind === "remembered",
    );
    const result = await replayConversation({ stream, toolbox: deployToolbox(done) });
    expect([isRemembered, result]).toEqual([true, { turns: 1 }]);
  });

  test.each(["plan", "edits", "sandbox"] as const)(
    "finds everything as recorded if the mode %s decided, whatever it is today",
    async (mode) => {
      const conversation = await new MemoryConversationStore(CLOCK).create({});
      const source = { origin: { type: "builtin", confinement: "sandbox" } } as const;
      const toolbox: Toolbox = {
        schemas: async () => [],
        find: async (name, signal) => {
          const found = await deployToolbox().find(name, signal);
          if (found === undefined) return undefined;
          const effect = mode === "edits" ? "edits" : undefined;
          const argumentKinds = { "/command": "command" } as const;
          return {
            ...found,
            ...(effect && { effect }),
            argumentKinds,
            describeSource: async () => source,
          };
        },
      };
      await createTurn({
        conversation,
        model: new ScriptedModel({ replies: deployReplies("call_1", "Done.") }),
        toolbox,
        policy: createPolicy({ root: ".", mode: () => mode }),
        prompter: new ScriptedPrompter({ answers: [{ answer: "here" }] }),
        clock: CLOCK,
      }).run({ content: "Deploy it." });
      const { stream } = conversation;
      expect([...eventsOf(stream.entries)]).toContainEqual(
        expect.objectContaining({ decidedBy: { kind: "policy", key: `mode.${mode}` } }),
      );
      expect(await replayConversation({ stream, toolbox })).toEqual({ turns: 1 });
    },
  );

  test("asks again about a call in another folder, as then, after a yes for the turn", async () => {
    const conversation = await new MemoryConversationStore(CLOCK).create({});
    const toolbox: Toolbox = {
      schemas: async () => [],
      find: async (name, signal) => {
        const found = await deployToolbox(done).find(name, signal);
        return found && { ...found, describeSource: inItsFolder };
      },
    };
    const folders = ["src", "src/agent", "test"];
    const replies = folders.map((folder, index): ScriptedReply => [
      { type: "tool_call", id: `call_${index}`, name: "deploy", arguments: { folder } },
    ]);
    await createTurn({
      conversation,
      model: new ScriptedModel({ replies: [...replies, "Done."] }),
      toolbox,
      prompter: new ScriptedPrompter({
        permissions: [{ type: "run", isRemembered: true }, { type: "run" }],
      }),
      clock: CLOCK,
    }).run({ content: "Deploy them." });
    const { stream } = conversation;
    const kinds = [...eventsOf(stream.entries)].flatMap((event) =>
      event.type === "permission_decision" ? [event.decidedBy.kind] : [],
    );
    const result = await replayConversation({ stream, toolbox });
    expect([kinds, result]).toEqual([["user", "remembered", "user"], { turns: 1 }]);
  });

  test("lets calls run by a rule that was granted for the turn, as then", async () => {
    const conversation = await new MemoryConversationStore(CLOCK).create({});
    const toolbox: Toolbox = {
      schemas: async () => [],
      find: async (name, signal) => {
        const found = await deployToolbox(done).find(name, signal);
        const source = { origin: { type: "builtin", confinement: "sandbox" } } as const;
        const argumentKinds = { "/command": "command" } as const;
        return found && { ...found, argumentKinds, describeSource: async () => source };
      },
    };
    const replies = ["git diff a", "git diff b"].map((command, index): ScriptedReply => [
      { type: "tool_call", id: `call_${index}`, name: "deploy", arguments: { command } },
    ]);
    const rule = { mode: "unattended", arg: "/command", prefix: "git diff" };
    const store = { save: async () => undefined, noteUsed: () => undefined };
    await createTurn({
      conversation,
      model: new ScriptedModel({ replies: [...replies, "Done."] }),
      toolbox,
      policy: createPolicy({ root: ".", store }),
      prompter: {
        channel: "test",
        canAsk: () => true,
        ask: async ({ inquiryId }) => {
          const grant = { rule, until: "turn" } as const;
          return { inquiryId, type: "answered", answer: true, grant };
        },
      },
      clock: CLOCK,
    }).run({ content: "Deploy them." });
    const { stream } = conversation;
    const kinds = [...eventsOf(stream.entries)].flatMap((event) =>
      event.type === "permission_decision" ? [event.decidedBy.kind] : [],
    );
    const result = await replayConversation({ stream, toolbox });
    expect([kinds, result]).toEqual([["user", "policy"], { turns: 1 }]);
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

  test("of a call with steps that run once compares none of them, whether or not the tool runs", async () => {
    let steps = 0;
    const stepwise: Attempt = async (request) => {
      await request.runStep?.("count", () => (steps += 1));
      return deploy(WHERE, request);
    };
    const { stream } = await recordDeploy(WHERE, stepwise);
    const toolbox = deployToolbox(stepwise);
    const results = [
      await replayConversation({ stream, toolbox }),
      await replayConversation({ stream, toolbox, runsTools: true }),
      await replayConversation({ stream, toolbox: deployToolbox(), runsTools: true }),
    ];
    const recorded = [...eventsOf(stream.entries)].filter(({ type }) => type === "tool_step");
    expect([results, recorded.length, steps]).toEqual([
      [{ turns: 1 }, { turns: 1 }, { turns: 1 }],
      1,
      2, // When it was recorded, and in the replay that ran it.
    ]);
  });

  test("does not compare whether a tool was declared idempotent", async () => {
    const { stream } = await recordDeploy();
    const toolbox = deployToolbox(undefined, { run: "ask", idempotent: true });
    expect(await replayConversation({ stream, toolbox })).toEqual({ turns: 1 });
  });

  test("goes on with the same calls of a live model, whatever its words and ids", async () => {
    const { stream } = await recordDeploy();
    const model = new ScriptedModel({ replies: deployReplies("toolu_9", "All right then.") });
    const options = { stream, model, toolbox: deployToolbox(), clock: CLOCK };
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
    const options = { stream, toolbox, clock: CLOCK };
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

async function replayStory(story: Story): Promise<ReplayResult> {
  const stream = await tell(story);
  const before = JSON.stringify(stream.entries);
  const result = await replayConversation({ stream, toolbox: storyToolbox([]) });
  expect(JSON.stringify(stream.entries)).toBe(before);
  return result;
}

type Attempt = (request: AttemptRequest) => AttemptResult | Promise<AttemptResult>;

function deploy(question: Question, { answers }: AttemptRequest): AttemptResult {
  const answer = answers[question.id];
  if (answer !== undefined)
    return { type: "success", content: `deployed ${JSON.stringify(answer)}` };
  return { type: "needs_input", question, source: { source: "tool", name: "deploy" } };
}

/** A command in the folder that its arguments name. */
async function inItsFolder({ folder }: JsonObject): Promise<ToolSource> {
  const origin = { type: "builtin", confinement: "sandbox" } as const;
  return { origin, ...(typeof folder === "string" && { folder }) };
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
async function recordDeploy(
  question: Question = WHERE,
  attempt: Attempt = (request) => deploy(question, request),
): Promise<ConversationWriter> {
  const conversation = await new MemoryConversationStore(CLOCK).create({});
  await createTurn({
    conversation,
    model: new ScriptedModel({ replies: deployReplies("call_1", "Done.") }),
    toolbox: deployToolbox(attempt),
    prompter: new ScriptedPrompter({
      answers: [{ answer: "here" }],
      permissions: [{ type: "run", isRemembered: false }],
    }),
    clock: CLOCK,
  }).run({ content: "Deploy it." });
  return conversation;
}

/** Lets the story happen. */
async function tell({ turns, reactions, changesAt = [] }: Story): Promise<ConversationStream> {
  const clock = new FakeClock();
  const store = new MemoryConversationStore(clock);
  const world: World = { clock, store, offers: [] };
  const created = await store.create({});
  const { id } = created;
  await created.release();
  const calls: Call[] = [];
  const react = reactor(reactions);
  const toolbox = changing(storyToolbox(calls), changesAt);
  for (const [number, { replies, processes, isDiscarded }] of turns.entries()) {
    const made = replies.map((reply) => toCalls(reply, calls));
    for (const [index, process] of processes.entries()) {
      await using conversation = await store.open(id);
      const isOpen = describeOpenTurn(lastTurn(conversation), false) !== undefined;
      if (index > 0 && !isOpen) break;
      clock.advance(1000);
      let turn: Turn | undefined;
      turn = createTurn({
        conversation: mortal(conversation, process.lastWrite, () => turn?.leave()),
        model: createStoryModel(made, lastTurn(conversation)),
        toolbox,
        prompter: createPerson(world, process.isInteractive, react),
        inquiries: new ScriptedInquiryBackend((call) => replyOfModel(call, clock)),
        clock,
      });
      await (index === 0 ? turn.run({ content: `Turn ${number}.` }) : turn.resume());
      await conversation.release();
      await Promise.all(world.offers);
      for (let left = process.answersAfter; left > 0; left -= 1) await answerElsewhere(world);
    }
    await using conversation = await store.open(id);
    const isClosed = isDiscarded || number + 1 < turns.length;
    if (isClosed) await conversation.append(...closeTurn(lastTurn(conversation), clock, "user"));
  }
  return (await store.load(id)).stream;
}

function toCalls(made: readonly Call[], calls: Call[]) {
  return made.map((call) => {
    const key = calls.push(call) - 1;
    const id = `call_${key}`;
    return { type: "tool_call" as const, id, name: call.tool, arguments: { key } };
  });
}

/** Makes the calls that are not on record yet. */
function createStoryModel(
  replies: readonly ReturnType<typeof toCalls>[],
  turn: readonly ConversationEvent[],
): ScriptedModel {
  const made = new Set(turn.map((event) => event.type === "tool_call_request" && event.id));
  const left = replies.filter(([first]) => first !== undefined && !made.has(first.id));
  return new ScriptedModel({
    replies: [
      ...left.map((calls): ScriptedReply => {
        return [{ type: "reasoning", text: "Hm." }, { type: "text", text: "Well." }, ...calls];
      }),
      "Done.",
    ],
  });
}

/** Its process dies instead of this write: nothing is recorded from then on. */
function mortal(
  conversation: ConversationWriter,
  lastWrite: number | undefined,
  onDeath: () => void,
): ConversationWriter {
  const append = conversation.append.bind(conversation);
  let writes = 0;
  return Object.assign(conversation, {
    append: async (...events: readonly ConversationEvent[]) => {
      writes += 1;
      if (lastWrite !== undefined && writes > lastWrite) onDeath();
      else await append(...events);
    },
  });
}

interface World {
  readonly clock: FakeClock;
  readonly store: MemoryConversationStore;
  /** Answers from elsewhere to a process that runs. If it dies, they wait until it has. */
  readonly offers: Promise<void>[];
}

async function answerElsewhere({ store, clock: now }: World): Promise<void> {
  const [item] = await listPending(store);
  if (item === undefined) return;
  const { question, for: userName = "eve" } = item;
  const by = { channel: "elsewhere", userName, clock: now };
  await answerInquiry(store, item, { answer: fitting(question), ...by });
}

async function passHour(now: FakeClock): Promise<void> {
  for (let minute = 0; minute < 60; minute += 20) {
    now.advance(20 * MINUTE_MS);
    await setImmediate();
  }
}

async function replyOfModel(
  { toolCallId, question }: InquiryCall,
  now: FakeClock,
): Promise<InquiryAnswer> {
  if (toolCallId.endsWith("1")) return { type: "failed", kind: "provider", message: "503" };
  if (toolCallId.endsWith("3")) await passHour(now);
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
    executor: {
      attempt: (request: AttemptRequest) => attempt(name, request),
      ...(CHECKING.has(name) && { check: (request: Checked) => check(name, request) }),
    },
  }));
  return toolboxOf({ tools, config: POLICIES });

  async function check(name: string, { arguments: given }: Checked): Promise<CheckResult> {
    const { takes = 0 } = calls[Number(given["key"])] ?? {};
    await setImmediate();
    const type = (["unknown", "not_done", "done", "failed"] as const)[takes] ?? "timed_out";
    return type === "done" ? { type, content: `found by ${name}`, isError: false } : { type };
  }

  async function attempt(
    name: string,
    { arguments: given }: AttemptRequest,
  ): Promise<AttemptResult> {
    const key = Number(given["key"]);
    const { plan = [], takes = 0 } = calls[key] ?? {};
    const number = attempts.get(key) ?? 0;
    attempts.set(key, number + 1);
    for (let left = takes; left > 0; left -= 1) await setImmediate();
    const [question, ...more] = (plan[number] ?? []).map((asked) =>
      asked.binding === undefined ? asked : { ...asked, binding: `${number}` },
    );
    if (question === undefined) {
      return { type: takes === 3 ? "error" : "success", content: `result of ${name} ${key}` };
    }
    return { type: "needs_input", question, more, source: { source: "tool", name } };
  }
}

/** The tools that can say what became of a call in doubt. */
const CHECKING = new Set(["plain", "patient", "advised"]);

type Checked = Pick<AttemptRequest, "arguments">;

/** Each tool is another one from then on. */
function changing(toolbox: Toolbox, changesAt: readonly number[]): Toolbox {
  let looks = 0;
  const describeSource = async () => {
    looks += 1;
    const file = changesAt.filter((at) => at <= looks).length;
    return { origin: { type: "local" as const, command: "tool" }, file };
  };
  return {
    ...toolbox,
    find: async (name, signal) => {
      const tool = await toolbox.find(name, signal);
      return tool && { ...tool, describeSource };
    },
  };
}

function reactor(reactions: readonly Reaction[]): () => Promise<Reaction> {
  let used = 0;
  return async () => {
    const reaction = reactions[used % reactions.length] ?? "yes";
    used += 1;
    await setImmediate();
    return reaction;
  };
}

function createPerson(world: World, isThere: boolean, next: () => Promise<Reaction>): Prompter {
  const react = async () => {
    const reaction = await next();
    if (reaction === "elsewhere") {
      world.offers.push(answerElsewhere(world));
      await setImmediate();
    }
    return reaction;
  };
  return {
    channel: "story",
    canAsk: () => isThere,
    canReach: (name) => name === "ada",
    ask: async (request) => {
      const { inquiryId, kind, signal, for: userName = "eve" } = request;
      const reaction = await react();
      if (reaction === "wait" && kind === "question") await passHour(world.clock);
      if (signal.aborted) return { inquiryId, type: "interrupted" };
      if (reaction === "later") return { inquiryId, type: "later" };
      if (isNoAnswer(reaction)) return { inquiryId, type: "unanswered", reason: reaction };
      if (reaction === "close") return { inquiryId, type: "cancelled" };
      if (request.kind === "form") throw new Error("this prompter shows no forms");
      const isRemembered = reaction === "remember";
      const by = { inquiryId, type: "answered", isRemembered, userName } as const;
      if (kind === "question" || kind === "in_doubt") {
        return { ...by, answer: fitting(request.question), note: "n" };
      }
      if (reaction === "no") return { ...by, answer: false, note: "not now" };
      if (reaction !== "change") return { ...by, answer: true };
      return request.kind === "delivery"
        ? { ...by, answer: true, content: `Edited: ${request.content}` }
        : { ...by, answer: true, arguments: { ...request.arguments, extra: 1 } };
    },
  };
}

const NO_ANSWERS: readonly NoAnswerReason[] = ["timed_out", "unavailable", "declined_by_client"];

function isNoAnswer(reaction: Reaction): reaction is NoAnswerReason {
  return NO_ANSWERS.some((reason) => reason === reaction);
}

function fitting({ answerType }: InquiryQuestion): Json {
  if (answerType.type === "boolean") return true;
  return answerType.type === "select" ? "a" : "some text";
}
