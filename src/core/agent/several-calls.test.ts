/** Several calls of one reply that need permission: asked about at once, decided and recorded each by itself. */
import { describe, expect, test } from "vitest";
import type { PermissionDecision } from "../../record/conversation/index.ts";
import { FakeClock, MemoryConversationStore, type ScriptedStep } from "../../testing/index.ts";
import { defineTool } from "../../record/tool/index.ts";
import { guardPrompter } from "./index.ts";
import { ModelTurn, type ModelTurnOptions, until } from "./model-turn.fixture.ts";
import type {
  AnsweredPrompt,
  PermissionRequest,
  PermissionsRequest,
  Prompter,
  PromptRequest,
  PromptResult,
} from "./ports.ts";
import { asker, echo, SlowTool } from "./turn-tools.fixture.ts";

const ASKED = { echo: { run: "ask" }, other: { run: "ask" } };
const SKIPPED =
  "The tool did not run: the user turned down another call of the same reply and sent a message instead.";

const other = defineTool({
  name: "other",
  description: "",
  parameters: { type: "object" },
  run: () => "other ran",
});

function call(id: string, name = "echo"): ScriptedStep {
  return { type: "tool_call", id, name, arguments: { text: `${id} ran` } };
}

type Reply = Omit<AnsweredPrompt, "type">;

/** What a person does about calls that are shown together, by the ids of the calls. */
type Reaction = (
  calls: readonly string[],
  request: PermissionsRequest,
) => Readonly<Record<string, Reply>> | Promise<PromptResult> | Omit<PromptResult, "inquiryId">;

/** A person who sees several calls at once. */
class Person implements Prompter {
  readonly channel = "test";
  readonly showsPermissions = true;
  /** The calls of each prompt. */
  readonly shown: (readonly string[])[] = [];
  readonly asked: PermissionRequest[] = [];
  readonly #react: Reaction;

  constructor(react: Reaction) {
    this.#react = react;
  }

  canAsk(): boolean {
    return true;
  }

  async ask(request: PromptRequest): Promise<PromptResult> {
    const { inquiryId } = request;
    const calls = request.kind === "permissions" ? request.calls : [request as PermissionRequest];
    const ids = calls.map(({ toolCallId }) => toolCallId);
    this.shown.push(ids);
    this.asked.push(...calls);
    if (request.kind !== "permissions") return { inquiryId, type: "answered", answer: true };
    const given = await this.#react(ids, request);
    if ("type" in given) return { inquiryId, ...given } as PromptResult; // As the test says.
    const results = calls.flatMap((each): readonly PromptResult[] => {
      const reply = given[each.toolCallId];
      return reply === undefined ? [] : [{ inquiryId: each.inquiryId, type: "answered", ...reply }];
    });
    return { inquiryId, type: "form", results };
  }
}

const YES = { answer: true };
const NO = { answer: false };

function all(reply: Reply): Reaction {
  return (calls) => Object.fromEntries(calls.map((id) => [id, reply]));
}

async function start(react: Reaction, options: Partial<ModelTurnOptions> = {}) {
  const person = new Person(react);
  const turn = await ModelTurn.create({
    tools: [echo, other, asker],
    config: ASKED,
    replies: [[call("a"), call("b"), call("c")], "Done."],
    prompter: guardPrompter(person, new FakeClock()),
    ...options,
  });
  return { person, turn };
}

function decisionsOf(turn: ModelTurn) {
  return turn.events.flatMap((event) => (event.type === "permission_decision" ? [event] : []));
}

/** Without who was asked how, and whatever came in between. */
function permissionsOf(turn: ModelTurn) {
  return turn.events
    .filter(({ type }) => type.startsWith("permission_"))
    .map((event) =>
      event.type === "permission_decision" ? { ...event, decidedBy: "a person" } : event,
    )
    .toSorted((one, two) => (JSON.stringify(one) < JSON.stringify(two) ? -1 : 1));
}

function outline(turn: ModelTurn): readonly string[] {
  return decisionsOf(turn).map(({ toolCallId, decision }) => `${toolCallId} ${decision}`);
}

function responses(turn: ModelTurn): readonly string[] {
  return turn.events.flatMap((event) =>
    event.type === "tool_call_response" ? [`${event.id}: ${event.content}`] : [],
  );
}

describe("several calls of one reply that need permission", () => {
  test("are asked about at once, and each is recorded as if it had been asked about alone", async () => {
    const { person, turn } = await start(all(YES));
    await turn.run();
    const alone = await ModelTurn.create({
      tools: [echo],
      config: ASKED,
      replies: [[call("a"), call("b"), call("c")], "Done."],
      script: { permissions: () => ({ type: "run" }) },
    });
    await alone.run();
    expect(person.shown).toEqual([["a", "b", "c"]]);
    expect(permissionsOf(turn)).toEqual(permissionsOf(alone));
    expect(decisionsOf(turn).map(({ id, digest }) => [id, digest !== undefined])).toEqual([
      ["a:run:1", true],
      ["b:run:1", true],
      ["c:run:1", true],
    ]);
    expect(new Set(decisionsOf(turn).map(({ digest }) => digest)).size).toBe(3);
  });

  test("can be decided in part: jp asks again about the others", async () => {
    const { person, turn } = await start((calls) =>
      calls.length === 3 ? { b: NO } : { a: YES, c: YES },
    );
    await turn.run();
    expect(person.shown).toEqual([
      ["a", "b", "c"],
      ["a", "c"],
    ]);
    expect(outline(turn)).toEqual(["b denied", "a approved", "c approved"]);
  });

  test("are one alone in the end, which is asked about as ever", async () => {
    const { person, turn } = await start(() => ({ a: NO, c: NO }));
    await turn.run();
    expect(person.shown).toEqual([["a", "b", "c"], ["b"]]);
    expect(outline(turn)).toEqual(["a denied", "c denied", "b approved"]);
  });

  test("wait for the calls that need none to start, and for no call to end", async () => {
    const slow = new SlowTool();
    const { person, turn } = await start(all(YES), {
      tools: [echo, slow],
      replies: [[call("a"), call("s", "slow"), call("b"), call("x", "missing")], "Done."],
    });
    const end = turn.run();
    await until(() => outline(turn).length >= 2);
    expect([person.shown, slow.starts]).toEqual([[["a", "b"]], 1]);
    slow.release();
    await end;
  });

  test("are asked about one by one where the prompter does not show several", async () => {
    const shown: string[] = [];
    const prompter: Prompter = {
      channel: "test",
      canAsk: () => true,
      ask: async ({ inquiryId, kind }) => {
        shown.push(`${kind} ${inquiryId}`);
        return { inquiryId, type: "answered", answer: true };
      },
    };
    const { turn } = await start(all(YES), { prompter });
    await turn.run();
    expect(shown).toEqual(["permission a:run:1", "permission b:run:1", "permission c:run:1"]);
  });

  test("count as decided if one answer is for the whole turn, as far as it covers them", async () => {
    const { person, turn } = await start(
      (calls) =>
        calls.length === 4 ? { a: { answer: true, isRemembered: true } } : { o: NO, p: NO },
      { replies: [[call("a"), call("b"), call("o", "other"), call("p", "other")], "Done."] },
    );
    await turn.run();
    expect(person.shown).toEqual([
      ["a", "b", "o", "p"],
      ["o", "p"],
    ]);
    expect(
      decisionsOf(turn).map(({ toolCallId, decidedBy }) => [toolCallId, decidedBy.kind]),
    ).toEqual(
      expect.arrayContaining([
        ["a", "user"],
        ["b", "remembered"],
        ["o", "user"],
        ["p", "user"],
      ]),
    );
  });

  test("are skipped by words to one of them, which are the next message", async () => {
    const { person, turn } = await start(
      () => ({
        a: { answer: false, note: "Use tabs.", redirects: true },
      }),
      { replies: [[call("a"), call("b"), call("c")], "Done."] },
    );
    expect(await turn.run()).toEqual({ type: "done", reason: "stop" });
    expect(person.shown).toEqual([["a", "b", "c"]]);
    expect(responses(turn).toSorted()).toEqual([
      "a: Tool skipped by user: Use tabs.",
      `b: ${SKIPPED}`,
      `c: ${SKIPPED}`,
    ]);
    expect(decisionsOf(turn).map(({ cause }) => cause)).toEqual([
      undefined,
      "redirected",
      "redirected",
    ]);
    expect(turn.shown[1]?.at(-1)).toBe("person: Use tabs.");
  });

  test.each([
    ["later", []],
    ["cancelled", ["a denied", "b denied", "c denied"]],
    ["interrupted", []],
  ] as const)("end all in the same way if the person decides none: %s", async (type, recorded) => {
    const { person, turn } = await start(() => ({ type }));
    await turn.run();
    expect([person.shown.length, outline(turn)]).toEqual([1, recorded]);
  });

  test("are stopped together by Ctrl-C", async () => {
    const { person, turn } = await start(
      (_calls, { signal, inquiryId }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve({ inquiryId, type: "interrupted" }));
        }),
    );
    const end = turn.run();
    await until(() => person.shown.length === 1);
    turn.press();
    await end;
    expect(outline(turn)).toEqual(["a denied", "b denied", "c denied"]);
  });

  test.each([
    ["the answer is for one call of several", { type: "answered", answer: true }],
    ["the result decides about no call", { type: "form", results: [] }],
  ] as const)("do not run by a result that does not fit: %s", async (problem, result) => {
    const { turn } = await start(() => result, {
      prompter: new Person(() => result),
    });
    await turn.run();
    expect(decisionsOf(turn).map((each) => [each.decision, each.problem])).toEqual([
      ["denied", problem],
      ["denied", problem],
      ["denied", problem],
    ]);
  });
});

test("of several calls, one is decided elsewhere, and the others are asked about again", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const conversation = await store.create({});
  const { person, turn } = await start(
    (calls, { signal, inquiryId }) =>
      calls.length === 2
        ? { a: YES, c: NO }
        : new Promise((resolve) => {
            signal.addEventListener("abort", () => resolve({ inquiryId, type: "interrupted" }));
          }),
    { conversation },
  );
  const end = turn.run();
  await until(() => person.shown.length === 1);
  const request = turn.events.find(
    (event) => event.type === "permission_request" && event.toolCallId === "b",
  );
  if (request?.type !== "permission_request") throw new Error("Nothing was asked.");
  const decision: PermissionDecision = {
    type: "permission_decision",
    timestamp: request.timestamp,
    id: request.id,
    toolCallId: "b",
    tool: "echo",
    action: "run",
    decision: "denied",
    decidedBy: { kind: "user", channel: "cli", auth: "os_user", name: "Ana" },
    digest: request.subject?.digest ?? "",
  };
  await store.answer(conversation.id, decision);
  await end;
  expect(person.shown).toEqual([
    ["a", "b", "c"],
    ["a", "c"],
  ]);
  expect(outline(turn)).toEqual(["b denied", "a approved", "c denied"]);
});

describe("a call that has to be decided alone among several", () => {
  test.each([
    ["one that destroys", { effect: "destroys" }, true],
    ["one that is always edited", { run: "edit" }, true],
    ["any other", {}, undefined],
  ])("says so: %s", async (_, config, expected) => {
    const { person, turn } = await start(all(NO), {
      config: { ...ASKED, echo: { run: "ask", ...config } },
    });
    await turn.run();
    expect(person.asked[0]?.isDecidedAlone).toBe(expected);
  });
});
