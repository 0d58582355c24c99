/** Steps of tools that must not run twice, and the key under which services ignore repeated requests. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CallLimits, DEFAULT_LIMITS } from "../../settings/config/index.ts";
import { toolCall, turnStart } from "../../record/conversation/events.fixture.ts";
import type { ConversationEvent } from "../../record/conversation/index.ts";
import { problemsOf } from "../../record/conversation/record-rules.fixture.ts";
import { FakeClock, MemoryConversationStore } from "../../testing/index.ts";
import {
  booleanQuestion,
  defineTool,
  type Tool,
  type ToolContext,
} from "../../record/tool/index.ts";
import type { Json } from "../../util/index.ts";
import { TurnState } from "./memory.ts";
import { ModelTurn, type ModelTurnOptions, settle, until } from "./model-turn.fixture.ts";
import { ToolTurn, type ToolTurnOptions } from "./tool-turn.fixture.ts";
import { losing, WRITE_FAILED } from "./turn-tools.fixture.ts";

const SURE = booleanQuestion("sure", "Sure?");
const NEVER = () => new Promise<never>(() => undefined);
const call = (id: string, name = "x") => ({ type: "tool_call", id, name }) as const;

/** Says yes to everything, and lets a call in doubt run again. */
const EAGER: NonNullable<ModelTurnOptions["script"]> = {
  permissions: () => ({ type: "run", isRemembered: false }),
  answers: ({ kind }) => ({ answer: kind === "in_doubt" ? "run" : true }),
};

function toolThat(run: (context: ToolContext) => Promise<Json | undefined>): Tool {
  return defineTool({
    name: "x",
    description: "",
    parameters: { type: "object" },
    hasSteps: true,
    run: async (_args, context) => (await run(context)) ?? "nothing",
  });
}

function start(tool: Tool, options: Partial<ToolTurnOptions> = {}): Promise<ToolTurn> {
  return ToolTurn.start({ tools: [tool], script: EAGER, ...options });
}

/** The record of a process that ran the turn and died after the event that `isLast` accepts. */
async function dieAfter(
  isLast: (event: ConversationEvent) => boolean,
  tool: Tool,
): Promise<readonly ConversationEvent[]> {
  const turn = await ModelTurn.create({
    tools: [tool],
    replies: [[call("a")], "Fine"],
    script: EAGER,
  });
  await turn.run();
  const end = turn.events.findIndex(isLast);
  if (end === -1) throw new Error("The turn did not get there.");
  return turn.events.slice(0, end + 1);
}

/** Waits for the event, and leaves the turn where it is: as a process that is killed. */
async function untilKilled(
  turn: ModelTurn,
  end: Promise<unknown>,
  isLast: (event: ConversationEvent) => boolean,
): Promise<readonly ConversationEvent[]> {
  end.catch(() => undefined);
  await until(() => turn.events.some(isLast));
  return turn.events;
}

/** A turn that another process has left. */
async function resumed(
  events: readonly ConversationEvent[],
  tool: Tool,
  options: Partial<ModelTurnOptions> = {},
): Promise<ModelTurn> {
  const conversation = await new MemoryConversationStore(new FakeClock()).create({});
  await conversation.append(...events);
  const usual = { tools: [tool], replies: ["Fine"], script: EAGER };
  return ModelTurn.create({ ...usual, ...options, conversation });
}

async function resume(...given: Parameters<typeof resumed>): Promise<ModelTurn> {
  const turn = await resumed(...given);
  await turn.resume();
  return turn;
}

/** Keeps the key of each attempt. */
function keyed(keys: string[]): Tool {
  return toolThat(async ({ idempotencyKey }) => {
    keys.push(idempotencyKey);
    return null;
  });
}

function limited(recordBytesPerCall: number): Partial<ToolTurnOptions> {
  const limits: CallLimits = { ...DEFAULT_LIMITS, recordBytesPerCall };
  return { parts: { limits } };
}

/** A tool at its payment, which ends when the test says so. */
async function paying() {
  const gate = Promise.withResolvers<void>();
  let payments = 0;
  const pay = toolThat(({ once }) =>
    once("pay", async () => {
      payments += 1;
      await gate.promise;
      return payments;
    }),
  );
  const turn = await start(pay);
  const cycle = await turn.begin(toolCall("a", "x"));
  const responses = cycle.run();
  await until(() => payments === 1);
  return { turn, cycle, responses, gate, payments: () => payments };
}

const isStep =
  (name: string) =>
  (event: ConversationEvent): boolean =>
    event.type === "tool_step" && event.name === name;

describe("a step that runs once", () => {
  test("is recorded before the tool gets its result, and is not repeated by the answer to a question", async () => {
    let [runs, payments] = [0, 0];
    const pay = toolThat(async ({ once, ask }) => {
      runs += 1;
      const receipt = await once("pay", async () => ({ receipt: (payments += 1) }));
      return (await ask(SURE)) ? receipt : "unpaid";
    });
    const turn = await start(pay);
    const response = await turn.call("x");
    expect([response?.content, runs, payments, turn.recorded("tool_step")]).toEqual([
      '{"receipt":1}',
      2,
      1,
      [
        {
          type: "tool_step",
          timestamp: expect.any(String),
          toolCallId: "call_1",
          name: "pay",
          result: { receipt: 1 },
        },
      ],
    ]);
    expect(problemsOf(turn.events)).toEqual([]);
  });

  test("is paid once though its call ran three times, in three processes of which two were killed", async () => {
    const keys: string[] = [];
    let [payments, mails] = [0, 0];
    const shop = toolThat(async ({ once, idempotencyKey }) => {
      const attempt = keys.push(idempotencyKey);
      const receipt = await once("pay", async () => `receipt ${(payments += 1)}`);
      if (attempt === 1) await NEVER(); // The first process is killed here, and the second below.
      await once("mail", async () => {
        mails += 1;
      });
      if (attempt === 2) await NEVER();
      return receipt;
    });
    const first = await ModelTurn.create({ tools: [shop], replies: [[call("a")]] });
    const second = await resumed(await untilKilled(first, first.run(), isStep("pay")), shop);
    const third = await resumed(await untilKilled(second, second.resume(), isStep("mail")), shop);
    await third.resume();
    expect({
      payments,
      mails,
      attempts: keys.length,
      keys: new Set(keys).size,
      result: third.record.find((line) => line.startsWith("a gives")),
      asked: third.prompter.questions.map(({ question }) => question.context),
      problems: problemsOf(third.events),
    }).toEqual({
      payments: 1,
      mails: 1,
      attempts: 3,
      keys: 1,
      result: "a gives: receipt 1",
      asked: ['Finished before, and not run again: "pay", "mail"'],
      problems: [],
    });
  });

  test("leaves its call in doubt if the process is killed after it", async () => {
    const events = await dieAfter(
      isStep("pay"),
      toolThat(({ once }) => once("pay", () => 1)),
    );
    const turn = await resume(events, toolThat(NEVER), { isInteractive: false });
    expect(turn.record.at(-3)).toBe("a denied (rerun)");
  });

  test("runs again if the process was killed during it, and a person lets it", async () => {
    let payments = 0;
    const pay = toolThat(({ once }) => once("pay", () => (payments += 1)));
    const events = await dieAfter(({ type }) => type === "attempt_start", pay);
    const turn = await resume(events, pay);
    expect([payments, turn.record.at(-2)]).toEqual([2, "a gives: 2"]);
  });

  test("is not repeated in a fork, whose calls have other keys", async () => {
    const keys: string[] = [];
    let payments = 0;
    const pay = toolThat(async ({ once, idempotencyKey }) => {
      keys.push(idempotencyKey);
      return once("pay", () => (payments += 1));
    });
    const events = await dieAfter(isStep("pay"), pay);
    const store = new MemoryConversationStore(new FakeClock());
    await store.create({});
    const fork = await store.create({});
    await fork.append(...events);
    const usual = { tools: [pay], replies: ["Fine"], script: EAGER };
    await (await ModelTurn.create({ ...usual, conversation: fork })).resume();
    expect([payments, new Set(keys).size]).toEqual([1, 2]);
  });

  test("returns nothing again if it returned nothing", async () => {
    const results: unknown[] = [];
    const quiet = toolThat(async ({ once, ask }) => {
      results.push(await once("mail", async () => undefined));
      await ask(SURE);
      return null;
    });
    const turn = await start(quiet);
    await turn.call("x");
    expect([results, turn.recorded("tool_step").length]).toEqual([[undefined, undefined], 1]);
  });

  test("is not recorded if it throws, and may be tried again", async () => {
    let tries = 0;
    const flaky = toolThat(async ({ once }) => {
      const pay = () =>
        once("pay", async () => {
          tries += 1;
          if (tries === 1) throw new Error("no network");
          return tries;
        });
      const first = await pay().catch((error: unknown) => String(error));
      return [first, await pay()];
    });
    const turn = await start(flaky);
    const response = await turn.call("x");
    expect([response?.content, turn.recorded("tool_step").length]).toEqual([
      '["Error: no network",2]',
      1,
    ]);
  });

  test("throws if its name was used before in the same attempt, instead of skipping a payment", async () => {
    let payments = 0;
    const pay = ({ once }: ToolContext) => once("pay", () => (payments += 1));
    const results = await Promise.all(
      [
        toolThat(async (context) => (await pay(context)) + (await pay(context))),
        toolThat(async (context) => (await Promise.all([pay(context), pay(context)])).length),
      ].map(async (tool) => (await start(tool)).call("x")),
    );
    expect([results.map((result) => result?.isError), payments]).toEqual([[true, true], 2]);
    expect(results[0]?.content).toBe(
      'The step "pay" was not run: this attempt has used its name before.',
    );
  });

  test("runs side by side with steps of other names", async () => {
    const both = toolThat(async ({ once, ask }) => {
      const done = await Promise.all(["a", "b"].map((name) => once(name, async () => name)));
      await ask(SURE);
      return done;
    });
    const turn = await start(both);
    const response = await turn.call("x");
    const names = turn.recorded("tool_step").map(({ name }) => name);
    expect([response?.content, names.toSorted()]).toEqual(['["a","b"]', ["a", "b"]]);
  });

  test("is finished before its attempt ends, even if the tool does not wait for it", async () => {
    let payments = 0;
    const hasty = toolThat(async ({ once, ask }) => {
      const paid = once("pay", async () => {
        await settle();
        return (payments += 1);
      });
      await ask(SURE);
      return paid;
    });
    const turn = await start(hasty);
    const response = await turn.call("x");
    const types = turn.events.map(({ type }) => type);
    expect([response?.content, payments]).toEqual(["1", 1]);
    expect(types.indexOf("tool_step")).toBeLessThan(types.indexOf("inquiry_request"));
  });

  test("gives each attempt its own copy of the result", async () => {
    const greedy = toolThat(async ({ once, ask }) => {
      const list = await once("list", () => ({ items: ["a"] }));
      list.items.push("b");
      await ask(SURE);
      return list.items.length;
    });
    const turn = await start(greedy);
    const response = await turn.call("x");
    expect([response?.content, turn.recorded("tool_step")[0]?.result]).toEqual([
      "2",
      { items: ["a"] },
    ]);
  });

  test.each([
    ["a date", new Date(0)],
    ["a function in an object", { pay: () => 1 }],
    ["not a number", Number.NaN],
    ["a big integer", 1n],
    ["an empty place in a list", [undefined]],
  ])("is not repeated if its result is not JSON, and says so each time: %s", async (_, value) => {
    let payments = 0;
    const errors: string[] = [];
    const careless = toolThat(async ({ once, ask }) => {
      const paid = once("pay", () => ((payments += 1), value as Json));
      await paid.catch((error: { readonly code: string }) => errors.push(error.code));
      await ask(SURE);
      return null;
    });
    const turn = await start(careless);
    await turn.call("x");
    expect([payments, errors, turn.recorded("tool_step")]).toMatchObject([
      1,
      ["step_not_json", "step_not_json"],
      [{ name: "pay", failure: "not_json" }],
    ]);
  });
});

describe("the size of steps", () => {
  test("is limited: a result that is too large fails the call, and its step does not run again", async () => {
    let payments = 0;
    const errors: string[] = [];
    const large = toolThat(async ({ once, ask }) => {
      const paid = once("pay", () => ((payments += 1), "x".repeat(2000)));
      await paid.catch((error: { readonly code: string }) => errors.push(error.code));
      await ask(SURE);
      return paid;
    });
    const response = await (await start(large, limited(1000))).call("x");
    expect([payments, errors, response]).toMatchObject([
      1,
      ["step_too_large", "step_too_large"],
      { isError: true },
    ]);
  });

  test("is limited over all steps, whose number is therefore limited too", async () => {
    let steps = 0;
    const busy = toolThat(async ({ once }) => {
      for (;;) await once(`step ${steps}`, () => (steps += 1));
    });
    const response = await (await start(busy, limited(1000))).call("x");
    expect(steps).toBeLessThan(100);
    expect(response?.content).toBe(
      `The step "step ${steps}" was not run: the call has reached ` +
        "conversation.limits.record_bytes_per_call.",
    );
  });

  test("counts what earlier processes have recorded", async () => {
    const two = toolThat(async ({ once }) => {
      await once("first", () => "x".repeat(600));
      return once("second", () => "x".repeat(600));
    });
    const events = await dieAfter(isStep("first"), two);
    const turn = await resume(events, two, {
      limits: { ...DEFAULT_LIMITS, recordBytesPerCall: 1000 },
    });
    expect(turn.record.at(-2)).toContain('a fails: The step "second" has run, but its result');
  });
});

describe("a step of a call that is stopped", () => {
  test("is recorded if it finishes soon, so that the call does not lose it", async () => {
    const { turn, cycle, responses, gate } = await paying();
    cycle.stop("interrupted");
    gate.resolve();
    expect([await responses, turn.recorded("tool_step").length]).toEqual([[], 1]);
  });

  test("is given up after two seconds, and is then not recorded behind the end of its call", async () => {
    const { turn, cycle, responses, gate } = await paying();
    cycle.stop("user");
    await settle();
    turn.clock.advance(2000);
    await responses;
    gate.resolve();
    await settle();
    expect(turn.events.at(-1)?.type).toBe("tool_call_response");
  });

  test("is not started twice by a restart: the new attempt waits for the one that is under way", async () => {
    const { turn, cycle, responses, gate, payments } = await paying();
    cycle.restart();
    await settle();
    turn.clock.advance(2000);
    await until(() => turn.recorded("attempt_start").length === 2);
    gate.resolve();
    const [response] = await responses;
    expect([response?.content, payments(), turn.recorded("tool_step").length]).toEqual(["1", 1, 1]);
  });
});

test("a call restarted by the user does not repeat its finished steps, and keeps its key", async () => {
  const keys: string[] = [];
  let payments = 0;
  const gate = Promise.withResolvers<void>();
  const pay = toolThat(async ({ once, idempotencyKey }) => {
    keys.push(idempotencyKey);
    const paid = await once("pay", () => (payments += 1));
    await gate.promise;
    return paid;
  });
  const turn = await start(pay);
  const cycle = await turn.begin(toolCall("a", "x"));
  const responses = cycle.run();
  await until(() => turn.recorded("tool_step").length === 1);
  cycle.restart();
  await until(() => keys.length === 2);
  gate.resolve();
  await responses;
  expect([payments, new Set(keys).size]).toEqual([1, 1]);
});

test("a step that cannot be recorded ends the turn, whatever the tool makes of the error", async () => {
  const stubborn = toolThat(async ({ once }) => {
    await once("pay", () => 1).catch(() => undefined);
    return "paid";
  });
  const turn = await start(stubborn);
  const journal = losing(turn.parts.journal, ({ type }) => type === "tool_step");
  turn.parts = { ...turn.parts, journal };
  await expect(turn.call("x")).rejects.toMatchObject(WRITE_FAILED);
  expect(turn.recorded("tool_call_response")).toEqual([]);
});

describe("calls that share an id", () => {
  test("have keys and steps of their own, in every process", async () => {
    const seen: [string, number][] = [];
    let payments = 0;
    const pay = toolThat(async ({ once, ask, idempotencyKey }) => {
      seen.push([idempotencyKey, await once("pay", () => (payments += 1))]);
      await ask(SURE);
      return null;
    });
    const options = { tools: [pay], script: { answers: NEVER } };
    const first = await ModelTurn.create({ ...options, replies: [[call("a"), call("a")]] });
    const end = first.run();
    await until(() => first.events.filter(({ type }) => type === "inquiry_request").length === 2);
    first.leave();
    await end;
    const before = new Map(seen);
    seen.length = 0;
    await resume(first.events, pay);
    expect([payments, before.size, new Map(seen)]).toEqual([2, 2, before]);
  });
});

describe("the idempotency key", () => {
  test("is the same in every attempt, and another one for each call, turn and conversation", async () => {
    const keys: string[] = [];
    const turn = await start(keyed(keys));
    await turn.run(toolCall("a", "x"), toolCall("b", "x"));
    await turn.run(toolCall("a", "x")); // Some providers use ids again.
    await turn.nextTurn();
    await turn.run(toolCall("a", "x"));
    const store = new MemoryConversationStore(new FakeClock());
    await store.create({});
    const other = await start(keyed(keys), { conversation: await store.create({}) });
    await other.run(toolCall("a", "x"));
    expect([new Set(keys).size, keys.every((key) => /^[0-9a-f]{32}$/.test(key))]).toEqual([
      5,
      true,
    ]);
  });

  test("reads the record once in a turn, whose position does not change", async () => {
    const turn = await start(keyed([]));
    const { journal, state } = turn.parts;
    const index = state.turnIndex(journal);
    await turn.conversation.append(turnStart());
    expect([index, state.turnIndex(journal), new TurnState().turnIndex(journal)]).toEqual([
      0, 0, 1,
    ]);
  });
});

type Action = { readonly type: "ask" | "step"; readonly id: string };

test("any sequence of questions and steps runs each step exactly once, wherever its process dies", async () => {
  const actions = fc.array(fc.constantFrom<Action["type"]>("ask", "step"), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(actions, fc.nat(), async (types, cut) => {
      const plan = types.map((type, index): Action => ({ type, id: `${type}_${index}` }));
      const names = plan.flatMap(({ type, id }) => (type === "step" ? [id] : []));
      const ran: string[] = [];
      const tool = toolThat(async ({ once, ask }) => {
        const results: Json[] = [];
        for (const { type, id } of plan) {
          if (type === "ask") results.push(await ask(booleanQuestion(id, "?")));
          else results.push(await once(id, async () => (ran.push(id), id)));
        }
        return results;
      });
      const whole = await dieAfter(({ type }) => type === "tool_call_response", tool);
      expect(ran.splice(0)).toEqual(names);
      // What the cut takes away has never happened.
      const first = whole.findIndex(({ type }) => type === "tool_call_request") + 1;
      const kept = whole.slice(0, first + (cut % (whole.length - first + 1)));
      const onRecord = kept.flatMap((event) => (event.type === "tool_step" ? [event.name] : []));
      const turn = await resume(kept, tool);
      expect([...onRecord, ...ran]).toEqual(names);
      expect(problemsOf(turn.events)).toEqual([]);
    }),
    { numRuns: 40 },
  );
});
