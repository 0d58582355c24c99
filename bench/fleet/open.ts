/** The CPU time of a client that opens a long conversation, and continues its turn until the tool has run. */
import path from "node:path";
import process from "node:process";
import { type Bench, run } from "../measure.ts";
import { sized } from "../small.ts";
import { Fleet } from "./fleet.ts";

const ROUNDS = sized(40, 2);
const OPEN = "PostgreSQL: open a turn until the tool has run";
const ROWS = [
  { name: `${OPEN}, 300 events`, events: 300, most: 4 },
  { name: `${OPEN}, 30,000 events`, events: sized(30_000), most: 5 },
];
const PROGRAM = path.join(import.meta.dirname, "open-program.mjs");

export const fleetOpen: Bench = {
  rows: ROWS.map(({ name }) => name),
  run: async () => {
    if (process.platform !== "linux") return [];
    await using fleet = await Fleet.start();
    const results = [];
    for (const { name, events, most } of ROWS) {
      const words = [PROGRAM, fleet.url, String(events), String(ROUNDS)];
      const { output } = await run(process.execPath, words);
      const { cpu } = JSON.parse(output) as { readonly cpu: number }; // From our own program.
      results.push({
        name,
        unit: "ms",
        goal: { most },
        figures: { cpu: { value: cpu, noise: 0 } },
        detail: "CPU of a warm process",
      });
    }
    return results;
  },
};
