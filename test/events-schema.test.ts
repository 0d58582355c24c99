/** The committed schema describes what jp writes. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { Validator } from "@cfworker/json-schema";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyEvent } from "../src/record/conversation/events.fixture.ts";
import { EVENT_TYPES } from "../src/record/conversation/event.ts";
import { eventToJson, parseEvent } from "../src/record/conversation/index.ts";
import type { JsonObject } from "../src/util/index.ts";
import { ROOT } from "./support/documents.ts";
import { EVENT_FIELDS } from "./support/event-schemas.ts";
import { EVENTS_SCHEMA, renderEventsSchema } from "./support/events-schema.ts";

const text = readFileSync(EVENTS_SCHEMA, "utf8");
const schema = JSON.parse(text) as JsonObject;
/** Enough that each type is among them. */
const samples = fc.sample(anyEvent, 600).map((event) => {
  const { extra: _, ...known } = event;
  return JSON.parse(JSON.stringify(eventToJson(known))) as JsonObject;
});

const validator = new Validator(schema, "7");

test("the committed schema of events is up to date", () => {
  expect(text).toBe(renderEventsSchema());
});

test("the package exports the schema of events", () => {
  const manifest = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, unknown>>;
  };
  expect(path.join(ROOT, String(manifest.exports["./events.schema.json"]))).toBe(EVENTS_SCHEMA);
});

test("the schema describes every type of event", () => {
  const described = schema["$defs"] as Readonly<Record<string, { readonly description: string }>>;
  expect(EVENT_TYPES.filter((type) => (described[type]?.description ?? "") === "")).toEqual([]);
});

describe("the schema of events accepts", () => {
  test.each(globSync("test/**/events.json", { cwd: ROOT }))("the record in %s", (file) => {
    const record: unknown = JSON.parse(readFileSync(path.join(ROOT, file), "utf8"));
    expect(validator.validate(record).errors).toEqual([]);
  });

  test("every event that jp writes, and has each of its fields", () => {
    for (const written of samples) {
      expect(validator.validate([written]).errors).toEqual([]);
      const { type } = parseEvent(written);
      const fields = new Set(["timestamp", "type", "metadata", ...Object.keys(EVENT_FIELDS[type])]);
      expect(Object.keys(written).filter((key) => !fields.has(key))).toEqual([]);
    }
  });

  test("an element of a type that jp does not know", () => {
    expect(validator.validate([{ type: "from_the_future", content: 1 }]).valid).toBe(true);
  });
});

test("the schema of events has no field that jp does not know", () => {
  const unknown = EVENT_TYPES.flatMap((type) => {
    const written = samples.find((each) => each["type"] === type) ?? {};
    return Object.keys(EVENT_FIELDS[type]).filter((key) => {
      const { extra = {} } = parseEvent({ ...written, [key]: written[key] ?? null });
      return key in extra;
    });
  });
  expect(unknown).toEqual([]);
});

test("the schema of events rejects an event without a field that jp needs to read it", () => {
  const checked = new Set<unknown>();
  for (const { metadata: _, ...written } of samples) {
    for (const key of Object.keys(written).filter((each) => each !== "type")) {
      const { [key]: _left, ...rest } = written;
      if (canRead(rest)) continue;
      checked.add(written["type"]);
      expect([key, validator.validate([rest]).valid]).toEqual([key, false]);
    }
  }
  expect(checked).toEqual(new Set(EVENT_TYPES));
});

function canRead(json: JsonObject): boolean {
  try {
    parseEvent(json);
    return true;
  } catch {
    return false;
  }
}
