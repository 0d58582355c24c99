import { describe, expect, test } from "vitest";
import {
  ModelTurn,
  type ModelTurnOptions,
  unfinished,
  settle,
  until,
} from "./model-turn.fixture.ts";
import { asker, echo, SlowTool } from "./turn-tools.fixture.ts";
import type { ConversationEvent } from "../../record/conversation/index.ts";
import { StorageError } from "../../stores/index.ts";

const call = (id: string, name: string) => ({ type: "tool_call", id, name }) as const;
const diskFull = new StorageError("write_failed", "Cannot write: the disk is full.");

/** A turn with everything: reasoning, texts, permissions, questions to a person and a model, deliveries. */
const EVERYTHING: ModelTurnOptions = {
  tools: [asker, { ...asker, name: "nosy" }, echo],
  config: {
    nosy: { questions: { sure: { target: "assistant" } } },
    echo: { run: "ask", result: "ask" },
  },
  script: {
    answers: [{ answer: true }],
    permissions: [{ type: "run", isRemembered: true }],
    deliveries: [{ type: "deliver" }, { type: "withhold" }],
  },
  answers: { "b.sure.1": false },
  replies: [
    [
      { type: "reasoning", text: "Hm", metadata: { signature: "s" } },
      { type: "text", text: "Looking" },
      call("a", "asker"),
      call("b", "nosy"),
      call("c", "echo"),
      { type: "text", text: "at it" },
    ],
    [unfinished("Half "), { type: "cut" }],
    [call("d", "echo"), unfinished("and half "), { type: "cut" }],
    "All done",
  ],
};

const length = await countWrites(EVERYTHING);

async function countWrites(options: ModelTurnOptions): Promise<number> {
  let writes = 0;
  const turn = await ModelTurn.create({ ...options, beforeAppend: () => void (writes += 1) });
  await turn.run();
  return writes;
}

/** A record whose writes fail from one event on, or only there. */
function failing(at: number, isForGood: boolean) {
  const seen = { appends: 0, failed: undefined as ConversationEvent | undefined };
  const beforeAppend = (events: readonly ConversationEvent[]) => {
    const place = seen.appends;
    seen.appends += 1;
    if (place < at || (place > at && !isForGood)) return;
    seen.failed ??= events[0];
    throw diskFull;
  };
  return { seen, beforeAppend };
}

describe.each([
  ["for good", true],
  ["once", false],
])("a record that is not writable %s", (_how, isForGood) => {
  test.each(Array.from({ length }, (_, place) => place))(
    "ends the turn at write %d, and nothing is left behind",
    async (place) => {
      const { seen, beforeAppend } = failing(place, isForGood);
      const turn = await ModelTurn.create({ ...EVERYTHING, beforeAppend });
      await expect(turn.run()).rejects.toBe(diskFull);
      const { appends } = seen;
      const recorded = turn.record.length;
      await settle();
      const observed = turn.updates.filter(({ type }) => type === "event").length;
      expect({ appends: seen.appends, recorded: turn.record.length, observed }).toEqual({
        appends,
        recorded,
        observed: recorded,
      });
    },
  );
});

test("a call that cannot be recorded does not run", async () => {
  const slow = new SlowTool();
  const turn = await ModelTurn.create({
    tools: [slow],
    replies: [[call("a", "slow")]],
    ...failing(2, false),
  });
  await expect(turn.run()).rejects.toBe(diskFull);
  expect(slow.starts).toBe(0);
});

test("running tools are cancelled if another's result cannot be recorded", async () => {
  const slow = new SlowTool();
  const turn = await ModelTurn.create({
    tools: [slow, echo],
    replies: [[call("a", "slow"), call("b", "echo")]],
    beforeAppend: async (events) => {
      if (!events.some((event) => event.type === "tool_call_response" && event.id === "b")) return;
      await until(() => slow.starts === 1);
      throw diskFull;
    },
  });
  await expect(turn.run()).rejects.toBe(diskFull);
  expect([slow.starts, slow.cancellations]).toEqual([1, 1]);
});

test.each([
  ["a complete text", { type: "text", text: "more" } as const],
  ["an unfinished text", unfinished("more ")],
])("no one is asked about a call if %s after it cannot be recorded", async (_what, step) => {
  const turn = await ModelTurn.create({
    tools: [echo],
    config: { echo: { run: "ask" } },
    replies: [[call("a", "echo"), step]],
    beforeAppend: (events) => {
      if (events.some(({ type }) => type === "chat_response")) throw diskFull;
    },
  });
  await expect(turn.run()).rejects.toBe(diskFull);
  expect([turn.prompter.permissions, turn.record]).toEqual([[], ["turn", "person: Hello"]]);
});

test("a failed write is thrown even if the person has left meanwhile", async () => {
  const writing = Promise.withResolvers<void>();
  const written = Promise.withResolvers<void>();
  const turn = await ModelTurn.create({
    hasMenu: false,
    replies: ["Hi"],
    beforeAppend: async (events) => {
      if (!events.some(({ type }) => type === "chat_response")) return;
      writing.resolve();
      await written.promise;
      throw diskFull;
    },
  });
  const end = turn.run();
  await writing.promise;
  turn.press();
  written.resolve();
  await expect(end).rejects.toBe(diskFull);
});
