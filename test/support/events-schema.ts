/** Renders schema/events.schema.json from the fields of events. Run it as a program to write the file. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { toJsonSchema, toJsonSchemaDefs } from "@valibot/to-json-schema";
import * as v from "valibot";
import { EVENT_TYPES, type EventType } from "../../src/record/conversation/event.ts";
import { object, time } from "../../src/surfaces/desk/decision-schema.ts";
import { ROOT } from "./documents.ts";
import { EVENT_FIELDS, SHARED_VALUES } from "./event-schemas.ts";

export const EVENTS_SCHEMA = path.join(ROOT, "schema", "events.schema.json");

const TYPES = path.join(ROOT, "src", "record", "conversation", "event.ts");

/** A comment, and the type of event that it describes. */
const DESCRIBED =
  /\/\*\*(?<comment>(?:(?!\*\/)[\s\S])*)\*\/\nexport (?:interface|type) [^{]*\{\n {2}readonly type: "(?<type>\w+)";/g;

const CONVERSION = { definitions: SHARED_VALUES, typeMode: "input" } as const;

/** Elements of other types pass, and so do other fields: newer versions add them. */
export function renderEventsSchema(): string {
  const descriptions = readDescriptions();
  const events = EVENT_TYPES.map((type) => [type, schemaOf(type, descriptions.get(type) ?? "")]);
  const other = { type: "object", properties: { type: { not: { enum: EVENT_TYPES } } } };
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Events of a jp conversation",
    description:
      "The elements of `events.json`, as jp writes them. Older records may have other forms, which jp reads. Newer versions may add fields and types.",
    type: "array",
    items: { anyOf: [...EVENT_TYPES.map((type) => ({ $ref: `#/$defs/${type}` })), other] },
    $defs: { ...Object.fromEntries(events), ...toJsonSchemaDefs(SHARED_VALUES, CONVERSION) },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function schemaOf(type: EventType, description: string) {
  const event = v.looseObject({
    timestamp: time,
    type: v.literal(type),
    ...EVENT_FIELDS[type],
    metadata: v.exactOptional(object),
  });
  const { $schema: _dialect, $defs: _shared, ...schema } = toJsonSchema(event, CONVERSION);
  return {
    description,
    ...schema,
    ...(type === "chat_response" && {
      anyOf: Object.keys(EVENT_FIELDS.chat_response).map((key) => ({ required: [key] })),
    }),
  };
}

/** From the comments of the types. */
function readDescriptions(): ReadonlyMap<string, string> {
  const found = readFileSync(TYPES, "utf8").matchAll(DESCRIBED);
  return new Map(
    [...found].map(({ groups: { comment = "", type = "" } = {} }) => [
      type,
      comment.replaceAll(/\s*\n \* ?/g, " ").trim(),
    ]),
  );
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(path.dirname(EVENTS_SCHEMA), { recursive: true });
  writeFileSync(EVENTS_SCHEMA, renderEventsSchema());
}
