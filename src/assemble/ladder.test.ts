import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import type { PromptRequest } from "../core/agent/index.ts";
import { toolboxOf } from "../core/agent/tool-turn.fixture.ts";
import {
  type ConversationEvent,
  type DecisionSubject,
  eventsOf,
  type KnownPerson,
  timestampFromDate,
} from "../record/conversation/index.ts";
import { replayConversation } from "../cli/replay/index.ts";
import { FakeClock, holdPrompt, ScriptedModel } from "../testing/index.ts";
import { booleanQuestion, defineTool } from "../record/tool/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { answerInquiry, listPending, recover } from "./index.ts";
import { ADA, KnownPeople, pay, resume, run, SAM, transfer } from "./people.fixture.ts";

const HOUR = 3600_000;
const BO: KnownPerson = { name: "bo", roles: ["finance"] };
const PEOPLE = [{ name: "ada", roles: [] }, BO, SAM];
const LADDER = [
  { user: "ada", within: "2h" },
  { role: "finance", within: "1d" },
];
const QUESTION = { run: "unattended", questions: { sure: { target: LADDER } } };
const PERMISSION = { run: "ask", target: LADDER };
const BY_RULE = {
  policy: { run: [{ mode: "ask", arg: "/amount", minimum: 100, target: LADDER }] },
};
const DELIVERY = { run: "unattended", result: "ask", target: LADDER };

type Ran = Awaited<ReturnType<typeof run>>;

/** No one of the ladder is here. */
async function asked(config: JsonObject, more: Parameters<typeof run>[0] = {}) {
  const directory = new KnownPeople("sam", PEOPLE);
  const tools = config === QUESTION ? [pay] : [transfer];
  const ran = await run({ config, tools, directory, ...more });
  const again = () => resume(ran, directory, tools);
  return { ...ran, directory, tools, again };
}

async function say(
  { store, clock, directory }: Ran & { readonly directory: KnownPeople },
  userName: string,
  answer: Json = true,
) {
  const [pending] = await listPending(store);
  const id = pending?.id ?? "call_1";
  return answerInquiry(store, id, { answer, userName, clock, directory });
}

/** Who was asked, with their place, what was made void, and how it ended. */
function story(events: readonly ConversationEvent[]) {
  return events.flatMap((event): readonly unknown[] => {
    switch (event.type) {
      case "inquiry_request":
      case "permission_request":
        return [["asked", event.rung ?? 0, whom(event), event.deadline?.slice(0, 16)]];
      case "decision_void":
        return [["void", ...event.changed]];
      case "permission_decision":
        return event.id === undefined
          ? []
          : [[event.decision, event.cause ?? nameOf(event.decidedBy)]];
      case "inquiry_response":
        if (event.outcome === "cancelled") return [["cancelled", event.reason]];
        return [[event.outcome, event.answeredBy && nameOf(event.answeredBy)]];
      default:
        return [];
    }
  });
}

function whom({ for: person, forAny }: DecisionSubject) {
  return person ?? JSON.stringify(forAny);
}

function nameOf(by: { readonly kind: string; readonly name?: string }) {
  return by.name ?? by.kind;
}

function asking(target: Json) {
  return { run: "unattended", questions: { sure: { target } } };
}

const TO_ADA = ["asked", 0, "ada", "2026-01-02 05:04"];
const PASSED_ON = ["void", "deadline"];

describe("people who are asked in order", () => {
  test.each([
    ["a question", QUESTION, ["cancelled", "timed_out"]],
    ["a permission", PERMISSION, ["denied", "timed_out"]],
    ["a permission by a rule", BY_RULE, ["denied", "timed_out"]],
    ["a delivery", DELIVERY, ["denied", "timed_out"]],
  ] as const)("are a person, then a role, then it is over: %s", async (_name, config, end) => {
    counters("T-PEOPLE-3");
    const ran = await asked(config);
    expect(ran.end.type).toBe("waiting");
    ran.clock.advance(2 * HOUR);
    const next = await ran.again();
    expect(next.type).toBe("waiting");
    ran.clock.advance(24 * HOUR);
    const last = await ran.again();
    expect(last.type).toBe("done");
    const { stream } = await ran.store.load(ran.id);
    const events = [...eventsOf(stream.entries)];
    const toFinance = ["asked", 1, '[{"role":"finance"}]', "2026-01-03 05:04"];
    expect(story(events)).toEqual([TO_ADA, PASSED_ON, toFinance, end]);
    const [first, second] = events.flatMap((event) =>
      event.type === "permission_request" || event.type === "inquiry_request" ? [event] : [],
    );
    expect([second?.replaces, second?.subject?.digest.length]).toEqual([first?.id, 64]);
    expect(second?.subject?.digest).not.toBe(first?.subject?.digest);
  });

  test.each([
    ["a question", QUESTION],
    ["a permission", PERMISSION],
    ["a delivery", DELIVERY],
  ] as const)("are not asked further once someone has decided: %s", async (_name, config) => {
    const ran = await asked(config);
    ran.clock.advance(2 * HOUR);
    await ran.again();
    expect(await say(ran, "ada")).toMatchObject({ type: "refused" });
    expect(await say(ran, "bo")).toEqual({ type: "recorded" });
    ran.clock.advance(48 * HOUR);
    const { type, events } = await ran.again();
    expect([type, story(events).at(-1)]).toEqual([
      "done",
      [config === QUESTION ? "answered" : "approved", "bo"],
    ]);
    expect(story(events)).toHaveLength(4);
  });

  test.each([
    ["a question", QUESTION],
    ["a permission", PERMISSION],
  ] as const)(
    "are told that they are too late, before and after others are: %s",
    async (_name, config) => {
      const ran = await asked(config);
      const [first] = await listPending(ran.store);
      if (first === undefined) throw new Error("nothing waits");
      const late = { answer: true, userName: "ada", clock: ran.clock, directory: ran.directory };
      ran.clock.advance(2 * HOUR);
      const overdue = { type: "overdue", deadline: first.deadline };
      expect(await answerInquiry(ran.store, first, late)).toEqual(overdue);
      await ran.again();
      expect(await answerInquiry(ran.store, first, late)).toEqual(overdue);
    },
  );

  test("have as long as config says from when they are asked, however late that is", async () => {
    const ran = await asked(PERMISSION);
    ran.clock.advance(100 * HOUR);
    await ran.again();
    ran.clock.advance(23 * HOUR);
    expect(await say(ran, "bo")).toEqual({ type: "recorded" });
  });

  test("are asked by a service that recovers what was left", async () => {
    const ran = await asked(PERMISSION);
    const { store, clock, directory, toolConfig } = ran;
    const model = new ScriptedModel({ replies: ["Done."] });
    const options = { model, tools: [transfer], toolConfig, clock, directory };
    expect(await recover(store, options)).toEqual([]);
    clock.advance(2 * HOUR);
    expect(await recover(store, options)).toMatchObject([{ turn: { type: "waiting" } }]);
    expect(await listPending(store)).toMatchObject([
      { forAny: [{ role: "finance" }], changed: ["deadline"], deadline: expect.any(String) },
    ]);
  });

  test("do not use up how often a call may change before it fails", async () => {
    const slow = ["ada", "cy", "di"].map((user) => ({ user, within: "1h" }));
    const ran = await asked({ run: "ask", target: [...slow, { role: "finance" }] });
    for (let left = slow.length; left > 0; left -= 1) {
      ran.clock.advance(HOUR);
      await ran.again();
    }
    expect(await say(ran, "bo")).toEqual({ type: "recorded" });
    ran.directory.people = [{ ...BO, roles: [] }, ADA];
    expect((await ran.again()).type).toBe("waiting");
    expect(await listPending(ran.store)).toMatchObject([
      { forAny: [{ role: "finance" }], changed: ["person"], request: { rung: 3 } },
    ]);
  });

  test("may be many, and each is asked", async () => {
    const target = ["ada", "bo", "cy", "di", "ed"].map((user) => ({ user, within: "1h" }));
    const ran = await asked({ run: "ask", target });
    for (let left = target.length; left > 0; left -= 1) {
      ran.clock.advance(HOUR);
      await ran.again();
    }
    const { stream } = await ran.store.load(ran.id);
    const told = story([...eventsOf(stream.entries)]);
    expect(told.filter((each) => JSON.stringify(each) === JSON.stringify(PASSED_ON))).toHaveLength(
      4,
    );
    expect(told.at(-1)).toEqual(["denied", "timed_out"]);
  });

  test.each([
    ["a question", QUESTION],
    ["a permission", PERMISSION],
    ["a delivery", DELIVERY],
  ] as const)("are asked if the process died just before it could: %s", async (_name, config) => {
    const ran = await asked(config);
    const [first] = await listPending(ran.store);
    if (first === undefined) throw new Error("nothing waits");
    {
      await using conversation = await ran.store.open(ran.id);
      const timestamp = timestampFromDate(ran.clock.now());
      await conversation.append({
        type: "decision_void",
        timestamp,
        id: first.id,
        changed: ["deadline"],
      });
    }
    expect((await ran.again()).type).toBe("waiting");
    expect(await listPending(ran.store)).toMatchObject([
      { forAny: [{ role: "finance" }], request: { rung: 1, replaces: first.id } },
    ]);
  });

  test("start again with their own votes", async () => {
    counters("T-PEOPLE-5");
    const target = [
      { any: ["ada", "bo"], quorum: 2, within: "1h" },
      { any: ["ada", "bo"], quorum: 2 },
    ];
    const ran = await asked({ run: "ask", target });
    expect(await say(ran, "ada")).toMatchObject({ type: "counted" });
    ran.clock.advance(HOUR);
    await ran.again();
    expect(await say(ran, "bo")).toMatchObject({ type: "counted", count: 1 });
    expect(await say(ran, "ada")).toEqual({ type: "recorded" });
  });
});

describe("a prompt", () => {
  test.each([
    ["a question", QUESTION],
    ["a permission", PERMISSION],
    ["a delivery", DELIVERY],
  ] as const)(
    "closes when its time is up, and the next person is asked at once: %s",
    async (_name, config) => {
      const clock = new FakeClock();
      const held = holdPrompt<PromptRequest, never>();
      const directory = new KnownPeople("ada", [ADA, BO]);
      const answers = [held.reply, { answer: true, userName: "bo" }];
      const permissions = [held.reply, { type: "run", userName: "bo" } as const];
      const deliveries = [held.reply, { type: "deliver", userName: "bo" } as const];
      const script =
        config === QUESTION ? { answers } : config === DELIVERY ? { deliveries } : { permissions };
      const tools = config === QUESTION ? [pay] : [transfer];
      const running = run({
        config,
        tools,
        directory,
        clock,
        reached: ["bo"],
        userName: "ada",
        ...script,
      });
      const { signal } = await held.opened;
      clock.advance(2 * HOUR);
      const { end, events, prompter, store, id, toolConfig } = await running;
      expect([end.type, signal.aborted]).toEqual(["done", true]);
      expect(story(events).slice(1, 4)).toEqual([
        PASSED_ON,
        ["asked", 1, '[{"role":"finance"}]', "2026-01-03 05:04"],
        [config === QUESTION ? "answered" : "approved", "bo"],
      ]);
      const shown = [...prompter.questions, ...prompter.permissions, ...prompter.deliveries];
      expect(shown.map(({ changed }) => changed)).toEqual([undefined, ["deadline"]]);
      expect(clock.sleepers).toBe(0);
      const { stream } = await store.load(id);
      const toolbox = toolboxOf({ tools, config: toolConfig });
      expect(await replayConversation({ stream, toolbox })).toEqual({ turns: 1 });
    },
  );

  test("leaves it on the record if the next person is not here", async () => {
    const clock = new FakeClock();
    const held = holdPrompt<PromptRequest, never>();
    const directory = new KnownPeople("ada", PEOPLE);
    const running = run({
      config: PERMISSION,
      tools: [transfer],
      directory,
      clock,
      userName: "ada",
      permissions: [held.reply],
    });
    await held.opened;
    clock.advance(2 * HOUR);
    const { end, store } = await running;
    expect(end.type).toBe("waiting");
    expect(await listPending(store)).toMatchObject([{ forAny: [{ role: "finance" }] }]);
  });
});

describe("a call in doubt", () => {
  test("is for one after the other, and is then not run again", async () => {
    const directory = new KnownPeople("sam", PEOPLE);
    const stop = new AbortController();
    const cutOff = defineTool({
      ...transfer,
      run: async (_args, { signal }) => {
        stop.abort();
        signal.throwIfAborted();
        return "paid";
      },
    });
    const config = { run: "unattended", target: LADDER };
    const ran = await asked(config, { tools: [cutOff], signal: stop.signal });
    const again = () => resume(ran, directory, [cutOff]);
    expect((await again()).type).toBe("waiting");
    ran.clock.advance(2 * HOUR);
    expect((await again()).type).toBe("waiting");
    ran.clock.advance(24 * HOUR);
    expect((await again()).type).toBe("done");
    const { stream } = await ran.store.load(ran.id);
    expect(story([...eventsOf(stream.entries)])).toEqual([
      TO_ADA,
      PASSED_ON,
      ["asked", 1, '[{"role":"finance"}]', "2026-01-03 05:04"],
      ["denied", "timed_out"],
    ]);
  });
});

describe("a model", () => {
  test("answers only if it is the last of the list, and everyone before was too slow", async () => {
    const ran = await asked(asking([...LADDER, "assistant"]), { tools: [pay] });
    const inquiryModel = new ScriptedModel({ replies: ['{"answer":true}'] });
    const again = () => resume(ran, ran.directory, [pay], undefined, { inquiryModel });
    ran.clock.advance(2 * HOUR);
    expect((await again()).type).toBe("waiting");
    expect(inquiryModel.requests).toHaveLength(0);
    ran.clock.advance(24 * HOUR);
    const { type, events } = await again();
    expect([type, inquiryModel.requests.length]).toEqual(["done", 1]);
    expect(story(events).at(-1)).toEqual(["answered", "assistant"]);
  });

  test("does not answer what only a person may", async () => {
    counters("T-PEOPLE-3");
    const exclusive = defineTool({
      ...pay,
      run: async (_args, { ask }) =>
        (await ask(booleanQuestion("sure", "Sure?", { exclusive: true }))) ? "paid" : "not paid",
    });
    const config = asking([{ user: "ada", within: "2h" }, "assistant"]);
    const ran = await asked(config, { tools: [exclusive] });
    ran.clock.advance(2 * HOUR);
    const inquiryModel = new ScriptedModel({ replies: ['{"answer":true}'] });
    const { events } = await resume(ran, ran.directory, [exclusive], undefined, { inquiryModel });
    expect([story(events).at(-1), inquiryModel.requests.length]).toEqual([
      ["cancelled", "timed_out"],
      0,
    ]);
  });

  test("that was asked first is not asked again, and its no is shown to everyone", async () => {
    const target = ["assistant", ...LADDER];
    const inquiryModel = new ScriptedModel({ replies: ['{"answer":false,"reason":"Too much."}'] });
    const ran = await asked(asking(target), { tools: [pay], inquiryModel });
    ran.clock.advance(2 * HOUR);
    await resume(ran, ran.directory, [pay], undefined, { inquiryModel });
    const [pending] = await listPending(ran.store);
    expect([pending?.forAny, pending?.question.context]).toEqual([
      [{ role: "finance" }],
      expect.stringContaining("The assistant"),
    ]);
    expect(inquiryModel.requests).toHaveLength(1);
    ran.clock.advance(24 * HOUR);
    const { events } = await resume(ran, ran.directory, [pay], undefined, { inquiryModel });
    expect(story(events).at(-1)).toEqual(["cancelled", "timed_out"]);
  });
});

test.each([
  ["a question", QUESTION],
  ["a permission", PERMISSION],
] as const)("a replay finds who was asked in order: %s", async (_name, config) => {
  const ran = await asked(config);
  ran.clock.advance(2 * HOUR);
  await ran.again();
  await say(ran, "bo");
  await ran.again();
  const { stream } = await ran.store.load(ran.id);
  const toolbox = toolboxOf({ tools: [...ran.tools], config: ran.toolConfig });
  expect(await replayConversation({ stream, toolbox })).toEqual({ turns: 1 });
});
