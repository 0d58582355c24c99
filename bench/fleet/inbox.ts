/** The built `jp serve` on a database with very many questions: how long the first page takes. */
import process from "node:process";
import { type Bench, formatMs } from "../measure.ts";
import { sized } from "../small.ts";
import { percentile } from "../statistics.ts";
import { fillPending } from "./fill.ts";
import { Fleet } from "./fleet.ts";
import { Crew, prepareSite } from "./site.ts";

const PENDING = sized(100_000);
const ROUNDS = sized(40, 3);
const NAME = "jp serve, 100,000 questions in a database: the 50 oldest";

export const fleetInbox: Bench = {
  rows: [NAME],
  run: async (folder) => {
    if (process.platform !== "linux") return [];
    await using fleet = await Fleet.start();
    await fillPending(fleet.url, PENDING, { workspace: fleet.workspace });
    await using crew = new Crew(prepareSite(folder, fleet, []));
    const begin = performance.now();
    await crew.startDesk();
    const started = performance.now() - begin;
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const start = performance.now();
      const { items } = await crew.client.pendingPage({ limit: 50 });
      if (items.length !== Math.min(50, PENDING)) throw new Error(`${items.length} are listed.`);
      times.push(performance.now() - start);
    }
    return [
      {
        name: NAME,
        unit: "ms",
        goal: { most: 30 },
        figures: { time: { value: percentile(times, 0.5), noise: 0 } },
        detail: `at most ${formatMs(Math.max(...times))}; ready after ${formatMs(started)}`,
      },
    ];
  },
};
