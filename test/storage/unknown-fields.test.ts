/** What a newer version writes into events survives here, at every level and on every way through a store. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exportEvidence } from "../../src/proof/index.ts";
import { generateSigner } from "../../src/proof/machine-key.ts";
import { anyEvent, at, turnStart } from "../../src/record/conversation/events.fixture.ts";
import {
  type ConversationId,
  eventToJson,
  eventToPlainJson,
  parseEvent,
  StreamEntry,
} from "../../src/record/conversation/index.ts";
import { type ConversationStore, copyStore } from "../../src/stores/index.ts";
import type { PortableStore } from "../../src/stores/portable.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../src/util/index.ts";
import { EVERY_STORE } from "./every-store.ts";

const LATER: JsonObject = { version: 9, codes: ["x", { y: null }] };

/** With an unknown member in every object. */
function grown(value: Json): Json {
  if (isJsonArray(value)) return value.map(grown);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([key, member]) => [key, grown(member)] as const);
  return { ...Object.fromEntries(members), later_field: LATER };
}

const ABOUT = { timestamp: at(0), tool_call_id: "a", tool: "a_tool" };
const POLICY = { kind: "policy", key: "run" };

/** Codes and shapes that this version does not know. */
const NEWER: readonly JsonObject[] = [
  {
    ...ABOUT,
    type: "permission_decision",
    decision: "denied",
    decided_by: POLICY,
    cause: "budget",
  },
  { ...ABOUT, type: "permission_request", id: "a:run:1", action: "run", origin: { type: "wasm" } },
  { timestamp: at(0), type: "turn_end", reason: "done", cause: "budget" },
  { timestamp: at(0), type: "tool_call_response", id: "a", content: "", is_error: false, added: 3 },
  { timestamp: at(0), type: "poll", options: ["x"] },
  { timestamp: at(0), type: "compaction", from_turn: 0, to_turn: 0, later_field: LATER },
  { timestamp: at(0), type: "config_delta", delta: {}, later_field: LATER },
];

const ELEMENTS: readonly JsonObject[] = [
  eventToJson(turnStart()),
  ...NEWER,
  ...fc
    .sample(anyEvent, { numRuns: 100, seed: 45 })
    .map((event) => grown(eventToJson(event)) as JsonObject),
];

async function elementsOf(store: Pick<ConversationStore, "load">, id: ConversationId) {
  return (await store.load(id)).stream.entries.map(({ raw }) => raw);
}

describe.each(EVERY_STORE)(
  "in $name, what a newer version has written survives",
  ({ name, create }) => {
    async function place() {
      const { store } = await create();
      await using writer = await store.create({});
      await writer.appendEntries(ELEMENTS.map((element) => StreamEntry.fromJson(element)));
      return { store, id: writer.id };
    }

    test("a fork, and a compaction after it", async () => {
      const { store, id } = await place();
      const fork = await store.fork(id);
      const compaction = { timestamp: at(1), fromTurn: 0, toTurn: 0, summary: "short" };
      const compacted = StreamEntry.fromCompaction(compaction);
      await using writer = await store.open(fork);
      await writer.appendEntries([compacted]);
      expect(await elementsOf(store, fork)).toEqual([...ELEMENTS, compacted.raw]);
    });

    test("an export of evidence", async () => {
      const { store, id } = await place();
      const contents: unknown[] = [];
      await exportEvidence(
        {
          store,
          conversations: [id],
          signer: generateSigner(),
          clock: new FakeClock(),
          tool: "jp",
          hasContent: true,
        },
        (line) => {
          const { payload } = JSON.parse(line) as { readonly payload: string };
          const { predicate } = JSON.parse(Buffer.from(payload, "base64").toString("utf8")) as {
            readonly predicate: { readonly event?: unknown };
          };
          if (predicate.event !== undefined) contents.push(predicate.event);
        },
      );
      const texts = new Set(ELEMENTS.map((element) => JSON.stringify(element)));
      expect(contents.filter((event) => !texts.has(JSON.stringify(event)))).toEqual([]);
      expect(contents.length > 10).toBe(store.readChain !== undefined);
    });

    test.skipIf(name === "memory")("a copy to a folder and back", async () => {
      const { store, id } = await place();
      const [folder, back] = [await EVERY_STORE[1]?.create(), await create()];
      await copyStore(portable(store), portable(folder?.store));
      await copyStore(portable(folder?.store), portable(back.store));
      expect(await elementsOf(back.store, id)).toEqual(ELEMENTS);
    });
  },
);

describe("an event with newer codes and members", () => {
  const events = NEWER.slice(0, 4);

  test.each(events)("is read, and written back as it was: $type", (element) => {
    expect(eventToJson(parseEvent(element))).toMatchObject(element);
    expect(eventToPlainJson(parseEvent(element))).toMatchObject(element);
  });

  test.each(["origin", "added", "takes"])("keeps unknown members of its fields: %s", (field) => {
    const known = { origin: { type: "program" }, added: { before: 1, after: 2 }, takes: {} }[field];
    const fields = { [field]: { ...known, later_field: LATER } };
    const [, request, , result] = events;
    const element = { ...(field === "added" ? result : request), ...fields };
    expect(eventToPlainJson(parseEvent(element))).toMatchObject(element);
  });
});

function portable(store: ConversationStore | undefined): PortableStore {
  if (store !== undefined && "exportRecord" in store) return store as unknown as PortableStore;
  throw new Error("this store is not copied");
}
