import { expect, test } from "vitest";
import { ScriptedModel } from "../testing/index.ts";
import { runWorker } from "./index.ts";

async function measure() {
  return { ready: 0, oldestReadyMs: 0, waiting: 0 };
}

test("a worker that is stopped while its store is being opened stops at once", async () => {
  const stop = new AbortController();
  const done: string[] = [];
  const work = async () => {
    stop.abort();
    return { running: 0, measure, stop: async () => void done.push("stopped") };
  };
  const turn = { model: new ScriptedModel({ replies: [] }) };
  await runWorker({ store: { work }, turn, signal: stop.signal });
  expect(done).toEqual(["stopped"]);
});
