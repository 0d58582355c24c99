/**
 * Renders src/settings/config/tool-config.ts, the type of a program's `toolConfig`, from the schema of tools. Run it as a program to
 * write the file. A type that the compiler infers from the schema would drag the declarations of all schemas along, and
 * have no comments.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { type GenericSchema, getDescription, type UnionSchema } from "valibot";
import { unwrap } from "../../src/settings/config/schema-node.ts";
import { findBehaviour } from "../../src/settings/config/schema/node.ts";
import { toolsSchema } from "../../src/settings/config/schema/tool.ts";
import { ROOT } from "./documents.ts";
import { formatText } from "./format-text.ts";

const FILE = path.join("src", "settings", "config", "tool-config.ts");

export const TOOL_CONFIG_FILE = path.join(ROOT, FILE);

/** The tables that get a name, by their place: `<>` stands for any key, and `[]` for the items of a list. */
const NAMES: Readonly<Record<string, readonly [name: string, comment: string]>> = {
  "*": [
    "SharedToolConfig",
    "Settings for all tools, as `conversation.tools.'*'` in a config file.",
  ],
  "<>": ["ToolConfig", "Settings for one tool, as `conversation.tools.<name>` in a config file."],
  "<>.questions.<>": ["QuestionConfig", "Settings for one question of a tool."],
  "<>.questions.<>.target": [
    "EscalatingTargetConfig",
    "An assistant that answers, and perhaps a person after it.",
  ],
  "<>.questions.<>.target[]": [
    "TargetConfig",
    "People who answer, or the settings of an assistant.",
  ],
  "*.target[]": ["PeopleConfig", "People who decide."],
  "*.policy.run[]": ["PolicyRuleConfig", "A rule on the arguments of a call."],
  "*.style.inline_results": ["ShownLinesConfig", "How much of a result to show."],
  "<>.parameters.<>": ["ParameterKeywords", "A parameter, in the words of JSON Schema."],
};

type Entries = Readonly<Record<string, GenericSchema>>;

interface Table {
  readonly entries: Entries;
  /** Other keys may hold anything. */
  readonly isOpen: boolean;
}

interface NamedTable extends Table {
  readonly place: string;
  readonly name: string;
  readonly comment: string;
}

export function renderToolConfig(): string {
  const tools = unwrap(toolsSchema);
  if (tools.type !== "object_with_rest") throw new Error("tools are not a table by name");
  const places = new Map<string, Table>();
  collect(tools.entries["*"] ?? tools.rest, "*", places);
  collect(tools.rest, "<>", places);
  const named = Object.entries(NAMES).map(([place, [name, comment]]): NamedTable => {
    const table = places.get(place);
    if (table === undefined) throw new Error(`no table at ${place}`);
    return { ...table, place, name, comment };
  });
  return formatText(
    FILE,
    [
      "/** The type of a program's `toolConfig`: made by test/support/tool-config-type.ts from the schema of the config. */",
      'import type { Json } from "../../util/index.ts";',
      ...named.map((table) => `\n${renderTable(table, named)}`),
    ].join("\n"),
  );
}

/** Notes the first table at each place. */
function collect(schema: GenericSchema, place: string, places: Map<string, Table>): void {
  const inner = unwrap(schema);
  switch (inner.type) {
    case "object":
    case "strict_object":
    case "loose_object":
      if (!places.has(place)) {
        places.set(place, { entries: inner.entries, isOpen: inner.type === "loose_object" });
      }
      for (const [key, member] of Object.entries(inner.entries)) {
        collect(member, `${place}.${key}`, places);
      }
      break;
    case "record":
      collect(inner.value, `${place}.<>`, places);
      break;
    case "array":
      collect(inner.item, `${place}[]`, places);
      break;
    case "union":
      for (const option of inner.options) collect(option, place, places);
      break;
    default: // A `lazy` schema contains itself.
  }
}

function renderTable(table: NamedTable, named: readonly NamedTable[]): string {
  const { name, comment, entries, isOpen } = table;
  const bases = named.filter((other) => isBase(other, table));
  const base = bases.toSorted((one, other) => sizeOf(other) - sizeOf(one)).at(0);
  const own = Object.entries(entries).filter(([key, schema]) => !isShared(base, key, schema));
  const changed = own.map(([key]) => key).filter((key) => base && Object.hasOwn(base.entries, key));
  const parent =
    base === undefined || changed.length === 0
      ? base?.name
      : `Omit<${base.name}, ${unionOf(changed.map((key) => JSON.stringify(key)))}>`;
  const heritage = parent === undefined ? "" : ` extends ${parent}`;
  const members = renderMembers({ entries: Object.fromEntries(own), isOpen }, named);
  return `/** ${comment} */\nexport interface ${name}${heritage} ${members}`;
}

function sizeOf({ entries }: Table): number {
  return Object.keys(entries).length;
}

/** Whether a table has all keys of another one, and most with the same schema. */
function isBase(base: Table, table: Table): boolean {
  const { entries } = table;
  const keys = Object.keys(base.entries);
  const hasAll = keys.every((key) => Object.hasOwn(entries, key));
  const shared = keys.filter((key) => entries[key] && isShared(base, key, entries[key]));
  return hasAll && keys.length < sizeOf(table) && shared.length > keys.length / 2;
}

function isShared(base: Table | undefined, key: string, schema: GenericSchema): boolean {
  const other = base?.entries[key];
  return other !== undefined && unwrap(other) === unwrap(schema);
}

/** Leaves out the keys that jp refuses. */
function renderMembers({ entries, isOpen }: Table, named: readonly NamedTable[]): string {
  const members = Object.entries(entries).flatMap(([key, schema]) => {
    const inner = unwrap(schema);
    if (typeof findBehaviour(inner).unsupported === "string") return [];
    const description = getDescription(inner);
    const comment = description === undefined ? [] : [`/** ${description} */`];
    const mark = schema.type === "optional" ? "?" : "";
    return [...comment, `readonly ${key}${mark}: ${typeOf(schema, named)};`];
  });
  const others = isOpen ? ["readonly [other: string]: unknown;"] : [];
  return `{\n${[...members, ...others].join("\n")}\n}`;
}

function typeOf(schema: GenericSchema, named: readonly NamedTable[]): string {
  const inner = unwrap(schema);
  switch (inner.type) {
    case "object":
    case "strict_object":
    case "loose_object": {
      const { entries } = inner;
      const known = named.find((table) => table.entries === entries);
      return (
        known?.name ?? renderMembers({ entries, isOpen: inner.type === "loose_object" }, named)
      );
    }
    case "record":
      return `Readonly<Record<string, ${typeOf(inner.value, named)}>>`;
    case "array":
      return `readonly (${typeOf(inner.item, named)})[]`;
    case "union":
      return unionOf(supportedOptions(inner).map((option) => typeOf(option, named)));
    case "lazy":
      return typeOf(inner.getter(undefined), named);
    case "picklist":
      return unionOf(inner.options.map((option) => JSON.stringify(option)));
    case "literal":
      return JSON.stringify(inner.literal);
    case "unknown":
      return "Json";
    case "string":
    case "number":
    case "boolean":
      return inner.type;
    default:
      throw new Error(`no type for a schema of the type ${inner.type}`);
  }
}

/** A key that refuses some values takes only words. */
function supportedOptions(union: UnionSchema<readonly GenericSchema[], undefined>) {
  const isWords = typeof findBehaviour(union).unsupported === "function";
  return union.options.filter(({ type }) => !isWords || type === "picklist");
}

function unionOf(types: readonly string[]): string {
  return [...new Set(types)].join(" | ");
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(TOOL_CONFIG_FILE, renderToolConfig());
}
