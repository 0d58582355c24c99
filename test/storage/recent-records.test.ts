/** A process remembers the records that it has let go of, and must never take a part of one for the whole. */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import {
  answerInquiry,
  booleanQuestion,
  defineTool,
  listPending,
  openStore,
  runTurn,
} from "../../src/index.ts";
import { turnStart } from "../../src/record/conversation/events.fixture.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { ScriptedModel } from "../../src/testing/index.ts";

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  parameters: { type: "object" },
  run: async (_args, { ask }) => `Paid: ${await ask(booleanQuestion("ok", "Pay?"))}`,
});

/** A conversation of two turns, whose second waits. */
async function leaveQuestion(folder: string) {
  const store = await openStore(folder);
  await using conversation = await store.create({});
  const call = [{ type: "tool_call", id: "call_1", name: "pay" }] as const;
  const model = new ScriptedModel({ replies: ["Hello.", call] });
  await runTurn({ conversation, model }, "Hi.");
  await runTurn({ conversation, model, tools: [pay], defer: true }, "Pay.");
  const { length } = conversation.stream.entries;
  return { store, id: conversation.id, length };
}

function eventsFile(folder: string, id: string): string {
  return path.join(folder, "conversations", id.replace("jp-c", ""), "events.json");
}

test("a conversation that was answered is opened with all of its turns", async () => {
  const folder = temporaryFolder();
  const { store, id, length } = await leaveQuestion(folder);
  // As a process that does not remember it: the answer reads the last turn only.
  const file = eventsFile(folder, id);
  writeFileSync(file, readFileSync(file));
  for (const waiting of await listPending(store)) {
    expect(await answerInquiry(store, waiting, { answer: true })).toMatchObject({
      type: "recorded",
    });
  }
  await using conversation = await store.open(id);
  expect(conversation.stream.entries).toHaveLength(length + 1);
});

test("a conversation that another program has changed meanwhile is read again", async () => {
  const folder = temporaryFolder();
  const { store, id, length } = await leaveQuestion(folder);
  const file = eventsFile(folder, id);
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.slice(0, text.lastIndexOf("\n]")));
  appendFileSync(file, ',\n  {\n    "type": "of_another_program"\n  }\n]\n');
  await using conversation = await store.open(id);
  expect(conversation.stream.entries).toHaveLength(length + 1);
});

test("a conversation is opened again as it was let go of", async () => {
  const { store, id, length } = await leaveQuestion(temporaryFolder());
  await using conversation = await store.open(id);
  expect(conversation.stream.entries).toHaveLength(length);
  expect(conversation.isOwnTurn).toBe(true);
});

test("what waits is listed with the last turn only, also from a record that is remembered", async () => {
  const { store, id, length } = await leaveQuestion(temporaryFolder());
  const [turn] = await store.listPending({ id });
  expect(turn?.entries.at(0)?.eventType).toBe("turn_start");
  expect(turn?.entries.length).toBeLessThan(length);
});

test("what waits is no longer listed once another program has taken its turn out of the record", async () => {
  const folder = temporaryFolder();
  const { store, id } = await leaveQuestion(folder);
  const file = eventsFile(folder, id);
  const elements = JSON.parse(readFileSync(file, "utf8")) as { readonly type?: string }[];
  const start = elements.findLastIndex(({ type }) => type === "turn_start");
  writeFileSync(file, `${JSON.stringify(elements.slice(0, start), null, 2)}\n`);
  expect(await listPending(store)).toEqual([]);
});

test("what was read of a record stays as it was while the next writer adds to it", async () => {
  const store = await openStore(temporaryFolder());
  const call = [{ type: "tool_call", id: "call_1", name: "pay" }] as const;
  const model = new ScriptedModel({ replies: [call, "Done."] });
  const first = await store.create({});
  await runTurn({ conversation: first, model, tools: [pay], defer: true }, "Pay.");
  await first.release();
  const [turn] = await store.listPending({});
  const loaded = await store.load(first.id);
  const lengths = () => ({
    first: first.stream.entries.length,
    end: first.stream.end?.length,
    loaded: loaded.stream.entries.length,
    turn: turn?.entries.length,
  });
  const { length } = loaded.stream.entries;
  await using second = await store.open(first.id);
  await second.append(turnStart());
  expect({ ...lengths(), isLonger: second.stream.entries.length > length }).toEqual({
    first: length,
    end: undefined,
    loaded: length,
    turn: length,
    isLonger: true,
  });
});

test("a conversation whose base config is in its record still has it when it is opened again", async () => {
  const folder = temporaryFolder();
  const { store, id, length } = await leaveQuestion(folder);
  const file = eventsFile(folder, id);
  const elements = JSON.parse(readFileSync(file, "utf8")) as readonly unknown[];
  const delta = { assistant: { name: "packed" } };
  const base = { type: "config_delta", timestamp: "2026-01-02 03:04:05.0", delta };
  writeFileSync(file, `${JSON.stringify([base, ...elements], null, 2)}\n`);
  rmSync(path.join(path.dirname(file), "base_config.json"));
  const open = async () => {
    await using conversation = await store.open(id);
    const { baseConfig, entries } = conversation.stream;
    return { baseConfig, length: entries.length };
  };
  const first = await open();
  expect([first, await open()]).toEqual([first, { baseConfig: delta, length }]);
});
