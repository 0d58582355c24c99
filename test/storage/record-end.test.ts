/** A turn that is taken up after an answer starts with the end of its record, and reads the rest before it asks a model. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import {
  answerAndResume,
  booleanQuestion,
  defineTool,
  listPending,
  type Observer,
  openStore,
  runTurn,
} from "../../src/index.ts";
import { failureOf, time } from "../../src/stores/record-elements.fixture.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { StreamEntry } from "../../src/record/conversation/index.ts";
import { ScriptedModel } from "../../src/testing/index.ts";

/** Together they are much longer than what is read of the end at once. */
const TURNS = 300;

function earlierTurns(): readonly StreamEntry[] {
  return Array.from({ length: TURNS }, (_, index) => {
    const timestamp = time(index);
    const text = `word ${index} `.repeat(50);
    return [
      { type: "turn_start", timestamp } as const,
      { type: "chat_request", timestamp, content: `question ${index}` } as const,
      { type: "chat_response", timestamp, content: { type: "message", text } } as const,
    ].map((event) => StreamEntry.fromEvent(event));
  }).flat();
}

/** Called as the tool goes on. */
interface ToolSteps {
  readonly onAttempt?: (key: () => string) => void;
  readonly onAnswer?: () => void;
  /** Once its result is on record. */
  readonly onResult?: () => void;
}

/** A long conversation whose last turn waits, as a process finds it that has not seen it before. */
async function leaveQuestion({ onAttempt, onAnswer, onResult }: ToolSteps = {}) {
  const folder = temporaryFolder();
  const store = await openStore(folder);
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    parameters: { type: "object" },
    run: async (_args, context) => {
      onAttempt?.(() => context.idempotencyKey);
      const isMeant = await context.ask(booleanQuestion("ok", "Pay?"));
      onAnswer?.();
      return `Paid: ${isMeant}.`;
    },
  });
  const call = [{ type: "tool_call", id: "call_1", name: "pay" }] as const;
  const model = new ScriptedModel({ replies: [call, "It is paid."] });
  await using conversation = await store.create({ entries: earlierTurns() });
  await runTurn({ conversation, model, tools: [pay], defer: true }, "Pay.");
  await conversation.release();
  const file = path.join(
    folder,
    "conversations",
    conversation.id.replace("jp-c", ""),
    "events.json",
  );
  edit(file, (text) => text);
  const [waiting] = await listPending(store);
  if (waiting === undefined) throw new Error("the turn waits");
  const observer: Observer = {
    observe: (update) => {
      if (update.type === "event" && update.event.type === "tool_call_response") onResult?.();
    },
  };
  const options = { model, tools: [pay], observer };
  const answer = () => answerAndResume(store, waiting, { answer: true }, options);
  return { store, id: conversation.id, file, model, answer };
}

/** In place, as an editor or another program does. */
function edit(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, "utf8")));
}

function texts(request: ScriptedModel["requests"][number] | undefined): readonly string[] {
  return (request?.parts.events ?? []).flatMap((event) =>
    event.type === "chat_request" ? [event.content] : [],
  );
}

test("the model that continues an answered turn is sent all turns before it", async () => {
  const { answer, model } = await leaveQuestion();
  await answer();
  const [first, second] = model.requests;
  const before = first?.parts.events ?? [];
  expect(before).toHaveLength(TURNS * 2 + 1);
  expect(second?.parts.events.slice(0, before.length)).toEqual(before);
  expect(second?.parts.events.slice(before.length).map(({ type }) => type)).toEqual([
    "tool_call_request",
    "tool_call_response",
  ]);
});

test("the record of an answered turn has all entries once, in the file and in memory", async () => {
  const { answer, store, id } = await leaveQuestion();
  await answer();
  const { entries } = (await store.load(id)).stream;
  await using opened = await store.open(id);
  expect(opened.stream.entries.map(({ raw }) => raw)).toEqual(entries.map(({ raw }) => raw));
  const starts = entries.filter(({ eventType }) => eventType === "turn_start");
  expect(starts).toHaveLength(TURNS + 1);
});

test("an answered call runs although an earlier turn cannot be read, and then the turn fails", async () => {
  let runs = 0;
  const { answer, file, model } = await leaveQuestion({ onAnswer: () => (runs += 1) });
  edit(file, (text) => text.replace('"turn_start"', '"turn_start'));
  expect(await failureOf(answer())).toMatchObject({ code: "record_damaged" });
  expect({ runs, requests: model.requests.length }).toEqual({ runs: 1, requests: 1 });
  expect(readFileSync(file, "utf8")).toContain('"tool_call_response"');
});

function misspell(text: string): string {
  return text.replace('"question 7"', '"questiun 7"');
}

function shorten(text: string): string {
  const elements = JSON.parse(text) as readonly unknown[];
  return `${JSON.stringify(elements.slice(3), null, 2)}\n`;
}

test.each(["onAnswer", "onResult"] as const)(
  "an edit of an earlier turn is in the next request, whenever it was made (%s)",
  async (moment) => {
    const left = await leaveQuestion({ [moment]: () => edit(left.file, misspell) });
    await left.answer();
    expect(texts(left.model.requests[1])).toContain("questiun 7");
    expect(texts(left.model.requests[1])).not.toContain("question 7");
  },
);

test.each(["onAnswer", "onResult"] as const)(
  "an earlier turn that another program removes is not in the next request, whenever it was removed (%s)",
  async (moment) => {
    const left = await leaveQuestion({ [moment]: () => edit(left.file, shorten) });
    await left.answer();
    expect(texts(left.model.requests[1])).toEqual([
      ...Array.from({ length: TURNS - 1 }, (_, index) => `question ${index + 1}`),
      "Pay.",
    ]);
  },
);

test("the idempotency key of a call does not depend on how much of the record is read", async () => {
  const keys: string[] = [];
  const { answer } = await leaveQuestion({ onAttempt: (key) => keys.push(key()) });
  await answer();
  expect(keys).toEqual([keys[0], keys[0]]);
});
