import type { GenericSchema } from "valibot";
import { expect, test } from "vitest";
import { counters } from "../../../../test/security/threats.ts";
import { nodeOf, unwrap } from "../schema-node.ts";
import { configSchema } from "./config-schema.ts";
import { findTrust } from "./node.ts";

const KEYS = keysOf(configSchema, []);

test("every key of the config declares how far to trust it, itself or with its whole table", () => {
  counters("T-WORK-4");
  expect(KEYS.length).toBeGreaterThan(150);
  expect(KEYS.filter(({ classes }) => classes.length === 0)).toEqual([]);
});

test("a key that needs trust is not in a table that declares another class", () => {
  const hidden = KEYS.filter(({ classes: [, ...inner] }) =>
    inner.some((one) => one !== "harmless"),
  );
  expect(hidden).toEqual([]);
});

interface Key {
  readonly name: string;
  /** Declared by the tables around it, the outermost first, and by the key. Only the first one counts. */
  readonly classes: readonly string[];
}

function keysOf(
  schema: GenericSchema,
  path: readonly string[],
  outer: readonly string[] = [],
): readonly Key[] {
  const trust = findTrust(unwrap(schema));
  const classes = trust === undefined ? outer : [...outer, trust];
  const node = nodeOf(schema);
  const [entries, rest] =
    node.kind === "group"
      ? [Object.entries(node.entries), node.rest]
      : [[], node.kind === "map" ? node.value : undefined];
  const members = [...entries, ...(rest === undefined ? [] : [["<name>", rest] as const])];
  if (members.length === 0) return [{ name: path.join("."), classes }];
  return members.flatMap(([key, member]) => keysOf(member, [...path, key], classes));
}
