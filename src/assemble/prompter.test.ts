/** How a program's own prompter, and what it returns, shape a turn. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  CLOSING_MS,
  type Prompter,
  type PromptRequest,
  type PromptResult,
} from "../core/agent/index.ts";
import { type Decider, deciderOf, eventsOf, isAnswer } from "../record/conversation/index.ts";
import type { ConversationWriter } from "../stores/index.ts";
import {
  FakeClock,
  holdPrompt,
  MemoryConversationStore,
  type PrompterScript,
  ScriptedModel,
  ScriptedPrompter,
} from "../testing/index.ts";
import { booleanQuestion, defineTool, secretQuestion, textQuestion } from "../record/tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import { resumeTurn, runTurn, streamTurn, type TurnOptions } from "./index.ts";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys.",
  parameters: { type: "object", properties: { to: { type: "string" } } },
  run: async (_args, { ask }) =>
    (await ask(booleanQuestion("sure", "Deploy now?", { exclusive: true })))
      ? "deployed"
      : "left alone",
});

const replies = [
  [{ type: "tool_call", id: "call_1", name: "deploy", arguments: { to: "live" } }] as const,
  "It is done.",
];

interface Deployment extends Partial<TurnOptions> {
  readonly conversation: ConversationWriter;
  readonly clock: FakeClock;
}

async function begin(config: JsonObject = {}): Promise<Deployment> {
  const clock = new FakeClock();
  const conversation = await new MemoryConversationStore(clock).create({});
  return { conversation, clock, tools: [deploy], toolConfig: { deploy: config } };
}

async function run(deployment: Deployment, prompter: Prompter, more: Partial<TurnOptions> = {}) {
  const model = new ScriptedModel({ replies });
  return runTurn({ ...deployment, model, prompter, ...more }, "Deploy.");
}

/** The recorded outcome of each request to a person, and the result of the call that the model got. */
function outcomesOf({ conversation }: Deployment) {
  const events = [...eventsOf(conversation.stream.entries)];
  const decided = events.filter(isAnswer).map((event) => {
    const by = byWhom(deciderOf(event));
    if (event.type === "permission_decision") {
      return [event.action, event.decision, by, event.reason ?? event.cause]
        .filter(Boolean)
        .join(" ");
    }
    return event.outcome === "cancelled"
      ? `question cancelled (${JSON.stringify(event.reason)})`
      : `question ${event.outcome} ${by}`;
  });
  const told = events.flatMap((event) =>
    event.type === "tool_call_response" ? [event.content] : [],
  );
  return { decided, told };
}

function byWhom(decider: Decider | undefined): string {
  if (decider?.kind === "user") return `by ${decider.name ?? "user"} (${decider.channel})`;
  return decider?.kind === "policy" ? `by ${decider.key.replace(/^.*deploy\./, "")}` : "";
}

const ALLOWED = "run approved by run";
const ASKS_ALL = { run: "ask", result: "ask" };
const YES: PrompterScript = {
  answers: () => ({ answer: true }),
  permissions: () => ({ type: "run" }),
  deliveries: () => ({ type: "deliver" }),
};

describe("a request", () => {
  test("says what it is about: the conversation, the call, the tool, and who asks", async () => {
    const deployment = await begin(ASKS_ALL);
    const prompter = new ScriptedPrompter(YES);
    await run(deployment, prompter);
    const { questions, permissions, deliveries } = prompter;
    const shown = [...permissions, ...questions, ...deliveries];
    const common = {
      conversation: deployment.conversation.id,
      toolCallId: "call_1",
      tool: "deploy",
      allowsLater: true,
    };
    const fromTool = { source: { source: "tool", name: "deploy" }, label: "deploy" };
    expect(shown).toMatchObject([
      { ...common, inquiryId: "call_1:run:1", source: { source: "assistant" }, label: "assistant" },
      { ...common, inquiryId: "call_1.sure.1", questionId: "sure", ...fromTool },
      { ...common, inquiryId: "call_1:deliver:1", ...fromTool },
    ]);
    const recorded = [...eventsOf(deployment.conversation.stream.entries)].flatMap((event) =>
      event.type === "permission_request" || event.type === "inquiry_request" ? [event.id] : [],
    );
    expect(shown.map(({ inquiryId }) => inquiryId)).toEqual(recorded);
  });

  test.each([
    ["a question that may be asked once a turn", booleanQuestion("q", "Sure?"), true],
    ["a question for each time", booleanQuestion("q", "Sure?", { persistence: "none" }), false],
    ["a secret", secretQuestion("q", "Password?"), false],
  ])("says whether its answer can be remembered: %s", async (_, question, expected) => {
    const asking = defineTool({
      name: "deploy",
      description: "",
      parameters: { type: "object" },
      run: async (_args, { ask }) => ask(question),
    });
    const prompter = new ScriptedPrompter({ answers: () => ({ isCancelled: true }) });
    await run({ ...(await begin()), tools: [asking] }, prompter);
    expect(prompter.questions.map(({ canRemember }) => canRemember)).toEqual([expected]);
  });

  test("has the label of the config, if there is one", async () => {
    const prompter = new ScriptedPrompter(YES);
    await run(await begin({ questions: { sure: { prompt_label: "Ops" } } }), prompter);
    expect(prompter.questions.map(({ label }) => label)).toEqual(["Ops"]);
  });
});

describe("who answered", () => {
  test("comes back with each decision and is recorded, in place of the turn's user", async () => {
    const deployment = await begin(ASKS_ALL);
    const prompter = new ScriptedPrompter({
      permissions: [{ type: "run", userName: "Ana" }],
      answers: [{ answer: true, userName: "Ben" }],
      deliveries: [{ type: "withhold" }],
    });
    await run(deployment, prompter, { userName: "Cleo" });
    expect(outcomesOf(deployment).decided).toEqual([
      "run approved by Ana (scripted)",
      "question answered by Ben (scripted)",
      "deliver denied by Cleo (scripted)",
    ]);
  });

  test("is recorded with a call that someone skipped, or whose prompt they closed", async () => {
    const results = [
      { type: "skip", userName: "Ana" } as const,
      { type: "cancelled", userName: "Ben" } as const,
    ];
    const decided = results.map(async (result) => {
      const deployment = await begin(ASKS_ALL);
      await run(deployment, new ScriptedPrompter({ permissions: [result] }));
      return outcomesOf(deployment).decided;
    });
    expect(await Promise.all(decided)).toEqual([
      ["run denied by Ana (scripted)"],
      ["run denied by Ben (scripted) closed"],
    ]);
  });
});

describe("a request that no one answers in time", () => {
  test("ends the question, and the model learns that the user did not say no", async () => {
    const deployment = await begin();
    const prompter = new ScriptedPrompter({ answers: [{ isUnanswered: "timed_out" }] });
    const end = await run(deployment, prompter);
    expect({ ...outcomesOf(deployment), type: end.type, denials: end.denials }).toEqual({
      decided: [ALLOWED, 'question cancelled ("timed_out")'],
      told: [expect.stringMatching(/none before the deadline\. The user did not reject the call/)],
      type: "done",
      denials: [],
    });
  });

  test("counts as a passed deadline, so that the config can answer with the default", async () => {
    const asking = defineTool({
      name: "deploy",
      description: "",
      parameters: { type: "object" },
      run: async (_args, { ask }) => ask(booleanQuestion("sure", "Sure?", { default: true })),
    });
    const config = { questions: { sure: { deadline: "1h", on_timeout: "default" } } };
    const deployment = { ...(await begin(config)), tools: [asking] };
    await run(deployment, new ScriptedPrompter({ answers: [{ isUnanswered: "timed_out" }] }));
    expect(outcomesOf(deployment).told).toEqual(["true"]);
  });

  test("denies a call, on behalf of the config that asks for permission", async () => {
    const deployment = await begin({ run: "ask", detached: { run: "auto" } });
    const result = { type: "unanswered", reason: "timed_out" } as const;
    await run(deployment, new ScriptedPrompter({ permissions: [result] }));
    expect(outcomesOf(deployment)).toEqual({
      decided: ["run denied by run timed_out"],
      told: [expect.stringMatching(/no one answered in time\. The user did not reject the call/)],
    });
  });

  test("withholds a result, on behalf of the config that asks for approval", async () => {
    const deployment = await begin({ result: "ask", detached: { deliver: "auto" } });
    const result = { type: "unanswered", reason: "timed_out" } as const;
    await run(deployment, new ScriptedPrompter({ ...YES, deliveries: [result] }));
    expect(outcomesOf(deployment)).toEqual({
      decided: [
        ALLOWED,
        "question answered by user (scripted)",
        "deliver denied by result timed_out",
      ],
      told: [expect.stringMatching(/no one answered in time\. The user did not reject it/)],
    });
  });
});

describe("a prompter that cannot reach anyone after all", () => {
  const result = { type: "unanswered", reason: "unavailable" } as const;

  test("leaves a question to `detached`", async () => {
    const deployment = await begin();
    const prompter = new ScriptedPrompter({ answers: [{ isUnanswered: "unavailable" }] });
    const { denials } = await run(deployment, prompter);
    expect({ ...outcomesOf(deployment), denials }).toEqual({
      decided: [ALLOWED, 'question cancelled ("no_prompt_backend")'],
      told: [expect.stringContaining("deploy cannot run because no user is available to answer.")],
      denials: [{ tool: "deploy", what: "question" }],
    });
  });

  test.each([
    ["deny", "done", ["run denied by detached.run unavailable"]],
    ["defer", "waiting", []],
  ])("leaves a permission to `detached.run`: %s", async (mode, type, decided) => {
    const deployment = await begin({ run: "ask", detached: { run: mode } });
    const end = await run(deployment, new ScriptedPrompter({ permissions: [result] }));
    expect([end.type, outcomesOf(deployment).decided]).toEqual([type, decided]);
  });

  test.each([
    [
      "deny",
      "deliver denied by detached.deliver unavailable",
      "Result delivery skipped by configuration.",
    ],
    ["auto", "deliver approved by detached.deliver", "deployed"],
  ])("leaves a result to `detached.deliver`: %s", async (mode, last, told) => {
    const deployment = await begin({ result: "ask", detached: { deliver: mode } });
    await run(deployment, new ScriptedPrompter({ ...YES, deliveries: [result] }));
    const outcomes = outcomesOf(deployment);
    expect([outcomes.decided.at(-1), outcomes.told]).toEqual([last, [told]]);
  });

  test("says in its own words why, and never mentions a terminal", async () => {
    const deployment = await begin();
    const prompter = new ScriptedPrompter();
    prompter.isAvailable = false;
    const unavailableBecause = "the chat is closed";
    await run(deployment, Object.assign(prompter, { unavailableBecause }));
    const [told = ""] = outcomesOf(deployment).told;
    expect(told).toContain("deploy cannot run because the chat is closed.");
    expect(told).not.toContain("terminal");
  });
});

describe.each([
  ["question", {}, "answers"],
  ["permission", ASKS_ALL, "permissions"],
  ["delivery", { result: "ask" }, "deliveries"],
] as const)("an aborted turn at a %s", (_, config, kind) => {
  test.each<[string, (signal: AbortSignal) => unknown]>([
    ["is cancelled", () => ({ type: "cancelled" })],
    ["is interrupted", () => ({ type: "interrupted" })],
    ["times out", () => ({ type: "unanswered", reason: "timed_out" })],
    ["fails", (signal) => signal.throwIfAborted()],
    ["returns nonsense", () => ({ type: "closed" })],
  ])("stays open if the prompt %s, and is asked again on resume", async (_end, react) => {
    const deployment = await begin(config);
    const abort = new AbortController();
    const prompter = scriptedUntilAbort(kind, async ({ signal }) => {
      abort.abort();
      return react(signal);
    });
    const { type } = await run(deployment, prompter, { signal: abort.signal });
    const before = outcomesOf(deployment);
    expect([
      type,
      before.told,
      before.decided.filter((line) => line.includes("cancelled")),
    ]).toEqual(["interrupted", [], []]);
    await expectAskedAgain(deployment, kind);
  });

  test("ends although the prompt ignores its signal, and is asked again on resume", async () => {
    const deployment = await begin(config);
    const abort = new AbortController();
    const late = Promise.withResolvers<unknown>();
    const opened = Promise.withResolvers<void>();
    const prompter = scriptedUntilAbort(kind, async () => {
      opened.resolve();
      return late.promise;
    });
    const ended = run(deployment, prompter, { signal: abort.signal });
    await opened.promise;
    abort.abort();
    deployment.clock.advance(CLOSING_MS);
    const { type } = await ended;
    late.resolve({ type: "answered", answer: false });
    expect([type, outcomesOf(deployment).told]).toEqual(["interrupted", []]);
    await expectAskedAgain(deployment, kind);
  });
});

/** Says yes to everything but requests of one kind. */
function scriptedUntilAbort(
  kind: "answers" | "permissions" | "deliveries",
  react: (request: PromptRequest) => Promise<unknown>,
): Prompter {
  const held = (
    { answers: "question", permissions: "permission", deliveries: "delivery" } as const
  )[kind];
  const prompter = new ScriptedPrompter(YES);
  return {
    channel: prompter.channel,
    canAsk: () => true,
    ask: async (request) => {
      if (request.kind !== held) return prompter.ask(request);
      const result = (await react(request)) as object;
      return { ...result, inquiryId: request.inquiryId } as PromptResult; // Or nonsense.
    },
  };
}

async function expectAskedAgain(
  { conversation, ...options }: Deployment,
  kind: "answers" | "permissions" | "deliveries",
): Promise<void> {
  const prompter = new ScriptedPrompter(YES);
  const model = new ScriptedModel({ replies: replies.slice(1) });
  const { type } = await resumeTurn(conversation, { ...options, model, prompter });
  const { questions, permissions, deliveries } = prompter;
  const asked = { answers: questions, permissions, deliveries }[kind];
  expect([type, asked.length, outcomesOf({ ...options, conversation }).told]).toEqual([
    "done",
    1,
    ["deployed"],
  ]);
}

test("a prompter that ignores its signal does not keep the next prompt from opening", async () => {
  const deployment = await begin({ questions: { sure: { deadline: "1m" } } });
  const closing = Promise.withResolvers<void>();
  const held = holdPrompt<PromptRequest, PromptResult>();
  const prompter = Object.assign(new ScriptedPrompter(), {
    ask: async (request: PromptRequest): Promise<PromptResult> => {
      const { inquiryId, tool, signal } = request;
      if (tool !== "deploy") return { inquiryId, type: "answered", answer: true };
      signal.addEventListener("abort", () => closing.resolve());
      return held.reply(request);
    },
  });
  const check = defineTool({
    name: "check",
    description: "Checks.",
    parameters: { type: "object" },
    run: async (_args, { ask: asking }) => asking(booleanQuestion("ready", "Ready?")),
  });
  const calls = ["deploy", "check"].map((name) => ({ type: "tool_call" as const, id: name, name }));
  const model = new ScriptedModel({ replies: [calls, "It is done."] });
  const ended = runTurn({ ...deployment, tools: [deploy, check], model, prompter }, "Go.");
  await held.opened;
  deployment.clock.advance(60_000);
  await closing.promise;
  deployment.clock.advance(CLOSING_MS);
  expect((await ended).type).toBe("done");
  expect(outcomesOf(deployment).decided.slice(2)).toEqual([
    'question cancelled ("timed_out")',
    "question answered by user (scripted)",
  ]);
});

function failToSay(): never {
  throw new Error("no session");
}

describe("a program's mistake", () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  beforeEach(() => {
    warnings.length = 0;
    process.on("warning", onWarning);
  });
  afterEach(() => void process.off("warning", onWarning));

  async function messages(): Promise<readonly string[]> {
    await new Promise(setImmediate); // Warnings are emitted in the next tick.
    return warnings.filter(({ name }) => name === "JpWarning").map(({ message }) => message);
  }

  test.each([
    ["throws", failToSay, "no session"],
    ["returns a promise", async () => true, "it returned a promise"],
    ["returns a promise that rejects", async () => failToSay(), "it returned a promise"],
  ])("canAsk that %s counts as false, and is reported once", async (_, canAsk, problem) => {
    const deployment = await begin(ASKS_ALL);
    const prompter = Object.assign(new ScriptedPrompter(YES), { canAsk });
    const { type, denials } = await run(deployment, prompter); // Without types.
    expect([type, denials, await messages()]).toEqual([
      "done",
      [{ tool: "deploy", what: "permission" }],
      [`The prompter's canAsk failed, and the turn continued: ${problem}`],
    ]);
  });

  const FOR_ADA = { questions: { sure: { target: { user: "ada" } } } };

  test("canReach that throws counts as false, and is reported once", async () => {
    const prompter = Object.assign(new ScriptedPrompter(YES), { canReach: failToSay });
    const { type } = await run(await begin(FOR_ADA), prompter);
    expect([type, prompter.questions, await messages()]).toEqual([
      "waiting",
      [],
      ["The prompter's canReach failed, and the turn continued: no session"],
    ]);
  });

  test("an answer from someone whom the question is not for is ignored and reported", async () => {
    const deployment = await begin(FOR_ADA);
    const answers = [{ answer: true, userName: "bob" }];
    const prompter = Object.assign(new ScriptedPrompter({ answers }), { people: ["ada"] });
    const { type } = await run(deployment, prompter);
    expect([type, outcomesOf(deployment).decided, await messages()]).toEqual([
      "waiting",
      [ALLOWED],
      ["An answer to call_1.sure.1 was ignored, and the turn continued: only ada can answer this"],
    ]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("oh no");
      },
    ],
    ["rejects", () => Promise.reject(new Error("oh no"))],
  ])("an observer that %s is reported once, and keeps getting updates", async (_, fail) => {
    const deployment = await begin();
    const seen: string[] = [];
    const observer = {
      observe: ({ type }: { readonly type: string }) => {
        seen.push(type);
        return fail();
      },
    };
    const { type } = await run(deployment, new ScriptedPrompter(YES), { observer });
    expect([type, seen.includes("response_end"), await messages()]).toEqual([
      "done",
      true,
      ["The observer of a turn failed, and the turn continued: oh no"],
    ]);
  });

  test("an observer that throws does not take updates from a stream", async () => {
    const observer = {
      observe: () => {
        throw new Error("oh no");
      },
    };
    const model = new ScriptedModel({ replies: ["Hello."] });
    const { conversation, clock } = await begin();
    const types: string[] = [];
    for await (const { type } of streamTurn({ conversation, clock, model, observer }, "Hi."))
      types.push(type);
    expect(types).toEqual(expect.arrayContaining(["message_delta", "response_end"]));
  });

  const RUN = { type: "answered", inquiryId: "call_1:run:1", answer: true };

  test.each([
    ["no result", undefined, "the prompter returned no result"],
    ["an unknown result", { type: "approve" }, 'a result of an unknown type: "approve"'],
    ["an unknown reason", { type: "unanswered", reason: "?" }, "an unknown reason"],
    ["a name that is not text", { ...RUN, userName: 5 }, "whose userName is not text"],
    ["a list of arguments", { ...RUN, arguments: [] }, "arguments that are not an object"],
    ["a reason that is not text", { ...RUN, note: 5 }, "whose note is not text"],
    ["anything but yes or no", { ...RUN, answer: "yes" }, "expected true or false"],
    ["the result of a form", { type: "form", results: [RUN] }, "a form for one question"],
    ["an answer to another request", { ...RUN, inquiryId: "call_2:run:1" }, "another question"],
  ])("%s of a prompter is no decision of the user", async (_, result, problem) => {
    const deployment = await begin(ASKS_ALL);
    const prompter = Object.assign(new ScriptedPrompter(YES), { ask: async () => result });
    await run(deployment, prompter); // As a program without types may pass it.
    expect(outcomesOf(deployment)).toEqual({
      decided: ["run denied by run prompt_failed"],
      told: [expect.stringContaining(problem)],
    });
  });

  test("null in a result, as JSON has it, counts as absent", async () => {
    const deployment = await begin({ ...ASKS_ALL, questions: { sure: { exclusive: false } } });
    const absent = {
      userName: null,
      isRemembered: null,
      note: null,
      arguments: null,
      content: null,
    };
    const prompter = Object.assign(new ScriptedPrompter(), {
      ask: async ({ inquiryId }: PromptRequest) => ({
        inquiryId,
        type: "answered",
        answer: true,
        ...absent,
      }),
    });
    await run(deployment, prompter, { userName: "Ana" }); // Without types.
    expect(outcomesOf(deployment)).toEqual({
      decided: ["run approved", "question answered", "deliver approved"].map(
        (outcome) => `${outcome} by Ana (scripted)`,
      ),
      told: ["deployed"],
    });
  });

  test.each<[string, (ids: readonly string[]) => unknown, string]>([
    ["no results", () => undefined, "returned no results"],
    ["results by name", () => ({ title: "Hello" }), "returned no results"],
    ["an empty result", () => [null], "returned no result"],
    ["results without a type", (ids) => ids.map((id) => ({ inquiryId: id })), "no result"],
    [
      "a field without a reason",
      ([first, second]) => [
        { inquiryId: first, type: "answered", answer: "Hello" },
        { inquiryId: second, type: "unanswered" },
      ],
      "an unknown reason",
    ],
  ])("a form with %s has no answers", async (_, results, problem) => {
    const report = defineTool({
      name: "deploy",
      description: "Reports.",
      parameters: { type: "object" },
      run: async (_args, { askAll }) =>
        askAll({ title: textQuestion("title", "Title?"), text: textQuestion("text", "Text?") }),
    });
    const deployment = { ...(await begin()), tools: [report] };
    const prompter = Object.assign(new ScriptedPrompter(), {
      ask: async (request: PromptRequest) => ({
        type: "form",
        inquiryId: request.inquiryId,
        results: results(
          "fields" in request ? request.fields.map(({ inquiryId }) => inquiryId) : [],
        ),
      }),
    });
    await run(deployment, prompter); // Without types.
    expect(outcomesOf(deployment)).toEqual({
      decided: [ALLOWED, ...Array(2).fill('question cancelled ("backend_error")')],
      told: [expect.stringContaining(problem)],
    });
  });
});
