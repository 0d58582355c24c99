/** Workers on a real database: they take up turns that others have left. */
import { generateKeyPairSync } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { at } from "../../src/record/conversation/events.fixture.ts";
import { type ConversationId, eventsOf } from "../../src/record/conversation/index.ts";
import {
  answerInquiry,
  defineTool,
  enqueueTurn,
  listPending,
  migrateStore,
  type RecoveredTurn,
  runTurn,
  runWorker,
  type WorkerOptions,
} from "../../src/index.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import type { ModelRequest } from "../../src/reach/provider/index.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { FakeClock, ScriptedModel } from "../../src/testing/index.ts";
import { booleanQuestion } from "../../src/record/tool/index.ts";
import { JpError } from "../../src/util/index.ts";
import { migratedDatabase } from "../support/postgres.ts";
import { Relay } from "../support/postgres-relay.ts";
import { CALL, payTool } from "./pay-tool.ts";

/** How a connection asks for notifications. */
const LISTEN = 'listen "jp"';

/** A workspace of its own, and workers on it that stop with the test. */
async function openFleet() {
  const url = await migratedDatabase();
  await migrateStore(url);
  const workspace = crypto.randomUUID();
  const database = new Database(url);
  const open = () => new PostgresStore({ url, workspace, pid: process.pid });
  const store = open();
  const workers: { readonly stop: () => void; readonly ended: Promise<void> }[] = [];
  onTestFinished(async () => {
    for (const { stop } of workers) stop();
    await Promise.all(workers.map(({ ended }) => ended));
    await store.close();
    await database.close();
  });
  /** What became of the turns, one after the other. */
  const startWorker = (options: Omit<WorkerOptions, "store">, own = open()) => {
    const turns: RecoveredTurn[] = [];
    let tell = Promise.withResolvers<void>();
    const stopping = new AbortController();
    const worker = runWorker({
      ...options,
      signal: stopping.signal,
      store: own,
      onTurn: (turn) => {
        turns.push(turn);
        tell.resolve();
        tell = Promise.withResolvers();
      },
    });
    const stop = () => stopping.abort();
    const ended = worker.finally(() => own.close());
    workers.push({ stop, ended });
    const nextTurn = async (): Promise<RecoveredTurn> => {
      while (turns.length === 0) await tell.promise;
      return turns.shift() as RecoveredTurn; // There is one.
    };
    return { nextTurn, stop, ended };
  };
  return { store, database, url, workspace, startWorker };
}

/** Leaves a message to workers. */
async function leave(store: PostgresStore, message: string): Promise<ConversationId> {
  await using conversation = await store.create({});
  await enqueueTurn(conversation, message);
  return conversation.id;
}

function textOf(turn: RecoveredTurn): string | undefined {
  return turn.type === "resumed" ? `${turn.turn.type}: ${turn.turn.text}` : turn.error.message;
}

test("a message that is enqueued is answered by a worker", async () => {
  const { store, startWorker } = await openFleet();
  const { nextTurn } = startWorker({ turn: { model: new ScriptedModel({ replies: ["Hi."] }) } });
  const id = await leave(store, "Hello?");
  expect(textOf(await nextTurn())).toBe("done: Hi.");
  const { stream } = await store.load(id);
  expect([...eventsOf(stream.entries)].map(({ type }) => type)).toEqual([
    "turn_start",
    "chat_request",
    "turn_resume",
    "chat_response",
  ]);
});

test("a turn that waits goes on at a worker once someone has answered, and its tool runs once", async () => {
  const { store, startWorker } = await openFleet();
  const seen: unknown[] = [];
  const tools = [payTool(seen)];
  const conversation = await store.create({});
  const asking = new ScriptedModel({ replies: [[CALL]] });
  await runTurn({ conversation, model: asking, tools, defer: true }, "Pay.");
  await conversation.release();
  const { nextTurn } = startWorker({
    turn: { model: new ScriptedModel({ replies: ["It is paid."] }), tools },
  });
  const [item] = await listPending(store);
  expect(await answerInquiry(store, item ?? "", { answer: true })).toEqual({ type: "recorded" });
  expect(textOf(await nextTurn())).toBe("done: It is paid.");
  expect(seen).toEqual([true]);
});

test("a turn goes on although no worker has heard its wake-up", async () => {
  const { store, startWorker } = await openFleet();
  await leave(store, "Hello?");
  const { nextTurn } = startWorker({ turn: { model: new ScriptedModel({ replies: ["Hi."] }) } });
  expect(textOf(await nextTurn())).toBe("done: Hi.");
});

test("a worker behind a pooler that passes no notifications on says so once, and finds turns by looking", async () => {
  const { store, url, workspace, startWorker } = await openFleet();
  await using relay = await Relay.start(url, (_message, text) =>
    text.includes(LISTEN) ? text.replace(LISTEN, "select 1+1 ") : true,
  );
  const own = new PostgresStore({ url: relay.url, workspace, pid: process.pid });
  const problems: Error[] = [];
  const told = Promise.withResolvers<void>();
  const onProblem = (problem: Error) => {
    problems.push(problem);
    told.resolve();
  };
  const model = new ScriptedModel({ replies: ["Hi.", "Bye."] });
  const { nextTurn } = startWorker({ turn: { model }, onProblem }, own);
  await leave(store, "Hello?");
  expect(textOf(await nextTurn())).toBe("done: Hi.");
  await told.promise;
  await leave(store, "Bye?");
  expect(textOf(await nextTurn())).toBe("done: Bye.");
  expect(problems).toEqual([expect.objectContaining({ code: "no_notifications" })]);
});

test("wake-ups that anyone could have sent change nothing", async () => {
  const { store, database, startWorker } = await openFleet();
  const started = Promise.withResolvers<unknown>();
  const problems: Error[] = [];
  const { nextTurn } = startWorker({
    turn: { model: new ScriptedModel({ replies: ["Hi."] }) },
    onStart: started.resolve,
    onProblem: (problem) => problems.push(problem),
  });
  await started.promise;
  const [place] = await database.query<{ readonly key: string }>({
    text: "select max(key) as key from jp.workspaces",
  });
  const prefix = `w${place?.key}:37a8eec1ce19687d`;
  for (const payload of ["", "w", `${prefix}:`, `${prefix}:../x`, `${prefix}:jp-c1`, "e", "c:x"]) {
    await database.query({ text: "select pg_notify('jp', $1)", values: [payload] });
  }
  const id = await leave(store, "Hello?");
  const turn = await nextTurn();
  expect([turn.conversation, textOf(turn), problems]).toEqual([id, "done: Hi.", []]);
});

test("a turn whose tool is missing at one worker is taken by another, and counts as no failure", async () => {
  const { store, database, startWorker } = await openFleet();
  let tries = 0;
  const without = startWorker({
    turn: async () => {
      tries += 1;
      throw new JpError("tool_not_here", "This machine has no tool pay.");
    },
  });
  const id = await leave(store, "Hello?");
  expect(textOf(await without.nextTurn())).toBe("This machine has no tool pay.");
  const text = `select failures, ready_at <= extract(epoch from clock_timestamp()) * 1000 as is_ready
    from jp.conversations where id = $1 and lease_owner is null`;
  const row = () => database.query({ text, values: [id] });
  await expect.poll(row).toEqual([{ failures: 0, is_ready: true }]);
  const { nextTurn } = startWorker({ turn: { model: new ScriptedModel({ replies: ["Hi."] }) } });
  expect([textOf(await nextTurn()), tries]).toEqual(["done: Hi.", 1]);
});

test("a turn that is signed by a key which the worker does not accept is left alone", async () => {
  const { database, url, workspace, startWorker } = await openFleet();
  const openSigned = () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    return new PostgresStore({ url, workspace, pid: 1, keys: async () => ({ privateKey }) });
  };
  const [others, own] = [openSigned(), openSigned()];
  onTestFinished(() => others.close());
  const { promise: started, resolve: onStart } = Promise.withResolvers<unknown>();
  const turn = { model: new ScriptedModel({ replies: ["Hi."] }) };
  const { nextTurn } = startWorker({ turn, onStart }, own);
  await started; // From now on, it hears wake-ups.
  const foreign = await leave(others, "Do as I say.");
  const mine = await leave(own, "Hello?");
  expect((await nextTurn()).conversation).toBe(mine);
  const [row] = await database.query<{ readonly epoch: string; readonly length: number }>({
    text: `select c.epoch, c.length from jp.conversations c join jp.workspaces w on w.key = c.workspace
      where c.id = $1 and w.name = $2`,
    values: [foreign, workspace],
  });
  // Once by whoever has left it, and once by the worker, which did not take it up again.
  expect([Number(row?.epoch) <= 2, row?.length]).toEqual([true, 2]);
});

test("a turn whose process is gone goes on elsewhere once its lease has run out", async () => {
  const { store, database, workspace, startWorker } = await openFleet();
  const frozen = await store.create({});
  await enqueueTurn(frozen, "Hello?");
  await database.query({
    text: `update jp.conversations c set lease_until = now() - interval '1 second'
      from jp.workspaces w where w.key = c.workspace and w.name = $1`,
    values: [workspace],
  });
  const { nextTurn } = startWorker({ turn: { model: new ScriptedModel({ replies: ["Hi."] }) } });
  expect(textOf(await nextTurn())).toBe("done: Hi.");
  await expect(
    frozen.append({ type: "turn_end", timestamp: at(1), reason: "stopped" }),
  ).rejects.toThrow("another process has taken it over");
});

test("a worker takes only what is left to it", async () => {
  const { store, startWorker } = await openFleet();
  const others = await store.create({});
  await enqueueTurn(others, "For others.", { queue: "with a GPU" });
  await others.release();
  const { nextTurn } = startWorker({ turn: { model: new ScriptedModel({ replies: ["Hi."] }) } });
  const own = await store.create({});
  await enqueueTurn(own, "For everyone.");
  await own.release();
  expect((await nextTurn()).conversation).toBe(own.id);
  const gpu = startWorker({
    queue: "with a GPU",
    turn: { model: new ScriptedModel({ replies: ["Beep."] }) },
  });
  expect([(await gpu.nextTurn()).conversation, (await store.load(own.id)).id]).toEqual([
    others.id,
    own.id,
  ]);
});

test("a turn that fails is tried again", async () => {
  const { store, startWorker } = await openFleet();
  await leave(store, "Hello?");
  const { nextTurn } = startWorker({
    turn: async () => {
      throw new Error("no config");
    },
  });
  expect([textOf(await nextTurn()), textOf(await nextTurn())]).toEqual(["no config", "no config"]);
});

test("the pause before the next try grows, until there is none", async () => {
  const { store, database } = await openFleet();
  const created = await store.create({});
  await enqueueTurn(created, "Hello?");
  await created.release();
  const pauses: (number | undefined)[] = [];
  for (let count = 0; count < 10; count += 1) {
    const now = Date.now();
    const conversation = await store.open(created.id);
    conversation.leaveTo?.({ failure: "retry" });
    await conversation.release();
    const [row] = await database.query<{ readonly at: string | null }>({
      text: "select ready_at as at from jp.conversations where id = $1",
      values: [created.id],
    });
    pauses.push(row?.at == null ? undefined : Math.floor((Number(row.at) - now) / 1000));
  }
  const least = [1, 2, 4, 8, 16, 32, 64, 128, 256];
  expect(pauses.map((pause, index) => pause !== undefined && pause >= (least[index] ?? 0))).toEqual(
    [...least.map(() => true), false],
  );
});

test("a deploy that adds a step while a question waits finishes the turn with it", async () => {
  const { store, startWorker } = await openFleet();
  const conversation = await store.create({});
  const asking = new ScriptedModel({ replies: [[CALL]] });
  await runTurn({ conversation, model: asking, tools: [payTool()], defer: true }, "Pay.");
  await conversation.release();
  const done: string[] = [];
  const newTool = defineTool({
    name: "pay",
    description: "Checks the account, and pays.",
    hasSteps: true,
    parameters: { type: "object", properties: { account: { type: "string" } } },
    async run(_args, { ask, once }) {
      await once("check", async () => done.push("checked"));
      const isSure = await ask(booleanQuestion("sure", "Pay?"));
      const isAgain = await ask(booleanQuestion("really", "Really?"));
      done.push(`paid: ${isSure}, ${isAgain}`);
      return "Paid.";
    },
  });
  const { nextTurn } = startWorker({
    turn: { model: new ScriptedModel({ replies: ["It is paid."] }), tools: [newTool] },
  });
  for (const outcome of ["waiting: ", "done: It is paid."]) {
    const [item] = await listPending(store);
    await answerInquiry(store, item ?? "", { answer: true });
    expect(textOf(await nextTurn())).toBe(outcome);
  }
  expect(done).toEqual(["checked", "paid: true, true"]);
});

test("a turn that has used up its requests is left alone", async () => {
  const { store, database, startWorker } = await openFleet();
  const id = await leave(store, "Hello?");
  const tools = [
    defineTool({
      name: "pay",
      description: "Pays.",
      parameters: { type: "object" },
      run: async () => "Paid.",
    }),
  ];
  const model = new ScriptedModel({ replies: [[CALL]] });
  const { nextTurn } = startWorker({ turn: { model, tools, maxCycles: 1 } });
  expect(textOf(await nextTurn())).toBe("cycle_limit: ");
  const text = "select ready_at from jp.conversations where id = $1 and lease_owner is null";
  const values = [id];
  await expect.poll(() => database.query({ text, values })).toEqual([{ ready_at: null }]);
});

test("a question that no one has answered in time goes on by itself", async () => {
  const { store, startWorker } = await openFleet();
  const clock = new FakeClock();
  const tools = [payTool()];
  const conversation = await store.create({});
  const asking = new ScriptedModel({ replies: [[CALL]] });
  // The clock of the fixture is in the past, and so is the deadline: it is due at once.
  const toolConfig = { pay: { questions: { sure: { deadline: "1m" } } } };
  await runTurn({ conversation, model: asking, tools, toolConfig, defer: true, clock }, "Pay.");
  await conversation.release();
  const { nextTurn } = startWorker({
    turn: { model: new ScriptedModel({ replies: ["No one said."] }), tools, toolConfig },
  });
  expect(textOf(await nextTurn())).toBe("done: No one said.");
});

test("a worker that is stopped lets its turns end", async () => {
  const { store, startWorker } = await openFleet();
  const conversation = await store.create({});
  await enqueueTurn(conversation, "Pay.");
  await conversation.release();
  const started = Promise.withResolvers<void>();
  const done = Promise.withResolvers<string>();
  const tools = [
    defineTool({
      name: "pay",
      description: "Pays.",
      parameters: { type: "object" },
      run: () => {
        started.resolve();
        return done.promise;
      },
    }),
  ];
  const model = new ScriptedModel({ replies: [[CALL], "It is paid."] });
  const { nextTurn, stop, ended } = startWorker({ turn: { model, tools } });
  await started.promise;
  stop();
  done.resolve("Paid.");
  await ended;
  expect(textOf(await nextTurn())).toBe("done: It is paid.");
});

test("a worker that is stopped at any step of its start takes no turn, and ends", async () => {
  const { store, url, workspace } = await openFleet();
  const conversation = await store.create({});
  await enqueueTurn(conversation, "Say it.");
  await conversation.release();
  const model = new ScriptedModel({ replies: ["Said."] });
  const started: number[] = [];
  let steps = 0;
  for (let step = 1; ; step += 1) {
    let isWhole = false;
    const stopping = new AbortController();
    await using relay = await Relay.start(url, (message) => {
      if (message === step) stopping.abort();
      return true;
    });
    const own = new PostgresStore({ url: relay.url, workspace, pid: process.pid });
    await runWorker({
      store: own,
      turn: { model },
      signal: stopping.signal,
      onStart: () => {
        if (stopping.signal.aborted) started.push(step);
        else isWhole = true;
        steps = step;
        stopping.abort();
      },
      graceMs: 0,
    });
    await own.close();
    if (isWhole) break;
  }
  expect([steps > 3, started]).toEqual([true, []]);
});

test("a worker starts although it loses a connection at any step of its start", async () => {
  const { url, workspace } = await openFleet();
  let steps = 0;
  let isLost = true;
  for (let step = 1; isLost; step += 1) {
    isLost = false;
    await using relay = await Relay.start(url, (message) => {
      isLost ||= message === step;
      return message !== step;
    });
    const stopping = new AbortController();
    const own = new PostgresStore({ url: relay.url, workspace, pid: process.pid });
    const model = new ScriptedModel({ replies: [] });
    const onStart = () => stopping.abort();
    await runWorker({ store: own, turn: { model }, signal: stopping.signal, onStart });
    await own.close();
    steps = step;
  }
  expect(steps).toBeGreaterThan(5);
});

test("a worker that stops while the server is killed just ends", async () => {
  const { url, workspace } = await openFleet();
  let goodbyes = 0;
  await using relay = await Relay.start(url, (_message, text) => {
    if (!text.startsWith("X")) return true; // The client's goodbye.
    goodbyes += 1;
    return "killed";
  });
  const own = new PostgresStore({ url: relay.url, workspace, pid: process.pid });
  const stopping = new AbortController();
  const model = new ScriptedModel({ replies: [] });
  const onStart = () => stopping.abort();
  await runWorker({ store: own, turn: { model }, signal: stopping.signal, onStart });
  await own.close();
  await expect.poll(() => goodbyes).toBeGreaterThan(0);
});

test("a worker that may not wait any longer leaves its turns to others", async () => {
  const { store, startWorker } = await openFleet();
  await leave(store, "Hello?");
  const started = Promise.withResolvers<void>();
  const model = {
    id: "slow/slow",
    async *stream({ signal }: ModelRequest) {
      started.resolve();
      await new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
      yield* [];
    },
  };
  const { nextTurn, stop, ended } = startWorker({ turn: { model }, graceMs: 1 });
  await started.promise;
  stop();
  await ended;
  expect(textOf(await nextTurn())).toBe("interrupted: ");
  const next = startWorker({
    turn: { model: new ScriptedModel({ replies: ["Hi."] }) },
  });
  expect(textOf(await next.nextTurn())).toBe("done: Hi.");
});
