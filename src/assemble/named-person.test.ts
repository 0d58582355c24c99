import { describe, expect, test } from "vitest";
import { EVERY_STORE, type OpenedStore } from "../../test/storage/every-store.ts";
import { toolboxOf } from "../core/agent/tool-turn.fixture.ts";
import { eventsOf, StreamEntry } from "../record/conversation/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  type PrompterScript,
  ScriptedModel,
  ScriptedPrompter,
} from "../testing/index.ts";
import { booleanQuestion, defineTool, secretQuestion, textQuestion } from "../record/tool/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { replayConversation } from "../cli/replay/index.ts";
import { answerInquiry, listPending, resumeTurn, runTurn, type TurnOptions } from "./index.ts";

const CALL = { type: "tool_call", id: "call_1", name: "deploy", arguments: {} } as const;
const FOR_ADA = { questions: { sure: { target: { user: "ada" } } } };
const SURE = booleanQuestion("sure", "Sure?", { default: true, persistence: "turn" });

const deploy = defineTool({
  name: "deploy",
  description: "Deploys.",
  parameters: { type: "object" },
  run: async (_args, { ask }) => ((await ask(SURE)) ? "deployed" : "not deployed"),
});

const release = defineTool({
  name: "deploy",
  description: "Deploys.",
  parameters: { type: "object" },
  async run(_args, { askAll }) {
    const [where, as] = [textQuestion("where", "Where?"), textQuestion("as", "As?")];
    return JSON.stringify(await askAll({ sure: SURE, where, as }));
  },
});

interface Run extends Pick<TurnOptions, "inquiryModel" | "tools" | "userName">, PrompterScript {
  readonly config?: JsonObject;
  /** Whom the prompter can reach besides the user. */
  readonly people?: readonly string[];
  readonly opened?: Pick<OpenedStore, "store" | "clock">;
}

/** Runs a turn whose only call asks. */
async function run(setting: Run = {}) {
  const { config = FOR_ADA, answers = [], forms, people = [], opened, ...more } = setting;
  const clock = opened?.clock ?? new FakeClock();
  const store = opened?.store ?? new MemoryConversationStore(clock);
  const prompter = new ScriptedPrompter({ answers, ...(forms !== undefined && { forms }) });
  prompter.people = people;
  await using conversation = await store.create({});
  const model = new ScriptedModel({ replies: [[CALL], "Done."] });
  const toolConfig: { readonly deploy: JsonObject } = { deploy: config };
  const given = { conversation, model, tools: [deploy], toolConfig, prompter, clock };
  const end = await runTurn({ ...given, ...more }, "Deploy.");
  const events = [...eventsOf(conversation.stream.entries)];
  const byPeople = events.flatMap((event) =>
    event.type === "inquiry_response" && event.outcome === "answered" ? [event.answeredBy] : [],
  );
  return { end, events, byPeople, store, clock, prompter, id: conversation.id, toolConfig };
}

async function resume({ store, clock, id, toolConfig }: Awaited<ReturnType<typeof run>>) {
  await using conversation = await store.open(id);
  const model = new ScriptedModel({ replies: ["Done."] });
  return await resumeTurn(conversation, { model, tools: [deploy], toolConfig, clock });
}

/** Answers after the deadline. Returns the result of that answer and the outcome of the question. */
async function overdue(onTimeout: string) {
  const sure = { target: { user: "ada" }, deadline: "1h", on_timeout: onTimeout };
  const ran = await run({ config: { questions: { sure } } });
  ran.clock.advance(3600_000);
  const late = await answerInquiry(ran.store, "call_1", {
    answer: true,
    userName: "ada",
    clock: ran.clock,
  });
  const { events } = await resume(ran);
  const ends = events.flatMap((event) => (event.type === "inquiry_response" ? event : []));
  return [late.type, ends.map(({ outcome }) => outcome)];
}

describe("a question for one person", () => {
  test("is asked if that is the user of the turn, and says for whom it is", async () => {
    const { end, prompter, byPeople } = await run({ answers: [{ answer: true }], userName: "Ada" });
    expect([end.type, prompter.questions.map((each) => each.for), byPeople]).toEqual([
      "done",
      ["ada"],
      [{ kind: "user", channel: "scripted", auth: "program", name: "Ada" }],
    ]);
  });

  test.each(["sam", undefined])("is left open if the user is %s", async (userName) => {
    const { end, prompter, store } = await run(userName === undefined ? {} : { userName });
    const pending = await listPending(store);
    expect([end.type, prompter.questions, pending.map((each) => each.for)]).toEqual([
      "waiting",
      [],
      ["ada"],
    ]);
  });

  test("is asked through a prompter that reaches that person, whoever the user is", async () => {
    const answers = [{ answer: true, userName: "Ada" }];
    const { end, byPeople } = await run({ people: ["ada"], answers, userName: "sam" });
    expect([end.type, byPeople]).toEqual([
      "done",
      [{ kind: "user", channel: "scripted", auth: "program", name: "Ada" }],
    ]);
  });

  test("fails the call where the config denies what cannot be asked", async () => {
    const { events } = await run({ config: { ...FOR_ADA, detached: { tool: "deny" } } });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "tool_call_response",
        isError: true,
        content: expect.stringContaining("the only person who may answer") as string,
      }),
    );
  });

  test("ends at its deadline as the config says", async () => {
    expect([await overdue("default"), await overdue("deny"), await overdue("escalate")]).toEqual([
      ["overdue", ["answered"]],
      ["overdue", ["cancelled"]],
      ["overdue", ["cancelled"]],
    ]);
  });

  test("goes to that person alone if a model has said no", async () => {
    const inquiryModel = new ScriptedModel({
      replies: [[{ type: "structured", data: { answer: false } }]],
    });
    const config = { questions: { sure: { target: ["assistant", { user: "ada" }] } } };
    const { end, store, clock } = await run({ config, inquiryModel, userName: "sam" });
    const by = (userName: string) => ({ answer: true, userName, clock });
    expect([
      end.type,
      await answerInquiry(store, "call_1", by("sam")),
      await answerInquiry(store, "call_1", by("ada")),
    ]).toEqual([
      "waiting",
      { type: "refused", code: "wrong_person", reason: "only ada can answer this" },
      { type: "recorded" },
    ]);
  });

  test("keeps its person if the config names another when the turn is resumed", async () => {
    const ran = await run();
    const by = { answer: true, clock: ran.clock };
    const toolConfig = { deploy: { questions: { sure: { target: "assistant" } } } };
    const resumed = await resume({ ...ran, toolConfig });
    expect([
      resumed.type,
      (await answerInquiry(ran.store, "call_1", { ...by, userName: "bob" })).type,
      (await answerInquiry(ran.store, "call_1", { ...by, userName: "ADA" })).type,
    ]).toEqual(["waiting", "refused", "recorded"]);
  });
});

test("a replay finds that person's answer as recorded, given here or later", async () => {
  const later = await run({ userName: "sam" });
  await answerInquiry(later.store, "call_1", { answer: true, userName: "ada", clock: later.clock });
  await resume(later);
  const here = await run({ answers: [{ answer: true }], userName: "ada" });
  const toolbox = toolboxOf({ tools: [deploy], config: { deploy: FOR_ADA } });
  for (const { store, id } of [later, here]) {
    const { stream } = await store.load(id);
    expect(await replayConversation({ stream, toolbox })).toEqual({ turns: 1 });
  }
});

describe.each(EVERY_STORE)("in $name", (each) => {
  test("only the person it is for can answer from elsewhere, and anyone can cancel it", async () => {
    const opened = await each.create();
    const first = await run({ opened });
    const { store, clock } = opened;
    const [item] = await listPending(store);
    if (item === undefined) throw new Error("nothing waits");
    const refused = {
      type: "refused",
      code: "wrong_person",
      reason: "only ada can answer this",
    };
    expect([
      await answerInquiry(store, item, { answer: true, userName: "bob", clock }),
      await answerInquiry(store, item, { answer: true, clock }),
      await answerInquiry(store, item, { answer: true, userName: "Ada", clock }),
    ]).toEqual([refused, refused, { type: "recorded" }]);
    expect((await resume(first)).type).toBe("done");
    await run({ opened });
    const cancel = { isCancelled: true, userName: "bob", clock } as const;
    expect(await answerInquiry(store, "call_1", cancel)).toEqual({ type: "recorded" });
  });
});

test("a form is shown to each person with the questions for them", async () => {
  const asked: Json[] = [];
  const config = {
    questions: { where: { target: { user: "ada" } }, as: { target: { user: "Sam" } } },
  };
  const script: PrompterScript = {
    forms: ({ fields }) => {
      asked.push(fields.map(({ questionId }) => questionId));
      return fields.map(({ questionId }) => ({ answer: questionId === "sure" ? true : "sam's" }));
    },
    answers: ({ question, for: userName = "" }) => {
      asked.push([question.text, userName]);
      return { answer: "ada's", userName };
    },
  };
  const setting = { config, tools: [release], userName: "sam", people: ["ada"] };
  const { events, end } = await run({ ...setting, ...script });
  expect([end.type, asked]).toEqual([
    "done",
    [
      ["sure", "as"],
      ["Where?", "ada"],
    ],
  ]);
  expect(events).toContainEqual(
    expect.objectContaining({
      type: "tool_call_response",
      content: JSON.stringify({ sure: true, where: "ada's", as: "sam's" }),
    }),
  );
});

test("an answer that arrives while the user is asked something else counts at once", async () => {
  const clock = new FakeClock();
  const store = new MemoryConversationStore(clock);
  const tool = defineTool({
    name: "deploy",
    description: "Deploys.",
    parameters: { type: "object" },
    run: async (_args, { askAll }) =>
      JSON.stringify(await askAll({ sure: SURE, key: secretQuestion("key", "Key?") })),
  });
  const fromAda = { answer: true, userName: "ada", clock };
  const { end, prompter } = await run({
    tools: [tool],
    opened: { store, clock },
    answers: async () => {
      const { type } = await answerInquiry(store, "call_1.sure", fromAda);
      return { answer: type };
    },
  });
  expect([end.type, prompter.questions.map(({ question }) => question.text)]).toEqual([
    "done",
    ["Key?"],
  ]);
});

test("what a question says about its person takes little of the record", async () => {
  const { events } = await run();
  const request = events.find((event) => event.type === "inquiry_request");
  if (request === undefined) throw new Error("nothing was asked");
  const sizeOf = (event: typeof request) => JSON.stringify(StreamEntry.fromEvent(event).raw).length;
  const { for: _person, ...plain } = request;
  expect(sizeOf(request)).toBeLessThan(1024);
  expect(sizeOf(request) - sizeOf(plain)).toBeLessThan(40);
});
