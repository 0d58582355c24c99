/**
 * Stores the people whom decisions can be for, and who may use the desk: in a private file of the user, or in a database. Of tokens, it has only
 * hashes. What someone may decide is said elsewhere (`conversation/whom.ts`).
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { userInfo } from "node:os";
import path from "node:path";
import {
  type Directory,
  foldName,
  hashToSign,
  isSameName,
  type KnownPerson,
  type PersonSigner,
} from "../conversation/index.ts";
import { type PeopleTable, type PersonRow, PrivateFile } from "../storage/index.ts";
import {
  arrayField,
  isJsonArray,
  isJsonObject,
  JpError,
  type Json,
  type JsonObject,
  messageOf,
  parseJson,
  shapeOf,
  stringField,
} from "../util/index.ts";
import { hasSigned, keyToJson, parseKey, type Passkey, type PersonKey } from "./keys.ts";

/** What a person may do at the desk: see what there is, answer questions, approve what tools do, manage people. */
export type Right = "see" | "answer" | "approve" | "administer";

/** Someone who may use the desk, and decide what is for them. */
export interface Person {
  /** Recorded with what they decide. */
  readonly name: string;
  readonly rights: readonly Right[];
  /** What they decide for others: see `target`. None if absent. */
  readonly roles?: readonly string[];
  /** Their name on this machine, or on all that share a database: whoever uses a terminal as this user is this person. */
  readonly osUser?: string;
  /** Someone else decides in their place until then. */
  readonly away?: Absence;
  /** With which they sign what has to be signed. None if absent. */
  readonly keys?: readonly PersonKey[];
  /** The one whose desk it is. They are known by their OS user. */
  readonly isOwner?: boolean;
}

/** A person hands what they would decide to another. */
export interface Absence {
  /** The name of the other. What is handed to that one is not handed on. */
  readonly to: string;
  readonly until: Date;
}

/** What is known of a person besides their name. What is absent stays as it is, or is empty. */
export type PersonSettings = Partial<Pick<Person, "rights" | "roles" | "osUser">>;

/** The people, by their tokens. */
export interface People {
  /** By the SHA-256 hash of their token, in hexadecimal digits. Takes as long whoever it is. */
  findByHash(hash: string): Promise<Person | undefined>;
  list(): Promise<readonly Person[]>;
  /** Returns the token, which is stored only as a hash. Throws `person_exists`, `role_exists`, `os_user_taken`, `invalid_name`. */
  add(name: string, rights: readonly Right[], settings?: PersonSettings): Promise<string>;
  /** Returns false if there is no such person. Throws `role_exists`, `os_user_taken`, `invalid_name`. */
  change(name: string, settings: PersonSettings): Promise<boolean>;
  /** Absent: they are back. Returns false if there is no such person. Throws `person_not_found`, `invalid_absence`. */
  setAway(name: string, away?: Absence): Promise<boolean>;
  /** Returns false if there is no such person. */
  remove(name: string): Promise<boolean>;
  /** Returns false if there is no such person. Throws `key_exists`. */
  addKey(name: string, key: PersonKey): Promise<boolean>;
  /** Returns false if there is no such person, or they have no such key. */
  removeKey(name: string, id: string): Promise<boolean>;
  /** Notes how often a passkey has signed. Returns false if that is not more than before: then it was copied, or replayed. */
  countUse(name: string, id: string, counter: number): Promise<boolean>;
}

/** All rights, in the order in which they are stored and shown. */
export const RIGHTS: readonly Right[] = ["see", "answer", "approve", "administer"];
/** What a person may do unless told otherwise. */
export const DEFAULT_RIGHTS: readonly Right[] = ["see", "answer", "approve"];

/** So that a token is recognized where it does not belong: in a log, a commit or a paste. */
const TOKEN_PREFIX = "jpd_";
const SECRET_BYTES = 32;
const MAX_NAME_LENGTH = 64;
/** However long a database cannot be reached, a token that was removed is not accepted for longer. */
const MAX_AGE_MS = 5000;
/** Control and format characters, line breaks, lone surrogates, what is drawn as nothing, and spaces around. */
const BAD_NAME = /^\s|\s$|[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** Cyrillic and Greek letters that look like Latin ones, small or capital; those follow in the same order. */
const LOOKALIKES = "авԁеһніјкӏморԛсѕтхуԝѵαβεηικμνορτυχγ";
const LATIN = "abdehhijklmopqcstxywvabehikmvoptuxy";

/**
 * The people in `people.json` of a folder, or in a database. The file is read again when it has changed, so that removing a person
 * in another process counts at once; a database is told of it, which takes a moment. Reading throws `people_invalid` if the file is damaged or not private,
 * and `store_unreachable`.
 */
export function openPeople(place: string | PeopleTable): People {
  return new StoredPeople(storageOf(place));
}

export interface DirectoryOptions {
  /** Who runs this process. */
  readonly osUser?: (() => string) | undefined;
  readonly now?: () => Date;
  /** Signs for whoever runs this process. No one can sign here without it. */
  readonly signerOf?: (person: Person | undefined) => PersonSigner;
}

/** The same people, as those know them who let someone decide. Those in a database have to be loaded. */
export function openDirectory(
  place: string | PeopleTable,
  { osUser = () => userInfo().username, now = () => new Date(), signerOf }: DirectoryOptions = {},
): Directory {
  const storage = storageOf(place);
  const known = () => withAbsent(storage.read(), now());
  const findHere = () => {
    const user = osUser();
    const [person, ...others] = storage.read().filter((each) => each.osUser === user);
    // Nobody can be told apart who uses the same account.
    return others.length > 0 ? undefined : person;
  };
  return {
    list: known,
    findHere: () => {
      const person = findHere();
      return person && known().find(({ name }) => name === person.name);
    },
    isSigned: (signed, signature) => {
      const person = storage.read().find(({ name }) => isSameName(name, signed.person));
      const hash = hashToSign(signed);
      return person?.keys?.some((key) => hasSigned(key, hash, signature)) === true;
    },
    ...(signerOf !== undefined && { findSigner: () => signerOf(findHere()) }),
  };
}

/** Everyone, with those in whose place they decide. */
function withAbsent(people: readonly StoredPerson[], now: Date): readonly KnownPerson[] {
  return people.map(({ name, roles = [] }) => {
    const absent = people.filter(
      ({ away }) => away !== undefined && away.until > now && isSameName(away.to, name),
    );
    const standsInFor = absent.map((each) => ({ name: each.name, roles: each.roles ?? [] }));
    return { name, roles, ...(standsInFor.length > 0 && { standsInFor }) };
  });
}

interface StoredPerson extends Person {
  readonly tokenHash: string;
  /** As it was read: another version may have stored more. */
  readonly raw?: JsonObject;
}

interface PeopleStorage {
  /** Those who are known without waiting. */
  read(): readonly StoredPerson[];
  /** Resolves once those are known who are stored now, or were so many milliseconds ago. */
  load(maxAgeMs?: number): Promise<void>;
  /** The function returns undefined if there is nothing to do. */
  change(
    change: (people: readonly StoredPerson[]) => readonly StoredPerson[] | undefined,
  ): Promise<void>;
}

function storageOf(place: string | PeopleTable): PeopleStorage {
  if (typeof place !== "string") return tableStorage(place);
  const file = peopleFile(place);
  return {
    read: () => file.read(),
    load: async () => undefined, // Reading looks.
    change: (change) => file.change(change),
  };
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
      table.change((rows) =>
        change(rows.map(fromRow))?.map((person) => ({
          name: person.name,
          person: JSON.stringify(toJson(person)),
        })),
      ),
  };
}

/** Throws `people_invalid`. */
function fromRow({ name, person }: PersonRow): StoredPerson {
  try {
    return fromJson(parseJson(person));
  } catch (error) {
    throw new JpError(
      "people_invalid",
      `Cannot use the people in the database: ${name}: ${messageOf(error)}`,
      {
        hint: "Correct the row in jp.people, or delete it and add the person again.",
        cause: error,
      },
    );
  }
}

function peopleFile(folder: string): PrivateFile<readonly StoredPerson[]> {
  return new PrivateFile<readonly StoredPerson[]>(path.join(folder, "people.json"), {
    empty: [],
    parse: (text) => arrayField(shapeOf(parseJson(text)), "people").map(fromJson),
    format: (people) => `${JSON.stringify({ people: people.map(toJson) }, null, 2)}\n`,
    onInvalid: (file, error) => {
      throw new JpError("people_invalid", `Cannot use ${file}: ${messageOf(error)}`, {
        hint: "Correct the file, or delete it and add the people again.",
        cause: error,
      });
    },
  });
}

class StoredPeople implements People {
  readonly #storage: PeopleStorage;

  constructor(storage: PeopleStorage) {
    this.#storage = storage;
  }

  async findByHash(hash: string): Promise<Person | undefined> {
    if (!HASH.test(hash)) return undefined;
    await this.#storage.load(MAX_AGE_MS);
    const found = findHashed(this.#storage.read(), hash);
    if (found !== undefined) return toPerson(found);
    await this.#storage.load(); // They may have been added elsewhere a moment ago.
    const added = findHashed(this.#storage.read(), hash);
    return added && toPerson(added);
  }

  async list(): Promise<readonly Person[]> {
    await this.#storage.load();
    return this.#storage.read().map(toPerson);
  }

  async add(
    name: string,
    rights: readonly Right[],
    settings: PersonSettings = {},
  ): Promise<string> {
    assertName(name);
    const token = `${TOKEN_PREFIX}${newSecret()}`;
    await this.#storage.change((people) => {
      const other = people.find((person) => looksLike(person.name, name));
      if (other !== undefined) {
        throw new JpError("person_exists", `A person named ${other.name} exists already.`, {
          hint: "Choose another name, or remove them first: jp serve people rm NAME",
        });
      }
      const person = { name, rights, tokenHash: hashOf(token) };
      return [...people, withSettings(person, settings, people)];
    });
    return token;
  }

  async change(name: string, settings: PersonSettings): Promise<boolean> {
    let isFound = false;
    await this.#storage.change((people) => {
      const changed = findNamed(people, name);
      isFound = changed !== undefined;
      if (changed === undefined) return undefined;
      const others = people.filter((person) => person !== changed);
      const after = withSettings(changed, settings, others);
      return people.map((person) => (person === changed ? after : person));
    });
    return isFound;
  }

  async setAway(name: string, away?: Absence): Promise<boolean> {
    let isFound = false;
    await this.#storage.change((people) => {
      const changed = findNamed(people, name);
      isFound = changed !== undefined;
      if (changed === undefined) return undefined;
      const { away: _away, ...person } = changed;
      const to = away && findNamed(people, away.to);
      if (away !== undefined && to === undefined) {
        throw new JpError("person_not_found", `No person is called ${away.to}.`, {
          hint: "To list them: jp serve people ls",
        });
      }
      if (to === changed) {
        throw new JpError("invalid_absence", "Whoever is away cannot stand in for themself.");
      }
      const after = { ...person, ...(away && to && { away: { ...away, to: to.name } }) };
      return people.map((each) => (each === changed ? after : each));
    });
    return isFound;
  }

  async addKey(name: string, key: PersonKey): Promise<boolean> {
    return this.#changeKeys(name, (keys, people) => {
      const owner = people.find((person) => person.keys?.some(({ id }) => id === key.id));
      if (owner === undefined) return [...keys, key];
      throw new JpError("key_exists", `${owner.name} has this key already.`, {
        hint: "One key is one person: two who share it cannot be told apart.",
      });
    });
  }

  async removeKey(name: string, id: string): Promise<boolean> {
    return this.#changeKeys(name, (keys) => {
      const kept = keys.filter((key) => key.id !== id);
      return kept.length === keys.length ? undefined : kept;
    });
  }

  async countUse(name: string, id: string, counter: number): Promise<boolean> {
    return this.#changeKeys(name, (keys) => {
      const used = keys.find((key): key is Passkey => key.type === "passkey" && key.id === id);
      // Most passkeys do not count, and say 0.
      const isMore = used !== undefined && (counter > used.counter || counter + used.counter === 0);
      return isMore ? keys.map((key) => (key === used ? { ...used, counter } : key)) : undefined;
    });
  }

  /** `change` returns undefined if nothing is to be changed. Returns whether something was. */
  async #changeKeys(
    name: string,
    change: (
      keys: readonly PersonKey[],
      people: readonly StoredPerson[],
    ) => readonly PersonKey[] | undefined,
  ): Promise<boolean> {
    let isChanged = false;
    await this.#storage.change((people) => {
      const person = findNamed(people, name);
      const keys = person && change(person.keys ?? [], people);
      isChanged = keys !== undefined;
      return keys && people.map((each) => (each === person ? { ...each, keys } : each));
    });
    return isChanged;
  }

  async remove(name: string): Promise<boolean> {
    let isFound = false;
    await this.#storage.change((people) => {
      const removed = findNamed(people, name);
      isFound = removed !== undefined;
      return isFound ? people.filter((person) => person !== removed) : undefined;
    });
    return isFound;
  }
}

const HASH = /^[0-9a-f]{64}$/;

function findHashed(people: readonly StoredPerson[], hash: string): StoredPerson | undefined {
  const given = Buffer.from(hash);
  let found: StoredPerson | undefined;
  for (const person of people) {
    // Not `find`: which one it is must not show in the time it takes.
    if (timingSafeEqual(given, Buffer.from(person.tokenHash))) found = person;
  }
  return found;
}

function findNamed(people: readonly StoredPerson[], name: string): StoredPerson | undefined {
  return (
    people.find((person) => person.name === name) ??
    people.find((person) => looksLike(person.name, name))
  );
}

/** Throws `role_exists`, `os_user_taken`, `invalid_name`. */
function withSettings(
  person: StoredPerson,
  { rights = person.rights, roles = person.roles ?? [], osUser = person.osUser }: PersonSettings,
  others: readonly StoredPerson[],
): StoredPerson {
  for (const role of roles) {
    assertName(role);
    const known = others.flatMap((other) => other.roles ?? []);
    const other = [...known, ...roles].find(
      (each) => looksLike(each, role) && !isSameName(each, role),
    );
    if (other !== undefined) {
      throw new JpError("role_exists", `The role ${role} looks like another one: ${other}.`, {
        hint: "Write it in the same letters, or choose another name.",
      });
    }
  }
  const taken = others.find((other) => osUser !== undefined && other.osUser === osUser);
  if (taken !== undefined) {
    throw new JpError("os_user_taken", `${osUser} is the OS user of ${taken.name}.`, {
      hint: "One OS user is one person: two who share it cannot be told apart.",
    });
  }
  const { osUser: _osUser, ...rest } = person;
  return {
    ...rest,
    rights: RIGHTS.filter((right) => rights.includes(right)),
    roles: roles.filter(
      (role, index) => roles.findIndex((each) => isSameName(each, role)) === index,
    ),
    ...(osUser !== undefined && osUser !== "" && { osUser }),
  };
}

function fromJson(value: unknown): StoredPerson {
  const shape = shapeOf(value, "people");
  const tokenHash = stringField(shape, "token_sha256");
  if (!HASH.test(tokenHash)) throw new SyntaxError("people.token_sha256: not a hash");
  const { rights, roles, keys, away } = shape.value;
  const known = isJsonArray(keys) ? keys.flatMap((key) => parseKey(key) ?? []) : [];
  const osUser = waysIn(shape.value).find((way) => typeof way["os_user"] === "string")?.["os_user"];
  return {
    name: stringField(shape, "name"),
    rights: RIGHTS.filter((right) => isJsonArray(rights) && rights.includes(right)),
    ...(isJsonArray(roles) && { roles: roles.filter((role) => typeof role === "string") }),
    ...(typeof osUser === "string" && { osUser }),
    ...parseAway(away),
    ...(known.length > 0 && { keys: known }),
    tokenHash,
    raw: shape.value,
  };
}

function parseAway(value: Json | undefined): Pick<Person, "away"> {
  if (!isJsonObject(value)) return {};
  const { to, until } = value;
  const time = typeof until === "string" ? new Date(until) : new Date(Number.NaN);
  const isKnown = typeof to === "string" && !Number.isNaN(time.getTime());
  return isKnown ? { away: { to, until: time } } : {};
}

/** How they authenticate, besides the token. */
function waysIn({ auth }: JsonObject): readonly JsonObject[] {
  return isJsonArray(auth) ? auth.filter(isJsonObject) : [];
}

function toJson(person: StoredPerson): Json {
  const { name, rights, roles = [], osUser, keys = [], away, tokenHash, raw = {} } = person;
  const { roles: _roles, auth: _auth, away: _away, keys: rawKeys, ...others } = raw;
  const unknown = isJsonArray(rawKeys) ? rawKeys.filter((key) => parseKey(key) === undefined) : [];
  const allKeys = [...keys.map(keyToJson), ...unknown];
  const ways = waysIn(raw).filter((way) => way["os_user"] === undefined);
  const auth = osUser === undefined ? ways : [{ os_user: osUser }, ...ways];
  return {
    ...others,
    name,
    rights,
    ...(roles.length > 0 && { roles }),
    ...(auth.length > 0 && { auth }),
    ...(away !== undefined && { away: { to: away.to, until: away.until.toISOString() } }),
    ...(allKeys.length > 0 && { keys: allKeys }),
    token_sha256: tokenHash,
  };
}

function toPerson({ name, rights, roles = [], osUser, keys = [], away }: StoredPerson): Person {
  return {
    name,
    rights,
    ...(roles.length > 0 && { roles }),
    ...(osUser !== undefined && { osUser }),
    ...(away !== undefined && { away }),
    ...(keys.length > 0 && { keys }),
  };
}

/** 256 random bits. */
export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

/** What is stored of a secret. */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

function assertName(name: string): void {
  const { length } = name;
  if (length > 0 && length <= MAX_NAME_LENGTH && !BAD_NAME.test(name)) return;
  throw new JpError("invalid_name", "This name cannot be used.", {
    hint: `A name has up to ${MAX_NAME_LENGTH} visible characters, and may have spaces inside.`,
  });
}

/**
 * Whether people would take one name for the other: they only differ in case, in how a letter is encoded, in spaces,
 * or in letters of other alphabets that look the same.
 */
export function looksLike(left: string, right: string): boolean {
  return skeletonOf(left) === skeletonOf(right);
}

function skeletonOf(name: string): string {
  return foldName(name).replaceAll(
    /\P{ASCII}/gu,
    (letter) => LATIN[LOOKALIKES.indexOf(letter)] ?? letter,
  );
}
