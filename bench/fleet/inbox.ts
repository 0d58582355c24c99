/** The built `jp serve` on a database with very many questions: its start, its memory, and how long the first page takes. */
import process from "node:process";
import { memoryOf } from "../desk.ts";
import { type Bench, formatMs, type Result } from "../measure.ts";
import { sized } from "../small.ts";
import { percentile } from "../statistics.ts";
import { fillPending } from "./fill.ts";
import { Fleet } from "./fleet.ts";
import { Crew, prepareSite } from "./site.ts";

const PENDING = sized(100_000);
const ROUNDS = sized(40, 3);
const DESK = "jp serve, 100,000 questions in a database";
const READY = `${DESK}: until it is ready`;
const MEMORY = `${DESK}: peak memory`;
const PAGE = `${DESK}: the 50 oldest`;

export const fleetInbox: Bench = {
  rows: [READY, MEMORY, PAGE],
  run: async (folder) => {
    if (process.platform !== "linux") return [];
    await using fleet = await Fleet.start();
    await fillPending(fleet.url, PENDING, { workspace: fleet.workspace });
    await using crew = new Crew(prepareSite(folder, fleet, []));
    const begin = performance.now();
    await crew.startDesk();
    const started = performance.now() - begin;
    const atStart = memoryOf(crew.desk, "VmRSS");
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const start = performance.now();
      const { items } = await crew.client.pendingPage({ limit: 50 });
      if (items.length !== Math.min(50, PENDING)) throw new Error(`${items.length} are listed.`);
      times.push(performance.now() - start);
    }
    const now = memoryOf(crew.desk, "VmRSS");
    const peak = memoryOf(crew.desk, "VmHWM");
    const [first = 0] = times;
    return [
      timeRow(READY, started, { most: 1000, detail: formatMs(started) }),
      {
        name: MEMORY,
        unit: "MB",
        goal: { most: 150 },
        figures: { size: { value: peak, noise: 0 } },
        detail: `${Math.round(atStart)} MB once it is ready; ${Math.round(now)} MB after ${ROUNDS} pages`,
      },
      timeRow(PAGE, percentile(times, 0.5), {
        most: 30,
        detail: `the first time ${formatMs(first)}; at most ${formatMs(Math.max(...times))}`,
      }),
    ];
  },
};

function timeRow(
  name: string,
  value: number,
  { most, detail }: { readonly most: number; readonly detail: string },
): Result {
  return { name, unit: "ms", goal: { most }, figures: { time: { value, noise: 0 } }, detail };
}
