/** Stores people in a private file of the user, or in a database. */
import path from "node:path";
import { type PeopleTable, type PersonRow, PrivateFile } from "../../stores/index.ts";
import {
  arrayField,
  isJsonArray,
  JpError,
  type JsonObject,
  messageOf,
  parseJson,
  shapeOf,
} from "../../util/index.ts";
import { parseLogEntry, type PeopleLogEntry } from "./log.ts";
import { personFromJson, personToJson, type StoredPerson } from "./person.ts";

export interface PeopleStorage {
  /** The people known without waiting. */
  read(): readonly StoredPerson[];
  /** Resolves once the people stored now, or at most this many milliseconds ago, are known. */
  load(maxAgeMs?: number): Promise<void>;
  /** `change` returns undefined if there is nothing to do. */
  change(change: ChangePeople): Promise<void>;
  /** The whole log, or one person's, oldest first. */
  readLog(personId?: string): Promise<readonly PeopleLogEntry[]>;
}

/** Also receives the ids of all removed people. */
type ChangePeople = (
  people: readonly StoredPerson[],
  removed: ReadonlySet<string>,
) => ChangedPeople | undefined;

/** The people after a change, and its log entry. */
export interface ChangedPeople {
  readonly people: readonly StoredPerson[];
  /** Absent if it is not logged, as for a passkey's counter. */
  readonly entry?: PeopleLogEntry;
}

export function storageOf(place: string | PeopleTable): PeopleStorage {
  return typeof place === "string" ? fileStorage(place) : tableStorage(place);
}

/** The content of the file. */
interface StoredPeople {
  readonly people: readonly StoredPerson[];
  readonly log: readonly PeopleLogEntry[];
  /** The JSON as read: another version may have stored more. */
  readonly raw: JsonObject;
}

const EMPTY: StoredPeople = { people: [], log: [], raw: {} };

function fileStorage(folder: string): PeopleStorage {
  const file = new PrivateFile<StoredPeople>(path.join(folder, "people.json"), {
    empty: EMPTY,
    parse: parseFile,
    format: ({ people, log, raw }) => {
      const json = { ...raw, people: people.map(personToJson), log };
      return `${JSON.stringify(json, null, 2)}\n`;
    },
    onInvalid: (name, error) => {
      throw new JpError("people_invalid", `Cannot use ${name}: ${messageOf(error)}`, {
        hint: "Correct the file, or delete it and add the people again.",
        cause: error,
      });
    },
  });
  return {
    read: () => file.read().people,
    load: async () => undefined, // `read` checks the file itself.
    change: (change) =>
      file.change(({ people, log, raw }) => {
        const changed = change(people, removedIn(log));
        if (changed === undefined) return undefined;
        const { entry } = changed;
        return {
          people: changed.people,
          log: entry === undefined ? log : [...log, entry],
          raw,
        };
      }),
    readLog: async (id) =>
      file.read().log.filter((entry) => id === undefined || entry.person_id === id),
  };
}

function parseFile(text: string): StoredPeople {
  const shape = shapeOf(parseJson(text));
  const { log } = shape.value;
  return {
    people: arrayField(shape, "people").map(personFromJson),
    log: isJsonArray(log) ? log.map(parseLogEntry) : [],
    raw: shape.value,
  };
}

function removedIn(log: readonly PeopleLogEntry[]): ReadonlySet<string> {
  const removed = log.filter(({ what }) => what === "person_removed");
  return new Set(removed.map((entry) => entry.person_id));
}

function tableStorage(table: PeopleTable): PeopleStorage {
  let known: { readonly rows: readonly PersonRow[]; readonly people: readonly StoredPerson[] } = {
    rows: [],
    people: [],
  };
  return {
    read: () => {
      const rows = table.read();
      if (known.rows !== rows) known = { rows, people: rows.map(fromRow) };
      return known.people;
    },
    load: (maxAgeMs) => table.load(maxAgeMs),
    change: (change) =>
      table.change((rows, removed) => {
        const changed = change(rows.map(fromRow), removed);
        if (changed === undefined) return undefined;
        const { people, entry } = changed;
        return {
          people: people.map((person) => ({
            name: person.name,
            person: JSON.stringify(personToJson(person)),
          })),
          ...(entry !== undefined && { entry: toLogRow(entry) }),
        };
      }),
    readLog: async (id) => (await table.readLog(id)).map(fromLogRow),
  };
}

function toLogRow(entry: PeopleLogEntry) {
  return { personId: entry.person_id, what: entry.what, entry: JSON.stringify(entry) };
}

/** Throws `people_invalid`. */
function fromRow({ name, person }: PersonRow): StoredPerson {
  try {
    return personFromJson(parseJson(person));
  } catch (error) {
    throw invalidRow("jp.people", name, error);
  }
}

/** Throws `people_invalid`. */
function fromLogRow(entry: string): PeopleLogEntry {
  try {
    return parseLogEntry(parseJson(entry));
  } catch (error) {
    throw invalidRow("jp.people_log", entry.slice(0, 100), error);
  }
}

function invalidRow(table: string, row: string, error: unknown): JpError {
  const message = `Cannot use the people in the database: ${row}: ${messageOf(error)}`;
  return new JpError("people_invalid", message, {
    hint: `Correct the row in ${table}, or delete it${table === "jp.people" ? " and add the person again" : ""}.`,
    cause: error,
  });
}
