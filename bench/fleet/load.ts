/** Many waiting turns in a database: the time from an answer until its turn continues, and the throughput. */
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { answerInquiry, listPending, type PendingDecision } from "../../src/index.ts";
import { type Bench, formatMs } from "../measure.ts";
import { sized } from "../small.ts";
import { percentile } from "../statistics.ts";
import { fillPending } from "./fill.ts";
import { Fleet } from "./fleet.ts";

const PENDING = sized(100_000);
const PER_SECOND = 20;
const PACED = sized(600, 10);
const SATURATED = sized(3000, 20);
/** Warm-up turns, which do not count. */
const FIRST = sized(200, 5);
const CLIENTS = 16;
const SLOTS = 8;

const AMONG = "two workers, 100,000 questions pending";
const ROWS = {
  median: `${AMONG}: from an answer to the turn, 20 a second (p50)`,
  late: `${AMONG}: from an answer to the turn, 20 a second (p99)`,
  each: `${AMONG}: each turn, when saturated`,
  memory: `${AMONG}: peak memory of a worker`,
};

export const fleetLoad: Bench = {
  rows: Object.values(ROWS),
  run: async () => {
    if (process.platform !== "linux") return [];
    await using fleet = await Fleet.start();
    await fillPending(fleet.url, PENDING, { workspace: fleet.workspace });
    await fleet.leaveTurns(FIRST + PACED + SATURATED);
    const items = shuffled(await listPending(fleet.store, { labels: { is: "answered" } }));
    const workers = [await fleet.startWorker(SLOTS), await fleet.startWorker(SLOTS)];
    await answerAll(fleet, items.splice(0, FIRST));
    await fleet.untilIdle();
    const times = await answerPaced(fleet, items.splice(0, PACED));
    await fleet.untilIdle();
    const begin = performance.now();
    await answerAll(fleet, items);
    const acked = performance.now() - begin;
    await fleet.untilIdle();
    const took = performance.now() - begin;
    const memory = Math.max(...workers.map(({ peakMemory }) => peakMemory));
    const perSecond = (SATURATED * 1000) / took;
    const runs = await fleet.countRuns();
    if ([...runs.values()].some((count) => count !== 1)) throw new Error("A tool ran twice.");
    if (runs.size !== FIRST + PACED + SATURATED) throw new Error("A tool has not run.");
    return [
      {
        name: ROWS.median,
        unit: "ms",
        goal: { most: 25 },
        figures: { time: { value: percentile(times, 0.5), noise: 0 } },
        detail: `${times.length} answers`,
      },
      {
        name: ROWS.late,
        unit: "ms",
        goal: { most: 25 },
        figures: { time: { value: percentile(times, 0.99), noise: 0 } },
        detail: `at most ${formatMs(Math.max(...times))}`,
      },
      {
        name: ROWS.each,
        unit: "ms",
        goal: { most: 1000 / 250, text: "250 a second" },
        figures: { time: { value: took / SATURATED, noise: 0 } },
        detail: `${perSecond.toFixed(0)} a second; answers alone ${((SATURATED * 1000) / acked).toFixed(0)}`,
      },
      {
        name: ROWS.memory,
        unit: "MB",
        goal: { most: 150 },
        figures: { size: { value: memory, noise: 0 } },
        detail: `${SLOTS} turns at once`,
      },
    ];
  },
};

/** As fast as several clients can. */
async function answerAll(fleet: Fleet, items: readonly PendingDecision[]): Promise<void> {
  const left = [...items];
  const client = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await answer(fleet, item);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

/** Answers at a fixed pace, however long each takes. Resolves to the times until the tools continued. */
async function answerPaced(
  fleet: Fleet,
  items: readonly PendingDecision[],
): Promise<readonly number[]> {
  const waiting = new Map<string, (time: number) => void>();
  const listening = await fleet.database.connect();
  listening.on("notification", ({ payload = "" }) => waiting.get(payload)?.(performance.now()));
  await listening.query("listen bench");
  const begin = performance.now();
  const times = await Promise.all(
    items.map(async (item, index) => {
      const due = begin + (index * 1000) / PER_SECOND;
      await sleep(Math.max(0, due - performance.now()));
      const ran = Promise.withResolvers<number>();
      waiting.set(item.conversation, ran.resolve);
      const sent = performance.now();
      await answer(fleet, item);
      return (await ran.promise) - sent;
    }),
  );
  await listening.end();
  return times;
}

async function answer({ store }: Fleet, item: PendingDecision): Promise<void> {
  const { type } = await answerInquiry(store, item, { answer: true });
  if (type !== "recorded") throw new Error(`An answer was ${type}.`);
}

function shuffled<Value>(values: readonly Value[]): Value[] {
  return values
    .map((value) => ({ value, place: Math.random() }))
    .toSorted((one, two) => one.place - two.place)
    .map(({ value }) => value);
}
