/**
 * The log of changes to people: what was changed, for whom, by whom and from where. It uses codes and is never truncated.
 */
import { isJsonObject, type JsonObject, shapeOf, stringField } from "../../util/index.ts";
import type { PersonKey } from "./keys.ts";

/** Who changes people. At the desk, a person or its owner. */
export type Actor =
  | { readonly channel: "cli"; readonly osUser: string }
  | { readonly channel: "desk"; readonly id: string; readonly name: string };

/** The id of a desk's owner if no person has their OS user. */
export const OWNER_ID = "owner";

export type PeopleLogCode =
  | "person_added"
  | "person_changed"
  | "person_confirmed"
  | "person_removed"
  | "person_away"
  | "person_back"
  | "token_renewed"
  | "link_created"
  | "key_added"
  | "key_replaced"
  | "key_removed";

/** One change, as stored and shown. Other versions may write other codes and fields. */
export interface PeopleLogEntry extends JsonObject {
  readonly at: string;
  readonly what: string;
  /** The id of the changed person, and their name at the time. */
  readonly person_id: string;
  readonly name: string;
  /** `channel`, with the `os_user` of a command line, or with the `person_id` and `name` of someone at the desk. */
  readonly by: JsonObject;
}

/** The fields of an entry that depend on the change. */
export interface PeopleLogDetails extends JsonObject {
  readonly rights?: readonly string[];
  readonly roles?: readonly string[];
  readonly os_user?: string;
  readonly to?: string;
  readonly until?: string;
  /** The key that was added or removed. */
  readonly key?: string;
  readonly key_type?: PersonKey["type"];
  readonly rp_id?: string;
  /** The key that the new one replaced. */
  readonly replaced?: string;
  /** The permission at the desk: `link`, or the id of the passkey that signed. */
  readonly allowed_by?: string;
}

const KEY_CODES: ReadonlySet<string> = new Set<PeopleLogCode>([
  "key_added",
  "key_replaced",
  "key_removed",
]);

/** Whether the entry is about a signing key. */
export function isKeyChange({ what }: PeopleLogEntry): boolean {
  return KEY_CODES.has(what);
}

export function keyDetails(key: PersonKey): PeopleLogDetails {
  const { id, type } = key;
  return { key: id, key_type: type, ...(key.type === "passkey" && { rp_id: key.rpId }) };
}

export function actorToJson(actor: Actor): JsonObject {
  if (actor.channel === "cli") return { channel: "cli", os_user: actor.osUser };
  return { channel: "desk", person_id: actor.id, name: actor.name };
}

/** Throws `ShapeError`. */
export function parseLogEntry(json: unknown): PeopleLogEntry {
  const shape = shapeOf(json, "log");
  const { by } = shape.value;
  return {
    ...shape.value,
    at: stringField(shape, "at"),
    what: stringField(shape, "what"),
    person_id: stringField(shape, "person_id"),
    name: stringField(shape, "name"),
    by: isJsonObject(by) ? by : {},
  };
}
