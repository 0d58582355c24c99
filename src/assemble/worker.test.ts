import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { ScriptedModel } from "../testing/index.ts";
import type { ConversationWriter, WorkOptions } from "../stores/index.ts";
import { runWorker, takeTurns } from "./index.ts";

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

test("a worker that may not wait any longer stops its turns, and ends once they have ended", async () => {
  const stop = new AbortController();
  const done: string[] = [];
  const conversation = {
    id: "jp-c1",
    release: async () => void done.push("released"),
  } as unknown as ConversationWriter;
  const work = async ({ run }: WorkOptions) => {
    const running = run(conversation);
    stop.abort();
    const ended = async () => void (await running);
    return { running: 1, measure, stop: ended };
  };
  await takeTurns({
    store: { work },
    signal: stop.signal,
    graceMs: 0,
    resume: async (_conversation, stopped) => {
      await once(stopped, "abort");
      await setImmediate();
      done.push("ended");
      return undefined;
    },
    onEnd: (_id, { type }) => done.push(type),
  });
  expect(done).toEqual(["ended", "released", "ended"]);
});
