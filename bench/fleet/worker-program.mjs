// A worker on the built library. Its tool notes each run in a table, so that second runs show. Its address, workspace and
// number of slots are arguments; it prints a line once it takes up turns.
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { openStore, runWorker } from "jp-ts";
import { Pool } from "pg";
import { createTurnParts } from "./turns.mjs";

setFlagsFromString("--optimize-for-size"); // As `jp worker` does.
const [url, workspace, concurrency] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, max: 2 });
pool.on("error", () => undefined);
const stop = new AbortController();
process.on("SIGTERM", () => stop.abort());
const store = await openStore(url, { workspace });
await runWorker({
  store,
  turn: ({ id }) => createTurnParts(id, pool),
  concurrency: Number(concurrency),
  signal: stop.signal,
  onStart: () => process.stdout.write("ready\n"),
  onTurn: (turn) => {
    if (turn.type === "failed")
      process.stderr.write(`${turn.conversation}: ${turn.error.message}\n`);
  },
  onProblem: ({ message }) => process.stderr.write(`${message}\n`),
});
await store.close();
await pool.end();
