import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { MemoryConversationStore, ScriptedModel } from "../testing/index.ts";
import { type Addressee, defineTool } from "../record/tool/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { answerInquiry, listPending } from "./index.ts";
import {
  ADA,
  ASKED,
  decidersIn,
  FINANCE,
  KnownPeople,
  pay,
  PERMITTED,
  leave,
  resume,
  run,
  SAM,
  SURE,
  transfer,
} from "./people.fixture.ts";

const LATER = { type: "later" } as const;

const IN_ROLE = {
  kind: "user",
  channel: "scripted",
  name: "ada",
  auth: "os_user",
  role: "finance",
};

describe("a question for a role", () => {
  test("is asked on the terminal of someone who has it, and says in which role they answered", async () => {
    const ran = await run({ answers: [{ answer: true }], directory: new KnownPeople("ada") });
    expect([ran.end.type, ran.prompter.questions.map((each) => each.forAny)]).toEqual([
      "done",
      [[FINANCE]],
    ]);
    expect(decidersIn(ran)).toEqual([IN_ROLE]);
  });

  test.each(["ada", "finance", "sam", undefined])(
    "is left open on any other terminal, whatever name its config has: %s",
    async (userName) => {
      counters("T-PEOPLE-1");
      const directory = new KnownPeople("sam");
      const ran = await run({ directory, ...(userName !== undefined && { userName }) });
      const pending = await listPending(ran.store);
      expect([ran.end.type, ran.prompter.questions, pending.map((each) => each.forAny)]).toEqual([
        "waiting",
        [],
        [[FINANCE]],
      ]);
    },
  );

  test("waits if no people are known, unless the owner stands in for them", async () => {
    counters("T-PEOPLE-1");
    const setting = { answers: [{ answer: true }], userName: "olga" };
    const waiting = await run({ ...setting, directory: new KnownPeople("ada", []) });
    const alone = await run({
      ...setting,
      directory: new KnownPeople("ada", []),
      ownerAlone: true,
    });
    const without = await run({ ...setting, ownerAlone: true });
    expect([waiting.end.type, alone.end.type, decidersIn(alone), without.end.type]).toEqual([
      "waiting",
      "done",
      [{ kind: "user", channel: "scripted", name: "olga", auth: "owner" }],
      "done",
    ]);
  });

  test("is not asked by a program that has not said who is known, and can be once it has", async () => {
    counters("T-PEOPLE-1");
    const left = await leave({ answers: [{ answer: true }] });
    expect(left.error).toMatchObject({ code: "directory_missing" });
    expect((await resume(left, new KnownPeople("sam"))).type).toBe("waiting");
    const by = { answer: true, clock: left.clock };
    await expect(answerInquiry(left.store, "call_1", by)).rejects.toMatchObject({
      code: "directory_missing",
    });
    const known = { ...by, userName: "ada", directory: new KnownPeople("ada") };
    expect((await answerInquiry(left.store, "call_1", known)).type).toBe("recorded");
    await expect(resume(left, undefined)).rejects.toMatchObject({ code: "directory_missing" });
    expect((await resume(left, new KnownPeople("ada"))).type).toBe("done");
  });

  test("waits if no one has the role, and anyone can cancel it", async () => {
    const directory = new KnownPeople("sam", [SAM]);
    const { end, store, clock } = await run({ directory });
    const by = { userName: "sam", clock, directory };
    expect([
      end.type,
      await answerInquiry(store, "call_1", { answer: true, ...by }),
      await answerInquiry(store, "call_1", { isCancelled: true, ...by }),
    ]).toEqual([
      "waiting",
      {
        type: "refused",
        code: "wrong_person",
        reason: "only someone with the role finance can answer this",
      },
      { type: "recorded" },
    ]);
  });

  test("is not answered by a person whose name is that of the role", async () => {
    counters("T-PEOPLE-1");
    const people = [{ name: "finance", roles: [] }, ADA];
    const directory = new KnownPeople("finance", people);
    const { end, store, clock } = await run({ directory });
    const by = { answer: true, clock, directory };
    expect([
      end.type,
      (await answerInquiry(store, "call_1", { ...by, userName: "finance" })).type,
      (await answerInquiry(store, "call_1", { ...by, userName: "ADA" })).type,
    ]).toEqual(["waiting", "refused", "recorded"]);
  });

  test("is never answered by a model or a default in place of who has it", async () => {
    counters("T-PEOPLE-3");
    const inquiryModel = new ScriptedModel({ replies: [] });
    const modes = ["auto", "defaults", "defer"];
    const ends = modes.map(async (tool) => {
      const config = { ...ASKED, detached: { tool } };
      return (await run({ config, inquiryModel, directory: new KnownPeople("sam") })).end.type;
    });
    expect(await Promise.all(ends)).toEqual(["waiting", "waiting", "waiting"]);
  });

  test("goes to whoever has it if a model has said no", async () => {
    const inquiryModel = new ScriptedModel({
      replies: [[{ type: "structured", data: { answer: false } }]],
    });
    const config = { run: "unattended", questions: { sure: { target: ["assistant", FINANCE] } } };
    const ran = await run({ config, inquiryModel, directory: new KnownPeople("sam") });
    expect([ran.end.type, (await listPending(ran.store)).map((each) => each.forAny)]).toEqual([
      "waiting",
      [[FINANCE]],
    ]);
  });

  test("is asked through a prompter that reaches someone who has it", async () => {
    const answers = [{ answer: true, userName: "Ada" }];
    const directory = new KnownPeople("sam");
    const ran = await run({ answers, directory, reached: ["ada"] });
    const unreached = await run({ answers, directory, reached: ["sam"] });
    expect([ran.end.type, decidersIn(ran), unreached.end.type]).toEqual([
      "done",
      [{ ...IN_ROLE, auth: "program" }],
      "waiting",
    ]);
  });

  test("is not answered by what someone else has said for the whole turn", async () => {
    counters("T-PEOPLE-3");
    const tool = defineTool({
      ...pay,
      run: async (_args, { ask }) => {
        await ask({ ...SURE, id: "other", rememberAs: "payments" });
        return (await ask({ ...SURE, rememberAs: "payments" })) ? "paid" : "not paid";
      },
    });
    const answers = [{ answer: true, isRemembered: true }];
    const ran = await run({ tools: [tool], answers, directory: new KnownPeople("sam") });
    expect([ran.end.type, ran.prompter.questions.map((each) => each.question.text)]).toEqual([
      "waiting",
      ["Sure?"],
    ]);
  });
});

describe("an answer to what is for a role, from elsewhere", () => {
  test("counts only if the turn knows the person by the role as well", async () => {
    counters("T-PEOPLE-2");
    const directory = new KnownPeople("sam");
    const ran = await run({ directory });
    const forged = new KnownPeople("eve", [{ name: "eve", roles: ["finance"] }]);
    const by = { answer: true, clock: ran.clock };
    const result = await answerInquiry(ran.store, "call_1", {
      ...by,
      userName: "eve",
      directory: forged,
    });
    const resumed = await resume(ran, directory);
    expect([result.type, resumed.type]).toEqual(["recorded", "waiting"]);
    expect(resumed.events).toContainEqual(
      expect.objectContaining({ type: "decision_void", changed: ["person"] }),
    );
  });

  test("no longer counts once the person has lost the role", async () => {
    counters("T-PEOPLE-2");
    const directory = new KnownPeople("sam");
    const ran = await run({ directory });
    const by = { answer: true, userName: "ada", clock: ran.clock, directory };
    const first = await answerInquiry(ran.store, "call_1", by);
    directory.people = [{ ...ADA, roles: [] }, SAM];
    const resumed = await resume(ran, directory);
    expect([first.type, resumed.type]).toEqual(["recorded", "waiting"]);
    directory.people = [ADA, SAM];
    expect((await answerInquiry(ran.store, "call_1.sure.2", by)).type).toBe("recorded");
    expect((await resume(ran, directory)).type).toBe("done");
  });

  test("does not count once there are people, if the owner gave it", async () => {
    counters("T-PEOPLE-2");
    const ran = await run({
      config: { ...ASKED, detached: "defer" },
      directory: new KnownPeople("sam"),
    });
    const by = { answer: true, clock: ran.clock, ownerAlone: true };
    const owner = await answerInquiry(ran.store, "call_1", by);
    expect([owner.type, (await resume(ran, new KnownPeople("sam"))).type]).toEqual([
      "recorded",
      "waiting",
    ]);
  });
});

describe("a permission for a role", () => {
  test("is asked of who has it, and recorded with the role", async () => {
    const ran = await run({
      config: PERMITTED,
      tools: [transfer],
      permissions: [{ type: "run" }],
      directory: new KnownPeople("ada"),
    });
    expect([
      ran.end.type,
      ran.prompter.permissions.map((each) => each.forAny),
      decidersIn(ran),
    ]).toEqual(["done", [[FINANCE]], [IN_ROLE]]);
  });

  test.each(["auto", "defer"])("waits for them where others are (detached: %s)", async (mode) => {
    counters("T-PEOPLE-3");
    const config = { ...PERMITTED, detached: mode };
    const directory = new KnownPeople("sam");
    const ran = await run({ config, tools: [transfer], directory });
    const by = { answer: true, clock: ran.clock, directory };
    expect([
      ran.end.type,
      (await answerInquiry(ran.store, "call_1", { ...by, userName: "sam" })).type,
      (await answerInquiry(ran.store, "call_1", { ...by, userName: "ada" })).type,
    ]).toEqual(["waiting", "refused", "recorded"]);
    expect((await resume(ran, directory, [transfer])).type).toBe("done");
  });

  test("is that of the rule which asks", async () => {
    const rule = { arg: "/amount", minimum: 100, mode: "ask", target: FINANCE };
    const ofRule = (amount: number) => ({
      policy: { run: [{ ...rule, minimum: amount }, { mode: "unattended" }] },
    });
    const setting = { tools: [transfer], directory: new KnownPeople("sam") };
    const large = await run({ ...setting, config: ofRule(100) });
    const small = await run({ ...setting, config: ofRule(1000) });
    const pending = await listPending(large.store);
    expect([large.end.type, pending.map((each) => each.forAny), small.end.type]).toEqual([
      "waiting",
      [[FINANCE]],
      "done",
    ]);
  });

  test("is not given with other arguments, which only others may allow", async () => {
    counters("T-PEOPLE-3");
    const rule = { arg: "/amount", minimum: 1000, mode: "ask", target: FINANCE };
    const ran = await run({
      config: { policy: { run: [rule, { mode: "ask" }] } },
      tools: [transfer],
      permissions: [{ type: "run", arguments: { amount: 5000 } }],
      directory: new KnownPeople("sam"),
      userName: "ada",
    });
    expect(ran.events).toContainEqual(
      expect.objectContaining({ type: "permission_decision", decision: "denied" }),
    );
  });

  test("is not given by what someone allowed for the whole turn who is gone by then", async () => {
    counters("T-PEOPLE-3");
    const config = { policy: { run: [{ mode: "ask", target: { any: ["sam", FINANCE] } }] } };
    const permissions = [{ type: "run", isRemembered: true } as const];
    const directory = new KnownPeople("sam");
    const removing = defineTool({
      ...pay,
      run: async () => {
        directory.people = [ADA];
        return "paid";
      },
    });
    const setting = { config, calls: 2, permissions, directory };
    const own = await run({ ...setting, tools: [transfer] });
    const gone = await run({ ...setting, tools: [removing] });
    expect([own, gone].map(({ end, prompter }) => [end.type, prompter.permissions.length])).toEqual(
      [
        ["done", 1],
        ["waiting", 1],
      ],
    );
  });

  test("is denied if the config says so where they cannot be asked", async () => {
    const config = { ...PERMITTED, detached: { run: "deny" } };
    const ran = await run({ config, tools: [transfer], directory: new KnownPeople("sam") });
    expect(ran.events).toContainEqual(
      expect.objectContaining({ type: "permission_decision", cause: "unavailable" }),
    );
  });
});

test("the delivery of a result can be for a role", async () => {
  const config = { run: "unattended", result: "ask", target: FINANCE };
  const directory = new KnownPeople("sam");
  const ran = await run({ config, tools: [transfer], directory });
  const pending = await listPending(ran.store);
  const by = { answer: true, clock: ran.clock, directory };
  expect([
    ran.end.type,
    pending.map(({ kind, forAny }) => [kind, forAny]),
    (await answerInquiry(ran.store, "call_1", { ...by, userName: "sam" })).type,
    (await answerInquiry(ran.store, "call_1", { ...by, userName: "ada" })).type,
  ]).toEqual(["waiting", [["delivery", [FINANCE]]], "refused", "recorded"]);
});

/** As after a kill while it ran. */
async function leftInDoubt(config: JsonObject) {
  const ran = await run({ config, tools: [transfer] });
  const store = new MemoryConversationStore(ran.clock);
  await using copy = await store.create({}); // It has the same id.
  await copy.append(
    ...ran.events.slice(0, ran.events.findIndex(({ type }) => type === "attempt_start") + 1),
  );
  return { ...ran, store };
}

describe("a call in doubt that no one had to allow", () => {
  test.each([{ target: FINANCE }, { policy: { run: [{ mode: "unattended" }] }, target: FINANCE }])(
    "is for whom its tool is for: %j",
    async (config) => {
      counters("T-PEOPLE-1");
      const directory = new KnownPeople("sam");
      const left = await leftInDoubt({ run: "unattended", ...config });
      const pending = await listPending(left.store);
      const by = { answer: "run", clock: left.clock, directory };
      expect([
        pending.map(({ kind, forAny }) => [kind, forAny]),
        (await answerInquiry(left.store, "call_1", { ...by, userName: "sam" })).type,
        (await answerInquiry(left.store, "call_1", { ...by, userName: "ada" })).type,
        (await resume(left, directory, [transfer])).type,
      ]).toEqual([[["in_doubt", [FINANCE]]], "refused", "recorded", "done"]);
    },
  );

  test("does not run again on the word of someone who has lost the role", async () => {
    const directory = new KnownPeople("sam");
    const left = await leftInDoubt({ run: "unattended", target: FINANCE });
    const answer = { answer: "run", clock: left.clock, directory, userName: "ada" };
    await answerInquiry(left.store, "call_1", answer);
    directory.people = [SAM];
    expect((await resume(left, directory, [transfer])).type).toBe("waiting");
  });
});

describe("a tool that says for whom its question is", () => {
  const OLGA = { name: "olga", roles: [] };

  /** Who can answer, of those who are known. */
  async function askedFor(target: Json | undefined, named: Addressee | readonly Addressee[]) {
    const asking = defineTool({
      ...pay,
      run: async (_args, { ask }) => ((await ask({ ...SURE, for: named })) ? "paid" : "not paid"),
    });
    const directory = new KnownPeople("nobody", [ADA, SAM, OLGA]);
    const config = {
      run: "unattended",
      questions: { sure: target === undefined ? {} : { target } },
    };
    const tools = [asking];
    const inquiryModel = new ScriptedModel({ replies: [] });
    const answered = ["ada", "sam", "olga"].map(async (userName) => {
      const { store, clock } = await run({ config, directory, tools, inquiryModel });
      const said = { answer: true, userName, clock, directory };
      const { type } = await answerInquiry(store, "call_1", said);
      return type === "recorded" ? [userName] : [];
    });
    expect(inquiryModel.requests).toEqual([]);
    return (await Promise.all(answered)).flat();
  }

  test.each<[string, Json | undefined, Addressee | readonly Addressee[], readonly string[]]>([
    ["if config names no one", undefined, FINANCE, ["ada"]],
    ["if config leaves it to a model", "assistant", FINANCE, ["ada"]],
    ["if config asks a model first", ["assistant", FINANCE], FINANCE, ["ada"]],
    ["if config says the same", FINANCE, { role: "Finance" }, ["ada"]],
    ["if config allows more", { any: ["olga", FINANCE] }, FINANCE, ["ada"]],
    ["if config allows more by name", { any: ["olga", FINANCE] }, { user: "olga" }, ["olga"]],
    ["if config allows fewer", { user: "olga" }, [FINANCE, { user: "olga" }], ["olga"]],
  ])("is asked of them alone %s", async (_when, target, named, allowed) => {
    expect(await askedFor(target, named)).toEqual(allowed);
  });

  test.each<[Json, Addressee]>([
    [FINANCE, { role: "operations" }],
    [FINANCE, { user: "ada" }],
    [FINANCE, { user: "sam" }],
    [{ user: "olga" }, { user: "sam" }],
    [{ user: "olga" }, { role: "finance" }],
  ])("never lets anyone answer whom config does not: %j and %j", async (target, named) => {
    counters("T-PEOPLE-1");
    expect(await askedFor(target, named)).toEqual([]);
  });

  test("may leave no one, and then it can only be cancelled", async () => {
    const asking = defineTool({
      ...pay,
      run: async (_args, { ask }) => String(await ask({ ...SURE, for: { user: "sam" } })),
    });
    const directory = new KnownPeople("sam");
    const { store, clock } = await run({ directory, tools: [asking] });
    const by = { userName: "sam", clock, directory };
    expect([
      (await listPending(store))[0]?.forAny,
      await answerInquiry(store, "call_1", { answer: true, ...by }),
      await answerInquiry(store, "call_1", { isCancelled: true, ...by }),
    ]).toEqual([
      [],
      {
        type: "refused",
        code: "no_one",
        reason: "no one can answer this, it can only be cancelled",
      },
      { type: "recorded" },
    ]);
  });

  test("does not make a name enough where a role was asked for", async () => {
    counters("T-PEOPLE-1");
    const asking = defineTool({
      ...pay,
      run: async (_args, { ask }) => String(await ask({ ...SURE, for: { user: "olga" } })),
    });
    const config = {
      run: "unattended",
      questions: { sure: { target: { any: ["olga", FINANCE] } } },
    };
    const directory = new KnownPeople("sam", [ADA, SAM]);
    const ran = await run({ config, directory, tools: [asking], userName: "olga" });
    expect([ran.end.type, ran.prompter.questions]).toEqual(["waiting", []]);
  });

  test("says so again to whoever is asked next", async () => {
    const named = [{ user: "olga" }, FINANCE];
    const asking = defineTool({
      ...pay,
      run: async (_args, { ask }) => String(await ask({ ...SURE, for: named })),
    });
    const target = [
      { user: "olga", within: "1h" },
      { any: ["sam", FINANCE], within: "1h" },
      "assistant",
    ];
    const directory = new KnownPeople("nobody");
    const config = { run: "unattended", questions: { sure: { target } } };
    const ran = await run({ config, directory, tools: [asking] });
    ran.clock.advance(3600_000);
    expect((await resume(ran, directory, [asking])).type).toBe("waiting");
    expect((await listPending(ran.store))[0]?.forAny).toEqual([FINANCE]);
    ran.clock.advance(3600_000);
    // No model is asked what is for people.
    expect((await resume(ran, directory, [asking])).type).toBe("done");
  });
});

test.each([
  ["a question", (target: Json) => ({ run: "unattended", questions: { sure: { target } } })],
  ["a permission", (target: Json) => ({ run: "ask", target })],
  ["a delivery", (target: Json) => ({ run: "unattended", result: "ask", target })],
] as const)(
  "two requests that differ only in whom they are for have different digests: %s",
  async (what, config) => {
    counters("T-PEOPLE-1");
    const targets: readonly Json[] = [
      "user",
      { user: "ada" },
      { user: "sam" },
      FINANCE,
      { ...FINANCE, quorum: 2 },
      { ...FINANCE, quorum: 2, refusal: "counts" },
      { ...FINANCE, not_by: "asker" },
      { ...FINANCE, proof: "signed" },
      { any: ["ada", FINANCE] },
    ];
    const tools = [what === "a question" ? pay : transfer];
    const digests = targets.map(async (target) => {
      const later = {
        answers: [{ isLater: true }],
        permissions: [LATER],
        deliveries: [LATER],
      } as const;
      const directory = new KnownPeople("ada");
      const ran = await run({
        config: config(target),
        tools,
        directory,
        startedBy: "sam",
        ...later,
      });
      return (await listPending(ran.store)).map(({ digest }) => digest);
    });
    const made = (await Promise.all(digests)).flat();
    expect([made.length, new Set(made).size]).toEqual([targets.length, targets.length]);
  },
);

test("of several, any may decide, by name or by role", async () => {
  const target = { any: ["olga", FINANCE] };
  const people = [ADA, SAM, { name: "Olga", roles: [] }];
  const deciders = ["sam", "olga", "ada"].map(async (userName) => {
    const directory = new KnownPeople("nobody", people);
    const config = { run: "unattended", questions: { sure: { target } } };
    const { store, clock } = await run({ config, directory });
    return (await answerInquiry(store, "call_1", { answer: true, userName, clock, directory }))
      .type;
  });
  expect(await Promise.all(deciders)).toEqual(["refused", "recorded", "recorded"]);
});
