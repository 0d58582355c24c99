/** Generators of what may stand in a record. Apart, because programs of tests start slower with them. */
import * as fc from "fast-check";
import type { Json, JsonObject } from "../../src/util/index.ts";
import { time } from "./record-elements.ts";

/** Any characters, and with preference those that a reader of bytes could stumble over. */
export function anyText(): fc.Arbitrary<string> {
  const character = fc.oneof(
    fc.integer({ min: 0, max: 0x10_ffff }).map((code) => String.fromCodePoint(code)),
    fc.integer({ min: 0, max: 0x7f }).map((code) => String.fromCodePoint(code)),
    fc.constantFrom('"', "\\", "\n  },\n  {", "\n  }\n]\n", "[", "]", "{", "}", "ä", "€", "😀"),
  );
  return fc.array(character, { maxLength: 12 }).map((characters) => characters.join(""));
}

/** Elements of any text and any nesting, of kinds that are known and that are not. */
export function anyElement(): fc.Arbitrary<JsonObject> {
  const element = fc.record({
    timestamp: fc.integer({ min: 0, max: 86_399 }).map(time),
    type: fc.constantFrom("chat_request", "from_another_version"),
    content: anyText(),
    [`"key" \n`]: fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
  });
  // JSON has no negative zero.
  return element.map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);
}
