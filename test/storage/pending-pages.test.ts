/** Pages of pending decisions are those of the record, wherever it is kept and whoever has written it. */
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { answerInquiry, listPending } from "../../src/assemble/index.ts";
import {
  answered,
  at,
  chatRequest,
  inquiry,
  message,
  permission,
  permissionRequest,
  toolCall,
  toolResult,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type ConversationId,
  DECISION_KINDS,
  type InquiryId,
  StreamEntry,
} from "../../src/record/conversation/index.ts";
import { REST, WAITING } from "../../src/stores/open-question.fixture.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { listUnlisted } from "../../src/stores/postgres/pending-page.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import type { ConversationStore, ConversationWriter } from "../../src/stores/index.ts";
import {
  createDesk,
  type DecisionJson,
  type Desk,
  type PendingQuery,
} from "../../src/surfaces/desk/index.ts";
import { Inbox } from "../../src/surfaces/desk/inbox.ts";
import { PendingList } from "../../src/surfaces/desk/pending-list.ts";
import type { DeskChange } from "../../src/surfaces/desk/wire.ts";
import { systemClock } from "../../src/util/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { migratedDatabase } from "../support/postgres.ts";
import { EVERY_STORE } from "./every-store.ts";

/** What has happened to a call. */
const CALL_STATES = [
  "new",
  "permission asked",
  "started",
  "question asked",
  "two questions asked",
  "question answered",
  "delivery asked",
  "done",
] as const;

type CallState = (typeof CALL_STATES)[number];

interface MadeTurn {
  readonly calls: readonly { readonly state: CallState; readonly second: number }[];
  /** How many events are appended at once. */
  readonly together: number;
  readonly end: "released" | "open" | "archived" | "complete";
  readonly isInSecond: boolean;
}

const turns = fc.array(
  fc.record({
    calls: fc.array(
      fc.record({ state: fc.constantFrom(...CALL_STATES), second: fc.integer({ min: 0, max: 2 }) }),
      { maxLength: 3 },
    ),
    together: fc.integer({ min: 1, max: 20 }),
    end: fc.constantFrom("released", "released", "open", "archived", "complete"),
    isInSecond: fc.boolean(),
  }),
  { minLength: 1, maxLength: 8 },
);

/** The events of a call up to a state. */
function eventsOfCall(call: string, state: CallState, second: number): ConversationEvent[] {
  const timestamp = at(second);
  const start = { type: "attempt_start", timestamp, toolCallId: call } as const;
  const ask = (name: string): ConversationEvent => ({
    ...inquiry(`${call}.${name}.1`),
    timestamp,
    toolCallId: call,
    questionId: name,
  });
  const run: ConversationEvent = { ...permissionRequest(call), timestamp };
  const allowed: ConversationEvent = { ...permission(call), id: run.id };
  const states: Readonly<Record<CallState, readonly ConversationEvent[]>> = {
    new: [],
    "permission asked": [run],
    started: [run, allowed, start],
    "question asked": [start, ask("q")],
    "two questions asked": [start, ask("q"), ask("r")],
    "question answered": [start, ask("q"), answered(`${call}.q.1`)],
    "delivery asked": [
      start,
      {
        ...permissionRequest(call, "deliver"),
        timestamp,
        result: { content: "text", isError: false },
      },
    ],
    done: [start, toolResult(call)],
  };
  return [...states[state]];
}

async function leave(
  store: ConversationStore,
  { calls, together, end }: MadeTurn,
): Promise<ConversationWriter | undefined> {
  const names = calls.map((_call, index) => "abc".charAt(index));
  const events = [
    turnStart(),
    chatRequest("Go."),
    ...names.map((name) => toolCall(name)),
    ...calls.flatMap(({ state, second }, index) => eventsOfCall(names[index] ?? "", state, second)),
    ...(end === "complete" ? [...names.map((name) => toolResult(name)), message("Done.")] : []),
  ];
  const writer = await store.create({});
  for (let first = 0; first < events.length; first += together) {
    await writer.append(...events.slice(first, first + together));
  }
  if (end === "open") return writer;
  await writer.release();
  if (end === "archived") await store.archive(writer.id);
  return undefined;
}

type Name = readonly [workspace: string, conversation: string, id: string];

const nameOf = ({ workspace, conversation, id }: DecisionJson): Name => [
  workspace,
  conversation,
  id,
];

/** What is pending, as the records say, in the order of the list. */
async function pendingOnRecord(
  stores: ReadonlyMap<string, ConversationStore>,
  query: PendingQuery,
): Promise<readonly Name[]> {
  const all: (readonly [readonly (string | number)[], Name])[] = [];
  for (const [root, store] of stores) {
    for (const { conversation, id, askedAt, kind } of await listPending(store)) {
      const { entries } = (await store.load(conversation)).stream;
      const asked = entries.findIndex(({ raw }) => raw["id"] === id);
      const isWanted =
        root === (query.workspace ?? root) &&
        conversation === (query.conversation ?? conversation) &&
        kind === (query.kind ?? kind);
      if (isWanted)
        all.push([
          [askedAt, root, conversation, asked],
          [root, conversation, id],
        ]);
    }
  }
  return all.toSorted(([left], [right]) => compareParts(left, right)).map(([, name]) => name);
}

function compareParts(left: readonly (string | number)[], right: readonly (string | number)[]) {
  const index = left.findIndex((part, place) => part !== right[place]);
  const [one = 0, other = 0] = [left[index], right[index]];
  return index === -1 ? 0 : one < other ? -1 : 1;
}

/** All pages, one after the other. */
async function listAll(desk: Desk, query: PendingQuery): Promise<readonly Name[]> {
  const listed: Name[] = [];
  let cursor: string | undefined;
  do {
    const page = await desk.listPending({ ...query, ...(cursor !== undefined && { cursor }) });
    listed.push(...page.items.map(nameOf));
    cursor = page.next;
  } while (cursor !== undefined);
  return listed;
}

interface Round {
  readonly made: readonly MadeTurn[];
  readonly limit: number;
  /** Chooses what is filtered for. */
  readonly which: number;
}

/** What a desk lists, and what the records say. */
interface Compared {
  readonly listed: readonly Name[];
  readonly recorded: readonly Name[];
}

/** Two stores with these turns, before and after something is answered and writers are released. */
async function checkPages(
  create: (typeof EVERY_STORE)[number]["create"],
  { made, limit, which }: Round,
): Promise<readonly Compared[]> {
  const clock = new FakeClock("2026-01-02T03:05:00Z");
  const [first, second] = [await create(clock), await create(clock)];
  const stores = new Map([
    ["/b", first.store],
    ["/a", second.store],
  ]);
  const roots = [...stores].map(([root, conversations]) => ({ root, conversations }));
  const open: (ConversationWriter | undefined)[] = [];
  for (const turn of made) {
    open.push(await leave((turn.isInSecond ? second : first).store, turn));
    clock.advance(200);
  }
  const compared: Compared[] = [];
  const check = async (desk: Desk, query: PendingQuery) => {
    const listed = await listAll(desk, { ...query, limit });
    compared.push({ listed, recorded: await pendingOnRecord(stores, query) });
    return listed;
  };
  const desk = await createDesk(roots, { clock });
  const all = await check(desk, {});
  const [workspace, conversation] = all[which % all.length] ?? ["/a", "jp-c1"];
  const kind = DECISION_KINDS[which % DECISION_KINDS.length] ?? "question";
  await check(desk, { workspace });
  await check(desk, { conversation });
  await check(desk, { kind });
  await check(desk, { workspace, kind });
  for (const writer of open) await writer?.release();
  await desk[Symbol.asyncDispose]();
  const [chosen] = await listPending(first.store);
  if (chosen !== undefined) await answerInquiry(first.store, chosen, { answer: true, clock });
  await using later = await createDesk(roots, { clock });
  await check(later, {});
  for (const { close } of [first, second]) await close?.();
  return compared;
}

describe.each(EVERY_STORE)("pages of what is pending, of $name", ({ create }) => {
  test("have each decision that is pending on record once, in order, for any filter and size", async () => {
    const rounds = fc.record({
      made: turns,
      limit: fc.integer({ min: 1, max: 4 }),
      which: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(rounds, async (round) => {
        for (const { listed, recorded } of await checkPages(create, round)) {
          expect(listed).toEqual(recorded);
        }
      }),
      { numRuns: 12 },
    );
  }, 240_000);
});

/** A store in a database, and the database itself. */
async function openPostgres() {
  const url = await migratedDatabase();
  const workspace = crypto.randomUUID();
  const store = new PostgresStore({ url, workspace, pid: process.pid });
  const database = new Database(url);
  onTestFinished(async () => {
    for (const each of [store, database]) await each.close();
  });
  /** As a version of jp writes that knows no list. */
  const appendAsBefore = (id: ConversationId, ...events: readonly ConversationEvent[]) =>
    database.query({
      text: `with held as (
          update jp.conversations set length = length + cardinality($2::text[]), open_turn = 0,
            changed = pg_current_xact_id()
          where id = $1 and workspace = (select key from jp.workspaces where name = $3)
          returning key, tenant, length
        )
        insert into jp.events (tenant, conversation, seq, entry)
        select tenant, key, length - cardinality($2::text[]) + place - 1, entry
        from held, unnest($2::text[]) with ordinality as added (entry, place)`,
      values: [id, events.map((event) => StreamEntry.fromEvent(event).toText()), workspace],
    });
  const change = (text: string, ...values: readonly unknown[]) =>
    database.query({
      text: text.replaceAll("$WORKSPACE", "(select key from jp.workspaces where name = $1)"),
      values: [workspace, ...values],
    });
  return { url, store, database, appendAsBefore, change };
}

async function leaveTurn(store: ConversationStore, ...events: readonly ConversationEvent[]) {
  await using writer = await store.create({});
  await writer.append(...events);
  return writer.id;
}

async function listedIn(store: ConversationStore): Promise<readonly string[]> {
  await using desk = await createDesk([{ root: "w", conversations: store }]);
  return (await desk.listPending()).items.map(({ conversation, id }) => `${conversation} ${id}`);
}

/** The store, with other methods in place of some of its own. */
function replaced(store: PostgresStore, methods: Partial<ConversationStore>): ConversationStore {
  return new Proxy<ConversationStore>(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const ID = "a.q.1" as InquiryId; // As in the fixture.
const UNKNOWN = "jp-c1" as ConversationId;

/** The turn of `WAITING`, up to its question. */
const ASKING = WAITING.slice(0, -1);
const OTHER = { ...inquiry("b.q.1"), toolCallId: "a", questionId: "q" };

test("what an earlier version of jp asks is listed, and what it records an answer to is not", async () => {
  const { store, appendAsBefore } = await openPostgres();
  const asked = await leaveTurn(store, ...ASKING);
  const ended = await leaveTurn(store, ...WAITING);
  await appendAsBefore(asked, ...WAITING.slice(-1));
  await appendAsBefore(ended, ...REST.slice(0, 1));
  expect(await listedIn(store)).toEqual([`${asked} a.q.1`]);
});

test("a record that an earlier version of jp has replaced by one of the same length is read again", async () => {
  const { store, appendAsBefore, change } = await openPostgres();
  const id = await leaveTurn(store, ...WAITING);
  await change(`with gone as (
      delete from jp.events where conversation = (select key from jp.conversations where workspace = $WORKSPACE)
    ) update jp.conversations set length = 0 where workspace = $WORKSPACE`);
  await appendAsBefore(id, ...ASKING, { ...OTHER, timestamp: at(1) });
  expect(await listedIn(store)).toEqual([`${id} b.q.1`]);
});

test("a place in the list at which nothing is pending on record is not shown", async () => {
  const { store, change } = await openPostgres();
  const id = await leaveTurn(store, ...WAITING);
  await change(`insert into jp.pending (tenant, workspace, conversation, id, asked_at, place, kind)
    select tenant, workspace, key, id, '2026-01-02 03:04:05.0', place, 'permission'
    from jp.conversations, generate_series(0, 3) as place where workspace = $WORKSPACE`);
  expect(await listedIn(store)).toEqual([`${id} a.q.1`]);
});

test("a writer of this version lists again what an earlier one has left out", async () => {
  const { store, appendAsBefore, change } = await openPostgres();
  const id = await leaveTurn(store, ...ASKING);
  await appendAsBefore(id, ...WAITING.slice(-1));
  const unlisted = async () => (await store.listPendingPage({ limit: 9 })).unlisted.length;
  const before = await unlisted();
  await using writer = await store.open(id);
  await writer.append({ ...OTHER, timestamp: at(1) });
  const rows = await change("select place from jp.pending where workspace = $WORKSPACE");
  expect([before, await unlisted(), rows]).toEqual([1, 0, [{ place: 4 }, { place: 5 }]]);
});

test("a place goes with the answer, whoever records it", async () => {
  const { store, change } = await openPostgres();
  const id = await leaveTurn(store, ...WAITING);
  await leaveTurn(store, ...WAITING, ...REST);
  const rows = () => change("select id from jp.pending where workspace = $WORKSPACE");
  const before = await rows();
  await answerInquiry(store, `${id}/a.q.1`, { answer: true });
  expect([before, await rows()]).toEqual([[{ id }], []]);
});

test("a migration lists what waits in turns of earlier versions, and leaves out what only the record can say", async () => {
  const { url, store, database, change } = await openPostgres();
  const waiting = await leaveTurn(store, ...WAITING);
  const running = await leaveTurn(store, ...ASKING);
  const complete = await leaveTurn(store, ...WAITING);
  await change("update jp.conversations set pending_length = null where workspace = $WORKSPACE");
  await change(
    "update jp.conversations set open_turn = null where workspace = $WORKSPACE and id = $2",
    complete,
  );
  await change("delete from jp.pending where workspace = $WORKSPACE and id = $2", waiting);
  for (let time = 0; time < 2; time += 1) await listUnlisted(database, url);
  const { places, unlisted } = await store.listPendingPage({ limit: 9 });
  const rows = await change("select id from jp.pending where workspace = $WORKSPACE");
  expect([places.map(({ id }) => id), unlisted.map(({ id }) => id), rows]).toEqual([
    [waiting],
    [running],
    [{ id: waiting }],
  ]);
});

test("a page has what the desk has heard nothing of, also in turns that are in no page", async () => {
  const { store, appendAsBefore } = await openPostgres();
  const deaf = replaced(store, { watch: () => ({ [Symbol.dispose]: () => undefined }) });
  await using desk = await createDesk([{ root: "w", conversations: deaf }]);
  const listed = async () => (await desk.listPending()).items.map(({ id }) => id);
  const id = await leaveTurn(store, ...ASKING);
  const first = await listed();
  await appendAsBefore(id, ...WAITING.slice(-1));
  const second = await listed();
  await appendAsBefore(id, ...REST.slice(0, 1));
  expect([first, second, await listed()]).toEqual([["a:rerun:1"], ["a.q.1"], []]);
});

test("a desk reads only the turns that it shows", async () => {
  const { store } = await openPostgres();
  for (let count = 0; count < 12; count += 1) await leaveTurn(store, ...WAITING);
  let read = 0;
  const counting = replaced(store, {
    listPending: async (options) => {
      const found = await store.listPending(options);
      read += found.filter(({ entries }) => entries.length > 0).length;
      return found;
    },
  });
  await using desk = await createDesk([{ root: "w", conversations: counting }]);
  const atStart = read;
  const { items } = await desk.listPending({ limit: 5 });
  expect([atStart, items.length, read]).toEqual([0, 5, 5]);
});

test("an answer to what a client was shown is told, also if the desk has forgotten it since", async () => {
  const { store } = await openPostgres();
  const ids = [await leaveTurn(store, ...WAITING), await leaveTurn(store, ...WAITING)];
  const told: DeskChange[] = [];
  const listener = {
    emit: (change: DeskChange) => void told.push(change),
    onProblem: () => undefined,
    list: new PendingList(),
    maxKnown: 1,
  };
  const workspace = { root: "w", conversations: store };
  await using inbox = new Inbox(workspace, listener, systemClock);
  await inbox.start();
  const shown = await inbox.read(await inbox.after(undefined, 9, {}));
  for (const id of ids) {
    await answerInquiry(store, `${id}/a.q.1`, { answer: true, userName: "Ada" });
    await inbox.refresh(id);
  }
  const answers = told.flatMap(({ type, data }) => (type === "answered" ? [data] : []));
  expect([shown.size, inbox.find(ids[0] ?? UNKNOWN, ID)]).toEqual([2, undefined]);
  for (const conversation of ids) {
    expect(answers).toContainEqual(
      expect.objectContaining({ conversation, id: ID, outcome: "answered" }),
    );
  }
});
