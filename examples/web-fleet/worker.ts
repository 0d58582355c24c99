/** Runs the turns of the refund service. Start as many as you like, on as many machines. */
import process from "node:process";
import { runWorker } from "jp-ts";
import { store, turn } from "./turns.ts";

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => stopping.abort());

const log = (line: string) => process.stdout.write(`${line}\n`);
await runWorker({
  store,
  turn: ({ id }) => {
    log(`${id} runs`);
    return turn;
  },
  // On SIGTERM, turns have 20 seconds to end. Then they are left to another worker.
  signal: stopping.signal,
  onStart: () => log("ready"),
  onTurn: (end) => {
    const { conversation: id } = end;
    log(end.type === "failed" ? `${id} failed: ${end.error.message}` : `${id} ${end.turn.type}`);
  },
  onProblem: ({ message }) => log(`problem: ${message}`),
});
await store.close?.();
