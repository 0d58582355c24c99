/** A call whose process died while its tool ran, and a tool that can find out what became of it. */
import { describe, expect, test } from "vitest";
import type { ConversationEvent, PermissionDecision } from "../../record/conversation/index.ts";
import { problemsOf } from "../../record/conversation/record-rules.fixture.ts";
import { FakeClock, MemoryConversationStore, type PrompterScript } from "../../testing/index.ts";
import {
  booleanQuestion,
  type CheckContext,
  defineTool,
  type Tool,
  type ToolCheck,
} from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { ModelTurn, type ModelTurnOptions, settle, until } from "./model-turn.fixture.ts";
import { OUTCOME_UNKNOWN, SKIPPED_IN_DOUBT } from "./model-texts.ts";

const DONE: ToolCheck = { type: "done", result: "receipt 1" };
const NOT_DONE: ToolCheck = { type: "not_done" };
const NEVER = () => new Promise<never>(() => undefined);

/** Says yes to everything, and that a call in doubt is to be skipped. */
const PERSON: PrompterScript = {
  permissions: () => ({ type: "run", isRemembered: false }),
  deliveries: () => ({ type: "deliver" }),
  answers: ({ kind }) => ({ answer: kind === "in_doubt" ? "skip" : true }),
};

type Check = (args: JsonObject, context: CheckContext) => Promise<ToolCheck> | ToolCheck;

/** Pays, and keeps the key of each payment and of each check. */
class Shop {
  readonly paid: string[] = [];
  readonly checked: string[] = [];
  readonly tool: Tool;

  constructor(check: Check) {
    this.tool = defineTool({
      name: "pay",
      description: "",
      parameters: { type: "object" },
      run: (_args, { idempotencyKey }) => `receipt ${this.paid.push(idempotencyKey)}`,
      check: (args, context) => {
        this.checked.push(context.idempotencyKey);
        return check(args, context);
      },
    });
  }

  /** The record of a process that was killed while it paid. */
  async killed(
    config: JsonObject = {},
    script: PrompterScript = PERSON,
  ): Promise<readonly ConversationEvent[]> {
    const replies = [[{ type: "tool_call", id: "a", name: "pay" } as const], "Fine"];
    const tools = { tools: [this.tool], config: { pay: config } };
    const turn = await ModelTurn.create({ replies, script, ...tools, userName: "ada" });
    await turn.run();
    const start = turn.events.findIndex(({ type }) => type === "attempt_start");
    return turn.events.slice(0, start + 1);
  }

  /** A process that goes on with it. */
  async next(
    events: readonly ConversationEvent[],
    config: JsonObject = {},
    options: Partial<ModelTurnOptions> = {},
  ): Promise<ModelTurn> {
    const conversation = await new MemoryConversationStore(new FakeClock()).create({});
    await conversation.append(...events);
    const usual = { tools: [this.tool], config: { pay: config }, replies: ["Fine"] };
    return ModelTurn.create({ ...usual, script: PERSON, ...options, conversation });
  }

  async resume(
    config: JsonObject = {},
    options: Partial<ModelTurnOptions> = {},
  ): Promise<Continuation> {
    const events = await this.killed(config);
    const turn = await this.next(events, config, options);
    await turn.resume();
    return { turn, added: turn.record.slice(events.length + 1, -1) };
  }
}

interface Continuation {
  readonly turn: ModelTurn;
  /** What was added to the record, between that it was resumed and the model's reply. */
  readonly added: readonly string[];
}

function rerunOf({ events }: ModelTurn): PermissionDecision | undefined {
  return events.find(
    (event) => event.type === "permission_decision" && event.action === "rerun",
  ) as PermissionDecision | undefined;
}

describe("a call in doubt whose tool can check it", () => {
  test("has its result delivered if it was done, and no one is asked", async () => {
    const shop = new Shop(() => DONE);
    const { turn, added } = await shop.resume();
    expect({ added, paid: shop.paid.length, asked: turn.prompter.questions.length }).toEqual({
      added: ["a edited (rerun)", "a gives: receipt 1"],
      paid: 1,
      asked: 0,
    });
    expect(rerunOf(turn)).toEqual({
      type: "permission_decision",
      timestamp: expect.any(String),
      id: "a:rerun:1",
      toolCallId: "a",
      tool: "pay",
      action: "rerun",
      decision: "edited",
      result: { content: "receipt 1", isError: false },
      check: "done",
      decidedBy: { kind: "tool" },
      digest: expect.any(String),
    });
    expect(problemsOf(turn.events)).toEqual([]);
  });

  test("runs again if it was not done, and no one is asked", async () => {
    const shop = new Shop(() => NOT_DONE);
    const { turn, added } = await shop.resume();
    expect([added, shop.paid.length, turn.prompter.questions, problemsOf(turn.events)]).toEqual([
      ["a approved (rerun)", "a starts", "a gives: receipt 2"],
      2,
      [],
      [],
    ]);
    expect(rerunOf(turn)).toMatchObject({ check: "not_done", decidedBy: { kind: "tool" } });
  });

  test("is checked under the key that it ran with, in every process", async () => {
    const shop = new Shop(() => NOT_DONE);
    const { turn } = await shop.resume();
    const start = turn.events.findLastIndex(({ type }) => type === "attempt_start");
    await (await shop.next(turn.events.slice(0, start + 1))).resume(); // Killed while it ran again.
    expect([shop.paid.length, shop.checked.length]).toEqual([3, 2]);
    expect(new Set([...shop.paid, ...shop.checked]).size).toBe(1);
  });

  test.each<[string, string, Check]>([
    ["cannot tell", "unknown", () => ({ type: "unknown" })],
    ["throws", "failed", () => Promise.reject(new Error("no network"))],
    ["returns nonsense", "failed", () => ({ type: "perhaps" }) as never],
    ["returns nothing", "failed", () => undefined as never],
    [
      "says that it was done, but not with what result",
      "failed",
      () => ({ type: "done" }) as never,
    ],
    [
      "wants to ask",
      "failed",
      () => ({
        type: "done",
        result: {
          content: [{ type: "question", question: booleanQuestion("sure", "Sure?") }],
        },
      }),
    ],
  ])("is left to the person if the check %s: %s", async (_, code, check) => {
    const { turn, added } = await new Shop(check).resume();
    expect(added).toEqual([
      "a waits for permission (rerun)",
      "a denied (rerun)",
      `a fails: ${SKIPPED_IN_DOUBT}`,
    ]);
    const request = turn.events.find(({ type }) => type === "permission_request");
    const [asked] = turn.prompter.questions;
    expect([request, asked?.question.context]).toMatchObject([
      { action: "rerun", check: code },
      expect.stringContaining("The tool's own check"),
    ]);
    expect(rerunOf(turn)).toMatchObject({ decidedBy: { kind: "user" } });
  });

  test("is left to the person if the check takes too long, and the check is stopped", async () => {
    const signals: AbortSignal[] = [];
    const shop = new Shop((_args, { signal }) => {
      signals.push(signal);
      return NEVER();
    });
    const turn = await shop.next(await shop.killed());
    const end = turn.resume();
    await until(() => signals.length === 1);
    turn.clock.advance(29_999);
    await settle();
    const early = signals.map(({ aborted }) => aborted);
    turn.clock.advance(1);
    await end;
    const request = turn.events.find(({ type }) => type === "permission_request");
    expect([early, signals.map(({ aborted }) => aborted), request]).toMatchObject([
      [false],
      [true],
      { check: "timed_out" },
    ]);
  });

  test("records what the check said also if there is no one to ask", async () => {
    const { turn, added } = await new Shop(() => ({ type: "unknown" })).resume(
      {},
      { isInteractive: false },
    );
    expect(added).toEqual(["a denied (rerun)", `a fails: ${OUTCOME_UNKNOWN}`]);
    expect(rerunOf(turn)).toMatchObject({ check: "unknown", decidedBy: { kind: "policy" } });
  });

  test("is settled by its tool without a person there", async () => {
    const { added } = await new Shop(() => DONE).resume({}, { isInteractive: false });
    expect(added).toEqual(["a edited (rerun)", "a gives: receipt 1"]);
  });

  test("shows the model a result that a person has to release only if the person does", async () => {
    const shop = new Shop(() => DONE);
    const config = { result: "ask", detached: "defer" };
    const away = await shop.resume(config, { isInteractive: false });
    expect(away.turn.record.slice(-2)).toEqual([
      "a edited (rerun)",
      "a waits for permission (deliver)",
    ]);
    const turn = await shop.next(away.turn.events, config);
    await turn.resume();
    expect([turn.record.slice(-3), shop.checked.length, problemsOf(turn.events)]).toEqual([
      ["a approved (deliver)", "a gives: receipt 1", "message: Fine"],
      1,
      [],
    ]);
  });

  test("gets the same result in the next process if this one dies before it is delivered", async () => {
    const shop = new Shop(() => DONE);
    const { turn } = await shop.resume();
    const end = turn.events.findIndex((event) => event === rerunOf(turn));
    const next = await shop.next(turn.events.slice(0, end + 1));
    await next.resume();
    expect([next.record.slice(-2), shop.checked.length]).toEqual([
      ["a gives: receipt 1", "message: Fine"],
      1,
    ]);
  });

  test("reports the failure that it had, and the arguments that a person has edited", async () => {
    const seen: JsonObject[] = [];
    const shop = new Shop((args) => {
      seen.push(args);
      const content = [{ type: "text" as const, text: "no money" }];
      return { type: "done", result: { content, isError: true } };
    });
    const edited = { type: "run", isRemembered: false, arguments: { amount: 2 } } as const;
    const events = await shop.killed({ run: "ask" }, { ...PERSON, permissions: () => edited });
    const turn = await shop.next(events, { run: "ask" });
    await turn.resume();
    const response = turn.events.find((event) => event.type === "tool_call_response");
    expect([seen, response]).toMatchObject([[{ amount: 2 }], { isError: true }]);
    expect(response?.content).toMatch(/"amount":\s*2[^]*no money$/);
  });

  test("is not checked again once a person was asked", async () => {
    const shop = new Shop(() => ({ type: "unknown" }));
    const config = { detached: "defer" };
    const { turn } = await shop.resume(config, { isInteractive: false });
    const next = await shop.next(turn.events, config);
    await next.resume();
    expect([shop.checked.length, next.record.at(-3), next.prompter.questions]).toMatchObject([
      1,
      "a denied (rerun)",
      [{ question: { context: "The tool's own check cannot tell." } }],
    ]);
  });

  test("stays open if the turn is left during the check", async () => {
    const shop = new Shop(NEVER);
    const events = await shop.killed();
    const turn = await shop.next(events);
    const end = turn.resume();
    await until(() => shop.checked.length === 1);
    turn.leave();
    await end;
    expect(turn.record.slice(events.length)).toEqual([]);
  });
});

describe("no check decides, or runs,", () => {
  const people = { target: { user: "ada" } };

  test.each([
    ["when the doubt arises", people, people],
    ["when the call was permitted", { ...people, run: "ask" }, { run: "ask" }],
    ["by now", {}, people],
  ])(
    "if certain people decide about the calls: it then only helps them (%s)",
    async (_, before, now) => {
      const shop = new Shop(() => NOT_DONE);
      const killed = await shop.killed(before);
      const turn = await shop.next(killed, now, { userName: "ada" });
      await turn.resume();
      const request = turn.events.findLast(({ type }) => type === "permission_request");
      expect([shop.paid.length, request, rerunOf(turn)]).toMatchObject([
        1,
        { action: "rerun", check: "not_done" },
        { decision: "denied", decidedBy: { kind: "user", name: "ada" } },
      ]);
    },
  );

  test("but it says what was done, whoever decides about the calls", async () => {
    const shop = new Shop(() => DONE);
    const { added } = await shop.resume(people, { isInteractive: false });
    expect(added).toEqual(["a edited (rerun)", "a gives: receipt 1"]);
  });

  test("if the word of the tool is on record, and the call is for certain people by now", async () => {
    const shop = new Shop(() => NOT_DONE);
    const { turn } = await shop.resume();
    const end = turn.events.findIndex((event) => event === rerunOf(turn));
    const next = await shop.next(turn.events.slice(0, end + 1), people, { userName: "ada" });
    await next.resume();
    expect([next.record.slice(-4), shop.paid.length]).toEqual([
      [
        "a waits for permission (rerun)",
        "a denied (rerun)",
        `a fails: ${SKIPPED_IN_DOUBT}`,
        "message: Fine",
      ],
      2,
    ]);
  });

  test.each([
    ["if the config no longer lets the call run", { run: "ask" }],
    ["if the config skips it", { run: "skip" }],
  ])("%s", async (_, config) => {
    const shop = new Shop(() => NOT_DONE);
    const turn = await shop.next(await shop.killed(), config);
    await turn.resume();
    expect([shop.checked, shop.paid.length]).toEqual([[], 1]);
  });

  test("if the program is another one than the person has allowed", async () => {
    const shop = new Shop(() => DONE);
    const config = { run: "ask" };
    const killed = await shop.killed(config);
    const changed = killed.map((event) =>
      event.type === "permission_decision" ? { ...event, digest: "of another program" } : event,
    );
    const turn = await shop.next(changed, config);
    await turn.resume();
    expect([shop.checked, rerunOf(turn)?.decidedBy.kind]).toEqual([[], "user"]);
  });

  test("if the call may run twice anyway", async () => {
    const shop = new Shop(() => DONE);
    const { added } = await shop.resume({ idempotent: true });
    expect([shop.checked, added]).toEqual([[], ["a starts", "a gives: receipt 2"]]);
  });
});
