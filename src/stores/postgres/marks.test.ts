import { expect, test } from "vitest";
import { EVENT_FIELDS } from "../../../test/support/event-schemas.ts";

test("no event has a type that starts as those of config deltas and compactions do", () => {
  const types = Object.keys(EVENT_FIELDS);
  expect(types).toContain("turn_start");
  expect(types.filter((type) => /^(?:co|jp)/.test(type))).toEqual([]);
});
