/** A worker of `npm run bench -- --fleet`. Its tool notes each run in a table, so that second runs show. */
import process from "node:process";
import { runWorker } from "../../src/index.ts";
import { Database } from "../../src/storage/postgres/database.ts";
import { PostgresStore } from "../../src/storage/postgres/postgres-store.ts";
import { createTurnParts } from "./turns.ts";

const [url = "", workspace = "", concurrency = "8"] = process.argv.slice(2);
const database = new Database(url);
const stop = new AbortController();
process.on("SIGTERM", () => stop.abort());
await runWorker({
  store: new PostgresStore({ url, workspace, pid: process.pid }),
  turn: (conversation) => createTurnParts(database, conversation.id),
  concurrency: Number(concurrency),
  signal: stop.signal,
  onStart: () => process.stdout.write("ready\n"),
  onTurn: (turn) => {
    if (turn.type === "failed")
      process.stderr.write(`${turn.conversation}: ${turn.error.message}\n`);
  },
  onProblem: ({ message }) => process.stderr.write(`${message}\n`),
});
process.exit(0);
