/** Programs that answer what waits, and workers that take up what was answered. */
import { eventsOf, readTurnProgress, readyAt } from "../../src/record/conversation/index.ts";
import {
  answerAndResume,
  answerInquiry,
  type DecisionAnswer,
  runWorker,
} from "../../src/assemble/index.ts";
import type { ConversationStore } from "../../src/stores/index.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { eventsIn, OTHER_DIGEST, type Scene, TOO_LONG_MS } from "./matrix-scene.ts";
import { each, NOT_EDITABLE, type Surface, user, whileLive } from "./matrix-surface.ts";
import { refused } from "./matrix-table.ts";

export const answerInquirySurface: Surface = {
  name: "answerInquiry",
  by: user("program", "program"),
  exceptions: [NOT_EDITABLE],
  ...each(async (scene) => {
    const { store, item } = scene;
    const answer = async () => codeOf(await answerInquiry(store, item, answerFrom(scene)));
    return { code: await whileLive(scene, answer), events: await eventsIn(scene) };
  }),
};

export const answerAndResumeSurface: Surface = {
  name: "answerAndResume",
  by: user("program", "program"),
  exceptions: [NOT_EDITABLE],
  ...each(async (scene) => {
    const { store, item, parts } = scene;
    const model = new ScriptedModel({ replies: ["Done."] });
    const result = await answerAndResume(store, item, answerFrom(scene), { ...parts, model });
    return { code: codeOf(result), events: await eventsIn(scene) };
  }),
};

/** The answer is on record, no process has the turn open, and a worker takes it up. */
export const workerSurface: Surface = {
  name: "an answer that a worker takes up",
  by: user("program", "program"),
  exceptions: [
    NOT_EDITABLE,
    // It is on no record.
    { kinds: ["secret"], replies: ["yes", "other"], cell: refused("secret_not_asked") },
  ],
  ...each(async (scene) => {
    const { store, item } = scene;
    const result = await answerInquiry(store, item, answerFrom(scene));
    const end = await runOneWorker(scene);
    const isUsed = result.type !== "recorded" || end === "done";
    return { code: isUsed ? codeOf(result) : `not used: ${end}`, events: await eventsIn(scene) };
  }),
};

async function measure() {
  return { ready: 0, oldestReadyMs: 0, waiting: 0 };
}

/** Takes up what can go on in a store that has no workers of its own. Returns how the turn ended, if it was taken up. */
async function runOneWorker({ store, parts, clock }: Scene): Promise<string> {
  const stop = new AbortController();
  let end = "";
  const work: NonNullable<ConversationStore["work"]> = async ({ run }) => {
    const turns = await store.listPending();
    const ready = turns.filter(({ entries }) => {
      const time = readyAt(readTurnProgress(eventsOf(entries)));
      return time !== undefined && time <= clock.now().getTime();
    });
    const running = Promise.all(ready.map(async ({ id }) => run(await store.open(id))));
    void running.then(() => stop.abort());
    return { running: ready.length, measure, stop: async () => void (await running) };
  };
  await runWorker({
    store: { work },
    turn: { ...parts, model: new ScriptedModel({ replies: ["Done."] }) },
    signal: stop.signal,
    onTurn: (turn) => {
      end = turn.type === "resumed" ? turn.turn.type : turn.error.message;
    },
  });
  return end;
}

/** What a program passes on. */
function answerFrom({ said, reply, directory, clock }: Scene): DecisionAnswer {
  if (reply === "late") clock.advance(TOO_LONG_MS);
  const pinned = reply === "wrong_digest" ? { digest: OTHER_DIGEST } : {};
  return { ...said, ...pinned, userName: "ada", directory, clock };
}

function codeOf(result: { readonly type: string; readonly code?: string }): string {
  return result.type === "refused" ? (result.code ?? "") : result.type;
}
