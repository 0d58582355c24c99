/** One decision has the same JSON wherever it is shown, while it waits and once it has ended, and all of it is in the schema. */
import { Validator } from "@cfworker/json-schema";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import {
  anyEvent,
  at,
  attemptStart,
  chatRequest,
  closed,
  decisionVoid,
  entriesOf,
  inquiry,
  permission,
  permissionRequest,
  toolCall,
  toolStep,
  turnStart,
} from "../src/record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type DecisionVote,
  InquiryLog,
  type InquiryId,
  type PermissionDecision,
} from "../src/record/conversation/index.ts";
import { API_PATH, OPERATIONS } from "../src/surfaces/desk/api.ts";
import { createDesk, type Desk, type DeskEvent } from "../src/surfaces/desk/index.ts";
import { renderOpenApi } from "../src/surfaces/desk/openapi.ts";
import { type DecisionJson, decisionToJson, listPending } from "../src/index.ts";
import { composeMessage } from "../src/surfaces/notify/message.ts";
import { type ConversationStore, openWorkspace } from "../src/stores/index.ts";
import { isJsonArray, isJsonObject, type Json, systemClock } from "../src/util/index.ts";
import { jsonLines, Project } from "./cli/support.ts";

const CALL = [turnStart(), chatRequest("Go."), toolCall("a", "deploy", { where: "live" })];
const ADA = { kind: "user", channel: "desk", name: "Ada", personId: "p_1" } as const;
const SUBJECT = {
  subject: { digest: "5".repeat(64), version: 2, parts: {} },
  origin: { type: "builtin", confinement: "sandbox", network: true, git: true, undo: "git" },
  folder: "sub",
  outside: ["/etc/hosts"],
  deadline: at(9_999_999_999),
  takes: { turn: { code: "label", label: "all deployments" }, note: "any" },
} as const;
const QUESTION = {
  ...inquiry("a.where.1", {
    text: "Where to?",
    context: "a diff",
    answerType: {
      type: "select",
      options: [{ value: 1, title: "One", description: "first", preview: "1" }, { value: "two" }],
      allowsOther: true,
      isMultiple: true,
    },
    default: [1],
    exclusive: true,
    persistence: "none",
    allowsNote: true,
    acts: true,
    rememberAs: "all deployments",
    for: [{ user: "Ada" }, { role: "ops" }],
  }),
  ...SUBJECT,
  toolCallId: "a",
  questionId: "where",
  forAny: [{ user: "Ada" }, { role: "ops" }],
  personIds: { Ada: "p_1" },
} as const;
const ESCALATION = {
  type: "inquiry_escalation",
  timestamp: at(1),
  id: QUESTION.id,
  outcome: "answered",
  answer: [],
  answerReason: "Too risky.",
  answeredBy: { kind: "assistant", model: "ollama/qwen3" },
  deadline: at(9_999_999_999),
} as const;
const PERMISSION = { ...permissionRequest("a"), tool: "deploy", ...SUBJECT } as const;
const VOTE: DecisionVote = {
  type: "decision_vote",
  timestamp: at(2),
  id: "a:run:2" as InquiryId,
  toolCallId: "a",
  by: ADA,
  decision: "approved",
  note: "Fine.",
};

function decided(id: string, fields: Partial<PermissionDecision>): PermissionDecision {
  const by = { tool: "deploy", decidedBy: ADA, timestamp: at(3) };
  return { ...permission("a"), ...by, id: id as InquiryId, digest: "6".repeat(64), ...fields };
}

/** What is recorded until a decision of each kind waits, and what ends it. */
const CASES: Readonly<
  Record<DecisionJson["kind"], Record<"waiting" | "end", readonly ConversationEvent[]>>
> = {
  question: {
    waiting: [...CALL, permission("a"), attemptStart("a"), QUESTION, ESCALATION],
    end: [
      {
        ...closed(QUESTION.id, {
          outcome: "answered",
          answer: ["elsewhere"],
          isOther: true,
          note: "For now.",
          answerReason: "It is closer.",
          answeredBy: { ...ADA, auth: "token", role: "ops", onBehalfOf: "Bo", scope: "turn" },
        }),
        digest: "5".repeat(64),
      },
    ],
  },
  permission: {
    waiting: [
      ...CALL,
      { ...PERMISSION, arguments: { where: "test" } },
      decided("a:run:1", { decision: "approved" }),
      decisionVoid("a:run:1", "arguments", "file"),
      {
        ...PERMISSION,
        id: "a:run:2" as InquiryId,
        arguments: { where: "live" },
        replaces: "a:run:1" as InquiryId,
        terms: { quorum: 2, countsRefusals: true, notBy: { name: "Cy" }, isSigned: true },
      },
      VOTE,
    ],
    end: [
      decided("a:run:2", { decision: "edited", arguments: { where: "test" }, reason: "Test it." }),
    ],
  },
  delivery: {
    waiting: [
      ...CALL,
      permission("a"),
      attemptStart("a"),
      {
        ...permissionRequest("a", "deliver"),
        tool: "deploy",
        result: { content: "a page", isError: true },
        for: "Ada",
      },
    ],
    end: [
      decided("a:deliver:1", {
        action: "deliver",
        decision: "edited",
        result: { content: "a line", isError: true },
      }),
    ],
  },
  in_doubt: {
    waiting: [
      ...CALL,
      permission("a"),
      attemptStart("a"),
      toolStep("a", "pay"),
      { ...permissionRequest("a", "rerun"), tool: "deploy", check: "unknown" },
    ],
    end: [
      decided("a:rerun:1", {
        action: "rerun",
        decision: "denied",
        cause: "unavailable",
        problem: "no terminal",
        check: "failed",
        decidedBy: {
          kind: "policy",
          key: "tools.deploy.run",
          rules: [{ from: "user", key: "rules[0]", file: "7".repeat(64), rule: { mode: "ask" } }],
        },
      }),
    ],
  },
};

const DECISION = strictSchema("decision");

test.each(Object.entries(CASES))(
  "every surface has the same JSON of a decision, whether it waits or has ended (%s)",
  async (_kind, { waiting, end }) => {
    const project = new Project();
    const store = openStore(project);
    const desk = await openDesk(project, store);
    const events = new Events(desk);
    await using writer = await store.create({ title: "Release" });
    await writer.append(...waiting);
    const told = await events.until("pending");
    const item = (await listPending(store))[0];
    if (item === undefined) throw new Error("nothing waits");
    const pending = decisionToJson(item, { ...item, workspace: project.root });

    expect(await jsonIn(project, ["ls", "--pending"])).toEqual([pending]);
    expect((await desk.listPending()).items).toEqual([pending]);
    expect(told).toEqual(pending);
    await expectEverywhere({ project, desk, store }, pending);
    expect(pending).toMatchObject(notifiedOf(pending));

    await writer.append(...end);
    const answer = await events.until("answered");
    const { kind, id } = pending;
    const ended = (await desk.listInquiries({})).items.find((each) => each.id === id);
    if (ended === undefined) throw new Error("it is gone");
    await expectEverywhere({ project, desk, store }, ended);
    expect(ended).toMatchObject(answer);
    const { is_live: _live, check: _check, ...asked } = pending;
    expect(ended).toMatchObject({ ...asked, kind, outcome: expect.any(String) as string });
  },
);

test("the schema has every field that a decision of each kind has, and no other", () => {
  const all = Object.values(CASES).flatMap(({ waiting, end }) => [
    ...recordedIn(waiting),
    ...recordedIn([...waiting, ...end]),
  ]);
  expect(all.flatMap(findUnknown)).toEqual([]);
  const { components = {} } = renderOpenApi(OPERATIONS, API_PATH);
  const { schemas } = components as { schemas: { decision: { properties: object } } };
  const emitted = new Set(all.flatMap((json) => Object.keys(json)));
  expect([...emitted].toSorted()).toEqual(Object.keys(schemas.decision.properties).toSorted());
});

test("every field of whatever a record has is in the schema", () => {
  // Deciders of a newer version may have any field.
  const known = anyEvent.filter((event) => !JSON.stringify(event).includes('"kind":"unknown"'));
  fc.assert(
    fc.property(fc.array(known, { maxLength: 20 }), (events) => {
      expect(recordedIn(events).flatMap(findUnknown)).toEqual([]);
    }),
  );
});

/** The decisions of a record with these events. */
function recordedIn(events: readonly ConversationEvent[]): readonly DecisionJson[] {
  const log = new InquiryLog();
  const logged = [...log.read(entriesOf(...events)), ...log.end()];
  const place = { workspace: "/w", conversation: "jp-c1", title: "Release" };
  return logged.map((each) => decisionToJson(each, place));
}

interface Surfaces {
  readonly project: Project;
  readonly desk: Desk;
  readonly store: ConversationStore;
}

/** In everything that has both kinds. */
async function expectEverywhere({ project, desk, store }: Surfaces, json: DecisionJson) {
  const [id] = (await store.list()).map((each) => each.id);
  if (id === undefined) throw new Error("no conversation");
  const log = new InquiryLog();
  const logged = [...log.read((await store.load(id)).stream.entries), ...log.end()];
  const place = { ...json, isLive: json.is_live };
  const wanted = (all: readonly DecisionJson[]) => all.filter((each) => each.id === json.id);
  expect({
    ls: wanted(await jsonIn(project, ["ls"])),
    show: await jsonIn(project, ["show", json.id]),
    list: wanted((await desk.listInquiries({})).items),
    read: await desk.findInquiry({ conversation: id, id: json.id as InquiryId }),
    library: wanted(logged.map((each) => decisionToJson(each, place))),
  }).toEqual({
    ls: [json],
    show: [json],
    list: [json],
    read: json,
    library: [json],
  });
}

function openStore(project: Project): ConversationStore {
  const { root, home, variables } = project;
  const environment = { variables, home, platform: process.platform };
  const { pid } = process;
  return openWorkspace({ from: root, environment, clock: systemClock, pid }).conversations;
}

async function openDesk({ root }: Project, conversations: ConversationStore): Promise<Desk> {
  const desk = await createDesk([{ root, conversations }]);
  onTestFinished(() => desk[Symbol.asyncDispose]());
  return desk;
}

/** The data of what a desk tells. */
class Events {
  readonly #all: DeskEvent[] = [];
  #onEvent: () => void = () => undefined;

  constructor(desk: Desk) {
    const listening = desk.subscribe((event) => {
      this.#all.push(event);
      this.#onEvent();
    });
    onTestFinished(() => listening[Symbol.dispose]());
  }

  async until(type: DeskEvent["type"]): Promise<object> {
    for (;;) {
      const found = this.#all.find((event) => event.type === type);
      if (found !== undefined) return found.data;
      await new Promise<void>((resolve) => (this.#onEvent = resolve));
    }
  }
}

async function jsonIn(project: Project, words: readonly string[]) {
  return jsonLines(
    await project.jp("inquiry", ...words, "--format", "json"),
  ) as readonly DecisionJson[];
}

/** What a notification has of it, at most. */
function notifiedOf(json: DecisionJson): object {
  const now = new Date();
  const message = composeMessage([json], { content: "question", link: "https://desk", now });
  const { data } = message.json as { data: { items: readonly [{ readonly link: string }] } };
  const { link: _link, ...item } = data.items[0];
  return item;
}

/** What the schema does not allow, or does not have. */
function findUnknown(json: DecisionJson): readonly string[] {
  const { errors } = DECISION.validate(JSON.parse(JSON.stringify(json)));
  return errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
}

/** The schema of the OpenAPI document, in which every object has only the fields that are listed. */
function strictSchema(name: string): Validator {
  const { components = {} } = renderOpenApi(OPERATIONS, API_PATH);
  const schema = { components: toStrict(components), $ref: `#/components/schemas/${name}` };
  return new Validator(schema, "2020-12", false);
}

function toStrict(schema: Json): Json {
  if (isJsonArray(schema)) return schema.map((each) => toStrict(each));
  if (!isJsonObject(schema)) return schema;
  const strict = Object.entries(schema).map(([key, value]) => [key, toStrict(value)]);
  const isClosed = "properties" in schema && schema["type"] === "object";
  return { ...Object.fromEntries(strict), ...(isClosed && { additionalProperties: false }) };
}
