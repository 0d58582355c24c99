import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { toolboxOf } from "../core/agent/tool-turn.fixture.ts";
import type { KnownPerson } from "../record/conversation/index.ts";
import { replayConversation } from "../cli/replay/index.ts";
import { ScriptedModel } from "../testing/index.ts";
import { defineTool } from "../record/tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import { answerInquiry, listPending } from "./index.ts";
import {
  ADA,
  FINANCE,
  KnownPeople,
  leave,
  pay,
  resume,
  run,
  SAM,
  transfer,
} from "./people.fixture.ts";

const BO: KnownPerson = { name: "bo", roles: ["finance"] };
const CY: KnownPerson = { name: "cy", roles: ["finance"] };
const PEOPLE = [ADA, BO, CY, SAM];

type Ran = Awaited<ReturnType<typeof run>>;

/** Two of the role have to let the call run. */
async function asked(terms: JsonObject = {}, here = "sam", more: Parameters<typeof run>[0] = {}) {
  const target = { role: "finance", quorum: 2, ...terms };
  const directory = new KnownPeople(here, PEOPLE);
  const config = { run: "ask", target };
  const ran = await run({ config, tools: [transfer], directory, ...more });
  return { ...ran, directory };
}

async function say(
  { store, clock, directory }: Ran & { readonly directory: KnownPeople },
  userName: string,
  answer: boolean | "cancel" = true,
  id = "call_1",
) {
  const reply = answer === "cancel" ? { isCancelled: true as const } : { answer };
  return answerInquiry(store, id, { ...reply, userName, clock, directory });
}

const counted = { type: "counted", count: 1, quorum: 2 };

describe("a quorum", () => {
  test("is met by two different people, and the second one decides", async () => {
    const ran = await asked();
    expect(await say(ran, "ada")).toEqual(counted);
    expect((await resume(ran, ran.directory, [transfer])).type).toBe("waiting");
    expect(await say(ran, "bo")).toEqual({ type: "recorded" });
    const end = await resume(ran, ran.directory, [transfer]);
    expect(end.type).toBe("done");
    expect(
      end.events.flatMap((event) => {
        if (event.type === "decision_vote") return [["vote", event.by, event.digest?.length]];
        return event.type === "permission_decision"
          ? [[event.decision, event.decidedBy, event.digest?.length]]
          : [];
      }),
    ).toEqual([
      ["vote", expect.objectContaining({ name: "ada", role: "finance" }), 64],
      ["approved", expect.objectContaining({ name: "bo", role: "finance" }), 64],
    ]);
  });

  test("is not met by the same person twice, however they write their name", async () => {
    counters("T-PEOPLE-5");
    const ran = await asked();
    expect(await say(ran, "ada")).toEqual(counted);
    expect(await say(ran, "ADA")).toMatchObject({ type: "repeated", count: 1, quorum: 2 });
    expect((await listPending(ran.store))[0]?.votes).toHaveLength(1);
  });

  test("is not met by someone without the role, nor by someone who has lost it since", async () => {
    counters("T-PEOPLE-5");
    const ran = await asked();
    expect((await say(ran, "sam")).type).toBe("refused");
    expect(await say(ran, "ada")).toEqual(counted);
    expect((await say(ran, "bo")).type).toBe("recorded");
    ran.directory.people = [{ ...ADA, roles: [] }, BO, SAM];
    const end = await resume(ran, ran.directory, [transfer]);
    expect(end.type).toBe("waiting");
    expect(end.events).toContainEqual(
      expect.objectContaining({ type: "decision_void", changed: ["person"] }),
    );
  });

  test("takes more than two if it says so", async () => {
    const ran = await asked({ quorum: 3 });
    expect(await say(ran, "ada")).toEqual({ type: "counted", count: 1, quorum: 3 });
    expect(await say(ran, "bo")).toEqual({ type: "counted", count: 2, quorum: 3 });
    expect(await say(ran, "cy")).toEqual({ type: "recorded" });
  });

  test("ends with the first no, also of someone who has said yes before", async () => {
    const ran = await asked();
    expect(await say(ran, "ada")).toEqual(counted);
    expect(await say(ran, "ada", false)).toEqual({ type: "recorded" });
    const end = await resume(ran, ran.directory, [transfer]);
    expect(end.events).toContainEqual(
      expect.objectContaining({ type: "permission_decision", decision: "denied" }),
    );
  });

  test("takes as many to refuse as to approve where refusals count", async () => {
    const ran = await asked({ refusal: "counts" });
    expect(await say(ran, "ada", false)).toEqual(counted);
    expect(await say(ran, "bo")).toEqual(counted);
    expect(await say(ran, "cy", false)).toEqual({ type: "recorded" });
    const end = await resume(ran, ran.directory, [transfer]);
    expect(end.events).toContainEqual(
      expect.objectContaining({ type: "permission_decision", decision: "denied" }),
    );
  });

  test("counts what someone has said last", async () => {
    const ran = await asked({ refusal: "counts" });
    expect(await say(ran, "ada", false)).toEqual(counted);
    expect(await say(ran, "ada")).toEqual(counted);
    expect(await say(ran, "bo", false)).toEqual(counted);
    expect(await say(ran, "cy")).toEqual({ type: "recorded" });
  });

  test("can be cancelled by whoever runs the turn", async () => {
    const ran = await asked();
    expect(await say(ran, "ada")).toEqual(counted);
    expect(await say(ran, "sam", "cancel")).toEqual({ type: "recorded" });
  });

  test("counts the person at the terminal once, and does not ask them again", async () => {
    const ran = await asked({}, "ada", { permissions: [{ type: "run" }] });
    expect([ran.end.type, ran.prompter.permissions.map((each) => each.canRemember)]).toEqual([
      "waiting",
      [false],
    ]);
    expect((await listPending(ran.store))[0]?.votes).toMatchObject([{ by: { name: "ada" } }]);
    expect((await say(ran, "ada")).type).toBe("repeated");
    expect((await resume(ran, ran.directory, [transfer])).type).toBe("waiting");
    expect((await say(ran, "bo")).type).toBe("recorded");
    expect((await resume(ran, ran.directory, [transfer])).type).toBe("done");
  });

  test("is never met by config, a default or a model", async () => {
    counters("T-PEOPLE-5");
    const target = { role: "finance", quorum: 2 };
    const directory = new KnownPeople("sam", PEOPLE);
    const inquiryModel = new ScriptedModel({ replies: [] });
    const questions = [
      { target, answer: true },
      { target, deadline: "1s", on_timeout: "default" },
    ];
    const settings = questions.map((sure) => ({ run: "unattended", questions: { sure } }));
    const modes = ["auto", "defaults"].map((tool) => ({
      run: "unattended",
      questions: { sure: { target } },
      detached: { tool },
    }));
    const ends = [...settings, ...modes].map(async (config) => {
      const ran = await run({ config, tools: [pay], directory, inquiryModel });
      return ran.end.type;
    });
    expect(await Promise.all(ends)).toEqual(["waiting", "waiting", "waiting", "waiting"]);
  });

  test("waits if no people are known, unless the owner stands in for them", async () => {
    counters("T-PEOPLE-5");
    const none = { directory: new KnownPeople("olga", []) };
    const waiting = await asked({}, "olga", none);
    const alone = { ...none, ownerAlone: true, permissions: [{ type: "run" }] } as const;
    expect([waiting.end.type, (await asked({}, "olga", alone)).end.type]).toEqual([
      "waiting",
      "done",
    ]);
  });

  test.each([
    ["asked here", "ada"],
    ["asked by an earlier process", "sam"],
  ])("is asked for once someone edits the call into one that takes it: %s", async (_when, here) => {
    counters("T-PEOPLE-5");
    const large = { arg: "/amount", minimum: 1000, mode: "ask" };
    const config = {
      policy: {
        run: [
          { ...large, target: { role: "finance", quorum: 2, proof: "signed" } },
          { mode: "ask", target: { role: "finance" } },
        ],
      },
    };
    const permissions = [{ type: "run", arguments: { amount: 5000 } }] as const;
    const directory = new KnownPeople("ada", PEOPLE);
    const first = new KnownPeople(here, PEOPLE);
    const ran = await run({ config, tools: [transfer], directory: first, permissions });
    const { type } =
      here === "ada" ? ran.end : await resume(ran, directory, [transfer], { permissions });
    const [pending] = await listPending(ran.store);
    expect([type, pending?.arguments, pending?.terms]).toEqual([
      "waiting",
      { amount: 5000 },
      { quorum: 2, isSigned: true },
    ]);
  });

  test("stays with those who were asked if someone edits the call into one for fewer", async () => {
    const small = { arg: "/amount", maximum: 100, mode: "ask" };
    const config = {
      policy: { run: [small, { mode: "ask", target: { role: "finance", quorum: 2 } }] },
    };
    const permissions = [{ type: "run", arguments: { amount: 50 } }] as const;
    const directory = new KnownPeople("ada", PEOPLE);
    const ran = {
      ...(await run({ config, tools: [transfer], directory, permissions })),
      directory,
    };
    expect([ran.end.type, (await listPending(ran.store))[0]?.arguments]).toEqual([
      "waiting",
      { amount: 50 },
    ]);
    expect(await say(ran, "bo")).toEqual({ type: "recorded" });
    expect((await resume(ran, directory, [transfer])).type).toBe("done");
  });

  test("starts again with what someone has made of the arguments", async () => {
    counters("T-PEOPLE-5");
    const permissions = [{ type: "run", arguments: { amount: 400 } }] as const;
    const directory = new KnownPeople("ada", PEOPLE);
    const paid: JsonObject[] = [];
    const tool = defineTool({
      ...transfer,
      run: async (args) => {
        paid.push(args);
        return "paid";
      },
    });
    const ran = await asked({}, "sam", { tools: [tool] });
    expect(await say(ran, "bo")).toEqual(counted);
    const edited = await resume(ran, directory, [tool], { permissions });
    expect(edited.type).toBe("waiting");
    const [pending] = await listPending(ran.store);
    expect([pending?.arguments, pending?.changed, pending?.votes]).toMatchObject([
      { amount: 400 },
      ["arguments"],
      [{ by: { name: "ada" } }],
    ]);
    expect(await say(ran, "ada")).toMatchObject({ type: "repeated" });
    expect(await say(ran, "bo")).toEqual({ type: "recorded" });
    const end = await resume(ran, directory, [tool]);
    const voids = end.events.filter(({ type }) => type === "decision_void");
    expect([end.type, voids.length, paid]).toEqual(["done", 1, [{ amount: 400 }]]);
    const { stream } = await ran.store.load(ran.id);
    const toolbox = toolboxOf({ tools: [transfer], config: ran.toolConfig });
    expect(await replayConversation({ stream, toolbox })).toEqual({ turns: 1 });
  });
});

test.each([{ quorum: 2 }, { quorum: 2, not_by: "asker" }])(
  "a replay finds what people have decided together: %j",
  async (terms) => {
    const ran = await asked(terms);
    await say(ran, "ada");
    await say(ran, "bo");
    await resume(ran, ran.directory, [transfer]);
    const { stream } = await ran.store.load(ran.id);
    const toolbox = toolboxOf({ tools: [transfer], config: ran.toolConfig });
    expect(await replayConversation({ stream, toolbox })).toEqual({ turns: 1 });
  },
);

describe("whoever decides in place of someone who is away", () => {
  const DEE: KnownPerson = { name: "dee", roles: [], standsInFor: [ADA] };
  const forAda = { run: "ask", target: { user: "ada" } };

  test("may decide what is for them and for their roles, and the record says so", async () => {
    const configs = [forAda, { run: "ask", target: { role: "finance" } }];
    const ends = configs.map(async (config) => {
      const directory = new KnownPeople("sam", [...PEOPLE, DEE]);
      const ran = { ...(await run({ config, tools: [transfer], directory })), directory };
      const said = await say(ran, "dee");
      const end = await resume(ran, directory, [transfer]);
      const by = end.events.flatMap((event) =>
        event.type === "permission_decision" && event.decidedBy.kind === "user"
          ? [event.decidedBy]
          : [],
      );
      return [said.type, end.type, by];
    });
    const by = expect.objectContaining({ name: "dee", onBehalfOf: "ada" }) as unknown;
    expect(await Promise.all(ends)).toEqual([
      ["recorded", "done", [by]],
      ["recorded", "done", [by]],
    ]);
  });

  test("may not once they are back, nor by saying so", async () => {
    counters("T-PEOPLE-5");
    const directory = new KnownPeople("sam", [...PEOPLE, DEE]);
    const ran = { ...(await run({ config: forAda, tools: [transfer], directory })), directory };
    expect((await say(ran, "dee")).type).toBe("recorded");
    directory.people = [...PEOPLE, { ...DEE, standsInFor: [] }];
    expect((await resume(ran, directory, [transfer])).type).toBe("waiting");
    expect((await say(ran, "dee")).type).toBe("refused");
  });

  test("does not count beside them, and not for someone who has started the turn", async () => {
    counters("T-PEOPLE-5");
    const directory = new KnownPeople("sam", [...PEOPLE, DEE]);
    const both = { ...(await asked({}, "sam", { directory })), directory };
    expect(await say(both, "ada")).toEqual(counted);
    expect(await say(both, "dee")).toEqual(counted);
    const started = new KnownPeople("ada", [...PEOPLE, DEE]);
    const config = { run: "ask", target: { role: "finance", not_by: "asker" } };
    const own = { ...(await run({ config, tools: [transfer], directory: started })) };
    expect((await say({ ...own, directory: started }, "dee")).type).toBe("refused");
  });
});

describe("whoever has started the turn", () => {
  test("cannot approve it where that is wanted", async () => {
    counters("T-PEOPLE-5");
    const ran = await asked({ quorum: 1, not_by: "asker" }, "ada");
    expect([ran.end.type, ran.prompter.permissions]).toEqual(["waiting", []]);
    expect(await say(ran, "ada")).toEqual({
      type: "refused",
      code: "asker",
      reason: "whoever started the turn cannot decide this",
    });
    expect(await say(ran, "bo")).toEqual({ type: "recorded" });
  });

  test("stays the same, whoever continues it", async () => {
    const ran = await asked({ quorum: 1, not_by: "asker" }, "ada");
    const resumed = await resume(ran, new KnownPeople("bo", PEOPLE), [transfer], {
      permissions: [{ type: "run" }],
    });
    expect(resumed.type).toBe("done");
  });

  test("is not guessed: nothing is asked before the program says who did", async () => {
    counters("T-PEOPLE-5");
    const directory = new KnownPeople("nobody", PEOPLE);
    const config = { run: "ask", target: { ...FINANCE, quorum: 1, not_by: "asker" } };
    const setting = { config, directory, tools: [transfer] };
    const left = await leave(setting);
    const stranger = await leave({ ...setting, startedBy: "eve" });
    expect([left.error, stranger.error]).toMatchObject([
      { code: "asker_unknown" },
      { code: "person_unknown" },
    ]);
    const known = await resume(left, directory, [transfer], undefined, { startedBy: "ada" });
    expect([known.type, (await run({ ...setting, startedBy: "ada" })).end.type]).toEqual([
      "waiting",
      "waiting",
    ]);
  });
});
