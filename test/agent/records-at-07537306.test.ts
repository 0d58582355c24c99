/** Records of an earlier version, continued by this one: whatever waited can be answered, and what was decided is judged as any other. */
import { describe, expect, test } from "vitest";
import type { KnownPerson } from "../../src/record/conversation/index.ts";
import { transcript } from "../../src/record/conversation/transcript.fixture.ts";
import { answerInquiry, listPending } from "../../src/assemble/index.ts";
import { KnownPeople } from "../../src/assemble/people.fixture.ts";
import type { Json, JsonObject } from "../../src/util/index.ts";
import {
  type Kind,
  partsOf,
  PEOPLE,
  recordedIn,
  type ReplyName,
  type Scene,
  sceneIn,
} from "./matrix-scene.ts";
import type { Answered } from "./matrix-surface.ts";
import { expectedOf, SURFACES } from "./matrix-surfaces.ts";
import {
  continueTurn,
  type EarlierRecord,
  filesOf,
  linkVersions,
  NAMES,
  openEarlier,
  problemsIn,
} from "./records-at-07537306.ts";

const KINDS = ["boolean", "permission", "delivery", "in_doubt"] as const satisfies readonly Kind[];
type EarlierKind = (typeof KINDS)[number];

/** How the records name them. */
const SLUGS: Readonly<Record<EarlierKind, string>> = {
  boolean: "question",
  permission: "permission",
  delivery: "delivery",
  in_doubt: "in-doubt",
};

/** Which record waits for this reply. */
const WAITING = { yes: "open", last_vote: "voted" } as const satisfies Partial<
  Record<ReplyName, string>
>;
const REPLIES = ["yes", "last_vote"] as const;

interface Waiting {
  readonly record: EarlierRecord;
  readonly scene: Scene;
}

async function openWaiting(kind: EarlierKind, reply: (typeof REPLIES)[number]): Promise<Waiting> {
  const record = await openEarlier(`${SLUGS[kind]}-${WAITING[reply]}`);
  const parts = partsOf(kind, reply, record.clock);
  return { record, scene: await sceneIn(record.store, { kind, reply, parts }) };
}

/** As the file has it. */
async function requestIn({ store, id }: EarlierRecord) {
  const { elements } = await filesOf(store, id);
  const types = new Set(["inquiry_request", "permission_request"]);
  const request = elements.findLast(({ type }) => typeof type === "string" && types.has(type));
  return { id: request?.["id"] as string, digest: request?.["digest"] as string };
}

/** What the call gives once it was allowed. */
const RESULTS: Readonly<Record<EarlierKind, string>> = {
  boolean: "call_1 gives: true",
  permission: "call_1 gives: paid 500",
  delivery: "call_1 gives: paid 500",
  in_doubt: "call_1 gives: paid 500",
};

test.each(NAMES)("a record of 07537306 is read without complaint: %s", async (name) => {
  const { store, id } = await openEarlier(name);
  expect(await problemsIn(store, id)).toEqual([]);
  const { entries } = (await store.load(id)).stream;
  expect(entries.filter(({ event }) => event === undefined)).toEqual([]);
});

/** How the turn goes on, and what the files say afterwards. */
async function finish({ record, scene }: Waiting, { events, elsewhere = scene }: Answered) {
  const { store, directory } = elsewhere;
  const { end, added } = await continueTurn({ ...record, store }, { ...scene.parts, directory });
  const story = [...transcript(events.slice(scene.before.length)), ...added];
  const waiting = await listPending(store);
  return {
    end,
    isVoid: story.some((line) => line.includes("no longer counts")),
    results: story.filter((line) => line.startsWith("call_1 gives: ")),
    left: waiting.map(({ id, digest }) => ({ id, digest })),
    links: await linkVersions(store, record),
    problems: await problemsIn(store, record.id),
  };
}

describe.each(SURFACES)("a request of 07537306, answered by $name,", (surface) => {
  test.each(KINDS)("keeps its id and digest, and its turn goes on to the end: %s", async (kind) => {
    const waiting = await Promise.all(REPLIES.map((reply) => openWaiting(kind, reply)));
    const answer = await surface.open(waiting.map(({ scene }) => scene));
    for (const { record, scene } of waiting) {
      const { id, digest } = scene.item;
      const asked = await requestIn(record);
      const answered = await answer(scene);
      const [recorded] = recordedIn(scene, answered.events);
      const said = { code: answered.code, ...(recorded && { recorded }) };
      const expected = expectedOf(surface, kind, scene.reply);
      // An MCP client and an answers file cannot complete a quorum.
      const isDecided = expected.recorded !== undefined;
      const finished = await finish({ record, scene }, answered);
      expect([{ id, digest }, said, finished]).toEqual([
        asked,
        expected,
        {
          end: isDecided ? "done" : "waiting",
          isVoid: false,
          results: isDecided ? [RESULTS[kind]] : [],
          left: isDecided ? [] : [asked],
          links: { earlier: [1], added: isDecided ? [2] : [] },
          problems: [],
        },
      ]);
    }
  });
});

/** Whom a decision was for, by how the records name it. The config still says the same. */
const TARGETS = {
  yes: undefined,
  no: undefined,
  "half-run": undefined,
  "turn-yes": undefined,
  "named-yes": { user: "ada" },
  "any-yes": { any: ["ada", "bo"] },
  "any-open": { any: ["ada", { role: "finance" }] },
  "role-yes": { role: "finance" },
  "owner-yes": { role: "finance" },
  "quorum-yes": { role: "finance", quorum: 2 },
} as const satisfies Readonly<Record<string, JsonObject | undefined>>;

const NO_ONE: readonly KnownPerson[] = [];
const WITH_IDS = PEOPLE.map((person, index) => ({ ...person, id: `p${index}` }));

/** Continues a turn among these people. */
async function resume(
  kind: EarlierKind,
  state: keyof typeof TARGETS,
  people: readonly KnownPerson[] = PEOPLE,
) {
  const record = await openEarlier(`${SLUGS[kind]}-${state}`);
  const earlier = await requestIn(record);
  const { toolConfig, ...others } = partsOf(kind, "yes", record.clock);
  const target: JsonObject | undefined = TARGETS[state];
  const aimed: JsonObject = target === undefined ? {} : { target };
  const pay: JsonObject = {
    ...toolConfig.pay,
    ...(kind === "boolean" ? { questions: { q: aimed } } : aimed),
  };
  const parts = { ...others, toolConfig: { pay }, directory: new KnownPeople("ada", people) };
  const { end, added } = await continueTurn(record, parts);
  const [item] = await listPending(record.store);
  return { record, parts, earlier, end, added, item };
}

/** Someone answers what waits now, and the turn goes on. */
async function answerNow(
  { record, parts, item }: Awaited<ReturnType<typeof resume>>,
  answer: Json,
  userName = "ada",
) {
  const { directory, clock } = parts;
  const given = { answer, userName, directory, clock };
  const { type } = await answerInquiry(record.store, item ?? "", given);
  const { end, added } = await continueTurn(record, parts);
  return { type, end, added };
}

async function expectWhole({ store, id }: EarlierRecord): Promise<void> {
  expect(await problemsIn(store, id)).toEqual([]);
}

describe("a yes of 07537306 that was not used", () => {
  test.each(KINDS)("counts where no people are named: %s", async (kind) => {
    const { record, end, added } = await resume(kind, "yes");
    expect([end, added]).toEqual(["done", [...USED[kind], RESULTS[kind], "message: Done."]]);
    await expectWhole(record);
  });

  test.each(KINDS)("counts for a role whose holder was known: %s", async (kind) => {
    for (const people of [PEOPLE, WITH_IDS]) {
      const { record, end, added } = await resume(kind, "role-yes", people);
      expect([end, added]).toEqual(["done", [...USED[kind], RESULTS[kind], "message: Done."]]);
      await expectWhole(record);
    }
  });

  test("counts for a quorum that was met", async () => {
    const { end, added } = await resume("permission", "quorum-yes");
    expect([end, added.at(-2)]).toEqual(["done", RESULTS.permission]);
  });

  test.each([
    ...KINDS.map((kind) => [kind, "named-yes"] as const),
    ["permission", "any-yes"] as const,
  ])(
    "is asked for again where people are named and `auth` is missing: %s, %s",
    async (kind, state) => {
      for (const people of [NO_ONE, PEOPLE, WITH_IDS]) {
        const resumed = await resume(kind, state, people);
        const { record, earlier, end, added, item } = resumed;
        expect([end, added[1]]).toEqual(["waiting", `${earlier.id} no longer counts: person`]);
        expect([item?.id, item?.digest]).not.toEqual([earlier.id, earlier.digest]);
        const answered = await answerNow(resumed, kind === "in_doubt" ? "run" : true);
        expect(answered).toMatchObject({ type: "recorded", end: "done" });
        expect(answered.added).toContain(RESULTS[kind]);
        await expectWhole(record);
      }
    },
  );

  test("is asked for again if the owner stood in for a role", async () => {
    for (const people of [NO_ONE, PEOPLE]) {
      const { end, added } = await resume("permission", "owner-yes", people);
      expect([end, added[1]]).toEqual(["waiting", "call_1:run:1 no longer counts: person"]);
    }
  });

  test("is asked for again if its role is no longer held by anyone who is known", async () => {
    const { end, added } = await resume("permission", "role-yes", NO_ONE);
    expect([end, added[1]]).toEqual(["waiting", "call_1:run:1 no longer counts: person"]);
  });

  test("counts for the other calls of its turn if it was given for all of them", async () => {
    const { record, end, added } = await resume("permission", "turn-yes");
    expect([end, added.filter((line) => / gives: /.test(line))]).toEqual([
      "done",
      ["call_1 gives: paid 500", "call_2 gives: paid 500"],
    ]);
    await expectWhole(record);
  });
});

/** What a yes leads to before there is a result. */
const USED: Readonly<Record<EarlierKind, readonly string[]>> = {
  boolean: ["resumed", "call_1 starts"],
  permission: ["resumed", "call_1 starts"],
  delivery: ["resumed"],
  in_doubt: ["resumed", "call_1 starts"],
};

test.each([
  ["boolean", "call_1 gives: false"],
  ["permission", "call_1 gives: Tool skipped by user: Too much."],
  ["delivery", "call_1 gives: Result delivery skipped by user."],
  ["in_doubt", "call_1 fails: "],
] as const)("a no of 07537306 stands: %s", async (kind, result) => {
  const { record, end, added } = await resume(kind, "no");
  expect([end, added.at(-2), added.at(-1)]).toEqual([
    "done",
    expect.stringContaining(result),
    "message: Done.",
  ]);
  await expectWhole(record);
});

describe("a vote of 07537306", () => {
  const withoutRole = PEOPLE.map((person) =>
    person.name === "bo" ? { ...person, roles: [] } : person,
  );

  test.each<[string, readonly KnownPerson[], string]>([
    ["whoever gave it is known", PEOPLE, "recorded"],
    ["people have ids by now", WITH_IDS, "recorded"],
    ["they are gone", PEOPLE.filter(({ name }) => name !== "bo"), "counted"],
    ["they have lost the role", withoutRole, "counted"],
  ])("counts if whoever gave it may still decide: %s", async (_case, people, type) => {
    for (const kind of KINDS) {
      const { record, scene } = await openWaiting(kind, "last_vote");
      const directory = new KnownPeople("ada", people);
      const given = { ...scene.said, userName: "ada", directory, clock: record.clock };
      const result = await answerInquiry(record.store, scene.item, given);
      const { end, added } = await continueTurn(record, { ...scene.parts, directory });
      const isDone = type === "recorded";
      expect([kind, result.type, end, added.includes(RESULTS[kind])]).toEqual([
        kind,
        type,
        isDone ? "done" : "waiting",
        isDone,
      ]);
      await expectWhole(record);
    }
  });
});

describe("a call that 07537306 left half run", () => {
  const DELIVERY = ["call_1 waits for permission (deliver)"];

  test.each(KINDS)("is in doubt, and runs again only once someone says so: %s", async (kind) => {
    const resumed = await resume(kind, "half-run");
    const { record, end, added, item } = resumed;
    expect([end, added, item?.kind]).toEqual([
      "waiting",
      ["resumed", "call_1 waits for permission (rerun)"],
      "in_doubt",
    ]);
    const answered = await answerNow(resumed, "run");
    // Its result, which it did not get to, is decided about as well.
    const then = kind === "delivery" ? DELIVERY : [RESULTS[kind], "message: Done."];
    expect(answered.added).toEqual(["resumed", "call_1 starts", ...then]);
    await expectWhole(record);
  });
});

test.each(["ada", "bo"])(
  "a question of 07537306 for a name or a role is answered by either: %s",
  async (userName) => {
    const resumed = await resume("boolean", "any-open");
    const { record, earlier, item } = resumed;
    expect({ id: item?.id, digest: item?.digest }).toEqual(earlier);
    const { type, end } = await answerNow(resumed, true, userName);
    expect([type, end]).toEqual(["recorded", "done"]);
    await expectWhole(record);
  },
);
