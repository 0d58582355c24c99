/** One person as data: their identity, rights, and the origin of their account. Reads and writes their JSON. */
import { type Timestamp, timestampFromDate } from "../../record/conversation/index.ts";
import {
  integerField,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  nodeCrypto,
  optionalString,
  shapeOf,
  stringField,
} from "../../util/index.ts";
import { keyToJson, parseKey, type PersonKey } from "./keys.ts";

/** A person's rights at the desk: see everything, answer questions, approve tool calls, manage people. */
export type Right = "see" | "answer" | "approve" | "administer";

/** Someone who may use the desk, and make decisions assigned to them. */
export interface Person {
  /** Never reused, even after the person is removed. Absent only for the owner of a desk. */
  readonly id?: string;
  /** Recorded with their decisions. */
  readonly name: string;
  readonly rights: readonly Right[];
  /** Roles that decisions can be assigned to: see `target`. None if absent. */
  readonly roles?: readonly string[];
  /**
   * Their user name on this machine, or on all that share a database: anyone at a terminal with this user name is this
   * person.
   */
  readonly osUser?: string;
  /** Someone else decides in their place for a time. */
  readonly away?: Absence;
  /** Keys for signing decisions. None if absent. */
  readonly keys?: readonly PersonKey[];
  /** How often their keys have changed. Each change ends their sessions. */
  readonly keyChanges?: number;
  /**
   * For an account made at the desk: the ids of its maker, of the maker's maker at the desk, and so on. Absent for an
   * account from the command line.
   */
  readonly madeBy?: readonly string[];
  /** When an account made at the desk was confirmed. */
  readonly confirmedAt?: Date;
  /** The owner of the desk, identified by their OS user. */
  readonly isOwner?: boolean;
}

/** A person delegates their decisions to another. */
export interface Absence {
  /** The name of the substitute, who cannot delegate them further. */
  readonly to: string;
  readonly until: Date;
}

export interface StoredPerson extends Person {
  readonly id: string;
  readonly tokenHash: string;
  /** Allows one change of their passkeys at the desk. */
  readonly link?: StoredLink;
  /** The JSON as read: another version may have stored more. */
  readonly raw?: JsonObject;
}

export interface StoredLink {
  readonly hash: string;
  readonly until: Date;
}

/** All rights, in the order they are stored and shown. */
export const RIGHTS: readonly Right[] = ["see", "answer", "approve", "administer"];
/** A person's rights by default. */
export const DEFAULT_RIGHTS: readonly Right[] = ["see", "answer", "approve"];

export const HASH = /^[0-9a-f]{64}$/;

/** Until confirmed, an account made at the desk makes no decisions that name people, and administers nothing. */
export function isConfirmed({ madeBy, confirmedAt }: Person): boolean {
  return madeBy === undefined || confirmedAt !== undefined;
}

/** Someone who can make accounts at the desk. */
export interface Maker {
  readonly id: string;
  readonly madeBy?: readonly string[] | undefined;
}

/**
 * Whether this administrator may confirm an account made at the desk. One person alone must not obtain accounts that
 * count: neither by confirming their own, nor through an account they made.
 */
export function isIndependent(administrator: Maker, { madeBy = [] }: Person): boolean {
  const [maker = ""] = madeBy;
  return !madeBy.includes(administrator.id) && administrator.madeBy?.includes(maker) !== true;
}

/** In the format of `KnownPerson`. */
export function confirmationOf(person: Person): Timestamp | false | undefined {
  if (person.madeBy === undefined) return undefined;
  return person.confirmedAt !== undefined && timestampFromDate(person.confirmedAt);
}

/** The id of a person whose entry has none: every process derives the same one, without writing it. */
export function deriveId(tokenHash: string): string {
  const digest = nodeCrypto().createHash("sha256").update(`jp person\n${tokenHash}`).digest("hex");
  return `p_${digest.slice(0, 32)}`;
}

/** People who have not changed since they were read. */
const unchanged = new WeakSet<StoredPerson>();

/** Throws `ShapeError`. */
export function personFromJson(value: unknown): StoredPerson {
  const shape = shapeOf(value, "people");
  const tokenHash = stringField(shape, "token_sha256");
  if (!HASH.test(tokenHash)) throw new SyntaxError("people.token_sha256: not a hash");
  const { rights, roles, keys, away } = shape.value;
  const known = isJsonArray(keys) ? keys.flatMap((key) => parseKey(key) ?? []) : [];
  const osUser = waysIn(shape.value).find((way) => typeof way["os_user"] === "string")?.["os_user"];
  const person: StoredPerson = {
    id: optionalString(shape, "id") ?? deriveId(tokenHash),
    name: stringField(shape, "name"),
    rights: RIGHTS.filter((right) => isJsonArray(rights) && rights.includes(right)),
    ...(isJsonArray(roles) && { roles: roles.filter((role) => typeof role === "string") }),
    ...(typeof osUser === "string" && { osUser }),
    ...parseAway(away),
    ...(known.length > 0 && { keys: known }),
    ...(shape.value["key_changes"] !== undefined && {
      keyChanges: integerField(shape, "key_changes"),
    }),
    ...parseMaking(shape.value),
    ...parseLink(shape.value["link"]),
    tokenHash,
    raw: shape.value,
  };
  unchanged.add(person);
  return person;
}

function parseAway(value: Json | undefined): Pick<Person, "away"> {
  if (!isJsonObject(value)) return {};
  const { to, until } = value;
  const time = findTime(until);
  return typeof to === "string" && time !== undefined ? { away: { to, until: time } } : {};
}

/** An unreadable value means made at the desk, and not confirmed. */
function parseMaking({ made_by: by, confirmed_at: at }: JsonObject) {
  if (by === undefined) return {};
  const madeBy = isJsonArray(by) ? by.filter((id) => typeof id === "string") : [];
  const confirmedAt = findTime(at);
  return { madeBy, ...(confirmedAt !== undefined && { confirmedAt }) };
}

function parseLink(value: Json | undefined): Pick<StoredPerson, "link"> {
  if (!isJsonObject(value)) return {};
  const { sha256: hash, until } = value;
  const time = findTime(until);
  const isKnown = typeof hash === "string" && HASH.test(hash) && time !== undefined;
  return isKnown ? { link: { hash, until: time } } : {};
}

function findTime(value: Json | undefined): Date | undefined {
  const time = typeof value === "string" ? new Date(value) : new Date(Number.NaN);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** Ways to authenticate besides the token. */
function waysIn({ auth }: JsonObject): readonly JsonObject[] {
  return isJsonArray(auth) ? auth.filter(isJsonObject) : [];
}

/** Returns an unchanged entry as it was read. */
export function personToJson(person: StoredPerson): JsonObject {
  const { raw = {} } = person;
  if (unchanged.has(person)) return raw;
  const { id, name, rights, roles = [], osUser, keys = [], away, link, tokenHash } = person;
  const { keyChanges, madeBy, confirmedAt } = person;
  const { roles: _roles, auth: _auth, away: _away, link: _link, keys: rawKeys, ...others } = raw;
  const unknown = isJsonArray(rawKeys) ? rawKeys.filter((key) => parseKey(key) === undefined) : [];
  const allKeys = [...keys.map(keyToJson), ...unknown];
  const ways = waysIn(raw).filter((way) => way["os_user"] === undefined);
  const auth = osUser === undefined ? ways : [{ os_user: osUser }, ...ways];
  return {
    ...others,
    id,
    name,
    rights,
    ...(roles.length > 0 && { roles }),
    ...(auth.length > 0 && { auth }),
    ...(away !== undefined && { away: { to: away.to, until: away.until.toISOString() } }),
    ...(allKeys.length > 0 && { keys: allKeys }),
    ...(keyChanges !== undefined && { key_changes: keyChanges }),
    ...(madeBy !== undefined && { made_by: madeBy }),
    ...(confirmedAt !== undefined && { confirmed_at: confirmedAt.toISOString() }),
    ...(link !== undefined && { link: { sha256: link.hash, until: link.until.toISOString() } }),
    token_sha256: tokenHash,
  };
}

/** Drops the fields that only the storage needs. */
export function toPerson(stored: StoredPerson): Person & { readonly id: string } {
  const { tokenHash: _token, raw: _raw, link: _link, roles = [], keys = [], ...person } = stored;
  return { ...person, ...(roles.length > 0 && { roles }), ...(keys.length > 0 && { keys }) };
}
