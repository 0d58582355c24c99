import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import type { ConversationEvent } from "../record/conversation/index.ts";
import { MemoryConversationStore, ScriptedModel } from "../testing/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { answerInquiry, listPending } from "./index.ts";
import { ADA, KnownPeople, leave, pay, resume, run, SAM, transfer } from "./people.fixture.ts";

const BO = { name: "bo", roles: ["finance"] };
const ROLE = { role: "finance" };
const RULE = { mode: "ask", arg: "/amount", minimum: 1 };

/** The settings of the tool before and after someone has made them stricter. */
const STRICTER = {
  permission: [{ run: "ask" }, (target: JsonObject) => ({ run: "ask", target })],
  "permission by a rule": [
    { policy: { run: [RULE] } },
    (target: JsonObject) => ({ policy: { run: [{ ...RULE, target }] } }),
  ],
  question: [
    { run: "unattended", questions: { sure: {} } },
    (target: JsonObject) => ({ run: "unattended", questions: { sure: { target } } }),
  ],
  delivery: [
    { run: "unattended", result: "ask" },
    (target: JsonObject) => ({ run: "unattended", result: "ask", target }),
  ],
  "call in doubt": [{ run: "unattended" }, (target: JsonObject) => ({ run: "unattended", target })],
} as const satisfies Readonly<
  Record<string, readonly [JsonObject, (target: JsonObject) => JsonObject]>
>;

type Kind = keyof typeof STRICTER;
const KINDS = Object.keys(STRICTER) as readonly Kind[];

/** A decision that is left, and answered with yes by Sam, whom nothing keeps from deciding it. */
async function answered(
  kind: Kind,
  { before = STRICTER[kind][0], name = "sam" }: { before?: JsonObject; name?: string } = {},
) {
  const directory = new KnownPeople("nobody", [ADA, BO, SAM]);
  const tools = kind === "question" ? [pay] : [transfer];
  const ran = await leave({
    config: { ...before, detached: "defer" },
    tools,
    directory,
    isAway: true,
  });
  const left = kind === "call in doubt" ? await inDoubt(ran) : ran;
  const [item] = await listPending(left.store);
  const yes: Json = kind === "call in doubt" ? "run" : true;
  const by = { answer: yes, userName: name, clock: left.clock, directory };
  const first = item === undefined ? undefined : await answerInquiry(left.store, item, by);
  const say = async (userName: string, answer: Json = yes) => {
    const [pending] = await listPending(left.store);
    if (pending === undefined) return "nothing waits";
    return (await answerInquiry(left.store, pending, { ...by, userName, answer })).type;
  };
  const again = (config: JsonObject) =>
    resume(
      { ...left, toolConfig: { pay: { ...config, detached: "defer" } } },
      directory,
      tools,
      undefined,
      { startedBy: "ada" },
    );
  return { ...left, directory, first: first?.type, say, again };
}

/** As after a kill while it ran. */
async function inDoubt(ran: Awaited<ReturnType<typeof leave>>) {
  const store = new MemoryConversationStore(ran.clock);
  await using copy = await store.create({}); // It has the same id.
  const started = ran.events.findIndex(({ type }) => type === "attempt_start");
  await copy.append(...ran.events.slice(0, started + 1));
  return { ...ran, store };
}

function voidsIn(events: readonly ConversationEvent[]) {
  return events.flatMap((event) => (event.type === "decision_void" ? [event.changed] : []));
}

describe.each(KINDS)("a yes (%s)", (kind) => {
  const [before, stricter] = STRICTER[kind];

  test("counts if nothing has changed since", async () => {
    const ran = await answered(kind);
    const end = await ran.again(before);
    expect([ran.first, end.type, voidsIn(end.events)]).toEqual(["recorded", "done", []]);
  });

  test.each([
    ["a role", ROLE],
    ["a name", { user: "ada" }],
    ["several people", { quorum: 2 }],
    ["someone else than who started the turn", { ...ROLE, not_by: "asker" }],
  ])(
    "is void once it takes more, and is asked again under those terms: %s",
    async (_what, target) => {
      counters("T-TERMS-1");
      const ran = await answered(kind);
      const end = await ran.again(stricter(target));
      expect([end.type, voidsIn(end.events)]).toEqual(["waiting", [["terms"]]]);
      const isSeveral = "quorum" in target;
      const who = "not_by" in target ? "bo" : "ada";
      const said = [await ran.say(who), isSeveral ? await ran.say("bo") : undefined];
      expect(said).toEqual(isSeveral ? ["counted", "recorded"] : ["recorded", undefined]);
      expect((await ran.again(stricter(target))).type).toBe("done");
    },
  );

  test("is void once it takes a signature, and no unsigned yes takes its place", async () => {
    counters("T-TERMS-1");
    const ran = await answered(kind);
    const end = await ran.again(stricter({ ...ROLE, proof: "signed" }));
    expect([end.type, voidsIn(end.events), await ran.say("ada")]).toEqual([
      "waiting",
      [["terms"]],
      "refused",
    ]);
  });

  test("of someone who meets the stricter terms counts", async () => {
    const ran = await answered(kind, { name: "ada" });
    const end = await ran.again(stricter(ROLE));
    expect([end.type, voidsIn(end.events)]).toEqual(["done", []]);
  });

  test("under terms that are gone by now counts", async () => {
    const ran = await answered(kind, { before: stricter(ROLE), name: "ada" });
    const end = await ran.again(before);
    expect([ran.first, end.type, voidsIn(end.events)]).toEqual(["recorded", "done", []]);
  });

  test("is void once its person has left", async () => {
    counters("T-PEOPLE-2");
    const ran = await answered(kind, { before: stricter(ROLE), name: "ada" });
    ran.directory.people = [BO, SAM];
    const end = await ran.again(stricter(ROLE));
    expect([end.type, voidsIn(end.events)]).toEqual(["waiting", [["person"]]]);
  });

  test("is asked again under the terms in force once its person has left", async () => {
    counters("T-TERMS-1");
    const anyone = stricter({ any: ["sam", ROLE] });
    const ran = await answered(kind, { before: anyone, name: "ada" });
    ran.directory.people = [BO, SAM];
    const end = await ran.again(stricter(ROLE));
    const said = [await ran.say("sam"), await ran.say("bo")];
    expect([voidsIn(end.events), said]).toEqual([[["person"]], ["refused", "recorded"]]);
    expect((await ran.again(stricter(ROLE))).type).toBe("done");
  });

  test("is neither used nor void where no one can know who decided", async () => {
    counters("T-TERMS-1");
    const ran = await answered(kind, { before: stricter(ROLE), name: "ada" });
    const tools = kind === "question" ? [pay] : [transfer];
    const toolConfig = { pay: { ...stricter(ROLE), detached: "defer" } };
    const unknowing = resume({ ...ran, toolConfig }, undefined, tools);
    await expect(unknowing).rejects.toMatchObject({ code: "directory_missing" });
    const end = await ran.again(stricter(ROLE));
    expect([end.type, voidsIn(end.events)]).toEqual(["done", []]);
  });
});

test.each(KINDS.filter((kind) => kind !== "call in doubt"))(
  "a no stands, whatever the terms are by now: %s",
  async (kind) => {
    const [, stricter] = STRICTER[kind];
    const directory = new KnownPeople("nobody", [ADA, SAM]);
    const tools = kind === "question" ? [pay] : [transfer];
    const config = { ...STRICTER[kind][0], detached: "defer" };
    const ran = await leave({ config, tools, directory, isAway: true });
    const by = { answer: false, userName: "sam", clock: ran.clock, directory };
    expect((await answerInquiry(ran.store, "call_1", by)).type).toBe("recorded");
    const toolConfig = { pay: { ...stricter(ROLE), detached: "defer" } };
    const end = await resume({ ...ran, toolConfig }, directory, tools);
    expect([end.type, voidsIn(end.events)]).toEqual(["done", []]);
  },
);

/** The call is answered, and then left because its result waits. */
async function answeredByConfig(config: JsonObject, inquiryModel?: ScriptedModel) {
  const directory = new KnownPeople("nobody", [ADA, SAM]);
  const ran = await leave({
    config: { ...config, result: "ask", detached: "defer" },
    tools: [pay],
    directory,
    isAway: true,
    ...(inquiryModel !== undefined && { inquiryModel }),
  });
  return { ran, directory };
}

describe("an answer that no person gave", () => {
  const [, stricter] = STRICTER.question;

  test("is not used once people have to answer, if a model gave it", async () => {
    counters("T-TERMS-1");
    const directory = new KnownPeople("nobody", [ADA, SAM]);
    const config = { run: "unattended", questions: { sure: { target: "assistant" } } };
    const inquiryModel = new ScriptedModel({
      replies: [[{ type: "structured", data: { answer: true } }]],
    });
    const ran = await leave({ config, tools: [pay], directory, inquiryModel });
    const answeredAt = ran.events.findIndex(({ type }) => type === "inquiry_response");
    const store = new MemoryConversationStore(ran.clock);
    await using copy = await store.create({}); // It has the same id.
    await copy.append(...ran.events.slice(0, answeredAt + 1));
    await copy.release();
    const toolConfig = { pay: { ...stricter(ROLE), detached: "defer" } };
    const end = await resume({ ...ran, store, toolConfig }, directory, [pay]);
    expect([end.type, voidsIn(end.events)]).toEqual(["waiting", [["terms"]]]);
  });

  test("of the config counts for those whom config names, but not under terms", async () => {
    const config = { run: "unattended", questions: { sure: { answer: true, target: ROLE } } };
    const { ran } = await answeredByConfig(config);
    expect((await listPending(ran.store)).map(({ kind }) => kind)).toEqual(["delivery"]);
    const signed = { ...ROLE, proof: "signed" };
    const terms = { run: "unattended", questions: { sure: { answer: true, target: signed } } };
    const under = await run({ config: terms, directory: new KnownPeople("nobody", [ADA]) });
    expect(under.end.type).toBe("waiting");
  });
});
