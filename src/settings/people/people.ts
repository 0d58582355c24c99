/**
 * The people who may use the desk and make decisions: finds them by their tokens, and changes them. Each change is logged
 * with its actor and channel. What someone may decide is determined elsewhere (`record/conversation/whom.ts`).
 */
import { userInfo } from "node:os";
import { isSameName } from "../../record/conversation/index.ts";
import type { PeopleTable } from "../../stores/index.ts";
import { JpError, nodeCrypto } from "../../util/index.ts";
import type { KeyChange, Passkey, PersonKey } from "./keys.ts";
import {
  type Actor,
  actorToJson,
  keyDetails,
  OWNER_ID,
  type PeopleLogCode,
  type PeopleLogDetails,
  type PeopleLogEntry,
} from "./log.ts";
import { assertName, looksLike } from "./names.ts";
import {
  type Absence,
  deriveId,
  HASH,
  isConfirmed,
  isIndependent,
  type Maker,
  type Person,
  type Right,
  RIGHTS,
  type StoredPerson,
  toPerson,
} from "./person.ts";
import { hashOf, newSecret } from "./secret.ts";
import { type ChangedPeople, type PeopleStorage, storageOf } from "./storage.ts";

/** Someone with an account. */
export type Member = Person & { readonly id: string };

/** A person's settings besides their name. Absent ones stay unchanged, or are empty. */
export type PersonSettings = Partial<Pick<Person, "rights" | "roles" | "osUser">>;

/** Looks up people by their tokens. Changes only the counters of passkeys. */
export interface PeopleReader {
  /**
   * Finds a person by the SHA-256 hash of their token, in hexadecimal. Takes the same time for everyone. An unconfirmed
   * account does not have the right to administer.
   */
  findByHash(hash: string): Promise<Member | undefined>;
  list(): Promise<readonly Member[]>;
  /** The changes to all people, or to one, oldest first. */
  readLog(personId?: string): Promise<readonly PeopleLogEntry[]>;
  /** Whether the hash belongs to a link that this person can still use. */
  hasLink(personId: string, hash: string): Promise<boolean>;
  /**
   * Updates the counter of a passkey. Returns false if it has not increased: the passkey was copied, or the signature
   * replayed.
   */
  countUse(name: string, id: string, counter: number): Promise<boolean>;
  /** Changes people on behalf of someone at the desk. */
  as(actor: Extract<Actor, { readonly channel: "desk" }>): DeskEditor;
}

/** The changes available at the desk. All methods throw `actor_unknown` if the actor was removed or is not confirmed. */
export interface DeskEditor {
  /** Adds an account that must be confirmed. Otherwise like `People.add`. */
  add(name: string, rights: readonly Right[]): Promise<string>;
  /** Returns false if there is no such person. */
  remove(name: string): Promise<boolean>;
  /** Confirms by id. Returns false if there is no such person, or nothing to confirm. Throws `not_independent`. */
  confirm(personId: string): Promise<boolean>;
  /**
   * Adds, removes or replaces a key. Returns the log entry. Throws `person_not_found`, `key_exists`, `key_not_found`, and
   * `key_change_refused` if the link was used or has expired, or if the passkey that allows it is not theirs.
   */
  changeKeys(personId: string, change: KeyChange, allowedBy: KeyPermit): Promise<PeopleLogEntry>;
}

/**
 * Permits a person to change their keys at the desk: their passkey that has signed the change, or a link from the command
 * line.
 */
export type KeyPermit = { readonly passkey: string } | { readonly linkHash: string };

/** The changes available on the command line. */
export interface People extends PeopleReader {
  /**
   * Returns the token, which is stored only as a hash. Throws `person_exists`, `role_exists`, `os_user_taken`,
   * `invalid_name`.
   */
  add(name: string, rights: readonly Right[], settings?: PersonSettings): Promise<string>;
  /** Returns false if there is no such person. Throws `role_exists`, `os_user_taken`, `invalid_name`. */
  change(name: string, settings: PersonSettings): Promise<boolean>;
  /**
   * Without `away`, they are back. Returns false if there is no such person. Throws `person_not_found`,
   * `invalid_absence`.
   */
  setAway(name: string, away?: Absence): Promise<boolean>;
  /** Returns false if there is no such person. */
  remove(name: string): Promise<boolean>;
  /** Confirms by id. Returns false if there is no such person, or nothing to confirm. */
  confirm(personId: string): Promise<boolean>;
  /** Returns a new token for the same person; the old one stops working. Undefined if there is no such person. */
  renewToken(name: string): Promise<string | undefined>;
  /** Returns the secret of a link that replaces the previous one. Undefined if there is no such person. */
  createLink(name: string): Promise<string | undefined>;
  /** Returns false if there is no such person. Throws `key_exists`. */
  addKey(name: string, key: PersonKey): Promise<boolean>;
  /** Returns false if there is no such person, or they have no such key. */
  removeKey(name: string, id: string): Promise<boolean>;
}

/** Makes leaked tokens and link secrets recognizable: in a log, a commit or a paste. */
const TOKEN_PREFIX = "jpd_";
const LINK_PREFIX = "jpl_";
const LINK_MS = 24 * 3_600_000;
/** Limits how long a removed token is accepted while a database is unreachable. */
const MAX_AGE_MS = 5000;

export interface PeopleOptions {
  /** The OS user of this process. */
  readonly osUser?: () => string;
  readonly now?: () => Date;
}

/**
 * The people in `people.json` of a folder, or in a database. The file is read again when it has changed, so that removing
 * a person in another process takes effect at once; a database sends a notification, which takes a moment. Reading throws
 * `people_invalid` if the file is damaged or not private, and `store_unreachable`.
 */
export function openPeople(
  place: string | PeopleTable,
  { osUser = findOsUser, now = () => new Date() }: PeopleOptions = {},
): People {
  const actor = () => ({ channel: "cli", osUser: osUser() }) as const;
  return new StoredPeople(storageOf(place), actor, now);
}

/** In a container, the user may have no name. */
export function findOsUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}

/** A change to one person, and its log entry. */
interface Edit {
  readonly after: StoredPerson;
  /** Absent if the change is not logged. */
  readonly what?: PeopleLogCode;
  readonly details?: PeopleLogDetails;
}

type FindPerson = (people: readonly StoredPerson[]) => StoredPerson | undefined;
type EditPerson = (person: StoredPerson, people: readonly StoredPerson[]) => Edit | undefined;

class StoredPeople implements People {
  readonly #storage: PeopleStorage;
  readonly #actor: () => Actor;
  readonly #now: () => Date;

  constructor(storage: PeopleStorage, actor: () => Actor, now: () => Date) {
    this.#storage = storage;
    this.#actor = actor;
    this.#now = now;
  }

  as(actor: Extract<Actor, { readonly channel: "desk" }>): DeskEditor {
    return new StoredPeople(this.#storage, () => actor, this.#now);
  }

  async findByHash(hash: string): Promise<Member | undefined> {
    if (!HASH.test(hash)) return undefined;
    await this.#storage.load(MAX_AGE_MS);
    const found = findHashed(this.#storage.read(), hash);
    if (found !== undefined) return toCaller(found);
    await this.#storage.load(); // They may just have been added elsewhere.
    const added = findHashed(this.#storage.read(), hash);
    return added && toCaller(added);
  }

  async list(): Promise<readonly Member[]> {
    await this.#storage.load();
    return this.#storage.read().map(toPerson);
  }

  readLog(personId?: string): Promise<readonly PeopleLogEntry[]> {
    return this.#storage.readLog(personId);
  }

  async hasLink(personId: string, hash: string): Promise<boolean> {
    await this.#storage.load();
    const person = findById(this.#storage.read(), personId);
    return person !== undefined && isLinkOf(person, hash, this.#now());
  }

  async add(
    name: string,
    rights: readonly Right[],
    settings: PersonSettings = {},
  ): Promise<string> {
    assertName(name);
    const token = `${TOKEN_PREFIX}${newSecret()}`;
    const tokenHash = hashOf(token);
    const id = deriveId(tokenHash);
    await this.#storage.change((people, removed) => {
      const other = people.find((person) => looksLike(person.name, name));
      if (other !== undefined) {
        throw new JpError("person_exists", `A person named ${other.name} exists already.`, {
          hint: "Choose another name, or remove them first: jp serve people rm NAME",
        });
      }
      if (removed.has(id) || findById(people, id) !== undefined) throw new Error("id given twice");
      const person = { id, name, rights, tokenHash, ...this.#makerIn(people) };
      const added = withSettings(person, settings, people);
      const { rights: given, roles = [], osUser } = added;
      return {
        people: [...people, added],
        entry: this.#entry("person_added", added, {
          rights: given,
          ...(roles.length > 0 && { roles }),
          ...(osUser !== undefined && { os_user: osUser }),
        }),
      };
    });
    return token;
  }

  async change(name: string, settings: PersonSettings): Promise<boolean> {
    const { rights, roles, osUser } = settings;
    return this.#edit(named(name), (person, people) => {
      const others = people.filter((other) => other !== person);
      const after = withSettings(person, settings, others);
      const details = {
        ...(rights !== undefined && { rights: after.rights }),
        ...(roles !== undefined && { roles: after.roles ?? [] }),
        ...(osUser !== undefined && { os_user: osUser }),
      };
      return { after, what: "person_changed", details };
    });
  }

  async setAway(name: string, away?: Absence): Promise<boolean> {
    return this.#edit(named(name), ({ away: _away, ...person }, people) => {
      if (away === undefined) return { after: person, what: "person_back" };
      const to = findNamed(people, away.to);
      if (to === undefined) {
        throw new JpError("person_not_found", `No person is called ${away.to}.`, {
          hint: "To list them: jp serve people ls",
        });
      }
      if (to.id === person.id) {
        throw new JpError("invalid_absence", "Whoever is away cannot stand in for themself.");
      }
      const after = { ...person, away: { ...away, to: to.name } };
      const details = { to: to.name, until: away.until.toISOString() };
      return { after, what: "person_away", details };
    });
  }

  async confirm(personId: string): Promise<boolean> {
    return this.#edit(withId(personId), (person, people) => {
      if (isConfirmed(person)) return undefined;
      const actor = this.#actor();
      const { madeBy } = this.#findActor(people) ?? {};
      if (actor.channel === "desk") assertIndependent({ id: actor.id, madeBy }, person);
      return { after: { ...person, confirmedAt: this.#now() }, what: "person_confirmed" };
    });
  }

  async renewToken(name: string): Promise<string | undefined> {
    const token = `${TOKEN_PREFIX}${newSecret()}`;
    const isRenewed = await this.#edit(named(name), (person) => ({
      after: { ...person, tokenHash: hashOf(token) },
      what: "token_renewed",
    }));
    return isRenewed ? token : undefined;
  }

  async createLink(name: string): Promise<string | undefined> {
    const secret = `${LINK_PREFIX}${newSecret()}`;
    const isCreated = await this.#edit(named(name), (person) => {
      const until = new Date(this.#now().getTime() + LINK_MS);
      const after = { ...person, link: { hash: hashOf(secret), until } };
      return { after, what: "link_created", details: { until: until.toISOString() } };
    });
    return isCreated ? secret : undefined;
  }

  async addKey(name: string, key: PersonKey): Promise<boolean> {
    return this.#edit(named(name), (person, people) => changeKeys(person, { add: key }, people));
  }

  async removeKey(name: string, id: string): Promise<boolean> {
    return this.#edit(named(name), (person, people) =>
      person.keys?.some((key) => key.id === id) === true
        ? changeKeys(person, { remove: id }, people)
        : undefined,
    );
  }

  async changeKeys(
    personId: string,
    change: KeyChange,
    allowedBy: KeyPermit,
  ): Promise<PeopleLogEntry> {
    const changed = await this.#editLogged(withId(personId), (person, people) => {
      if (!isPermitOf(person, allowedBy, this.#now())) {
        const message = "This link or passkey does not allow it, or no longer does.";
        throw new JpError("key_change_refused", message);
      }
      const { link: _used, ...unlinked } = person;
      const isLink = "linkHash" in allowedBy;
      const edit = changeKeys(isLink ? unlinked : person, change, people);
      const allowed = isLink ? "link" : allowedBy.passkey;
      return { ...edit, details: { ...edit.details, allowed_by: allowed } };
    });
    if (changed?.entry !== undefined) return changed.entry;
    throw new JpError("person_not_found", "This person was removed.");
  }

  async countUse(name: string, id: string, counter: number): Promise<boolean> {
    return this.#edit(named(name), (person) => {
      const { keys = [] } = person;
      const used = keys.find((key): key is Passkey => key.type === "passkey" && key.id === id);
      // Most passkeys do not count, and report 0.
      const isMore = used !== undefined && (counter > used.counter || counter + used.counter === 0);
      if (!isMore) return undefined;
      return {
        after: { ...person, keys: keys.map((key) => (key === used ? { ...used, counter } : key)) },
      };
    });
  }

  async remove(name: string): Promise<boolean> {
    let isFound = false;
    await this.#storage.change((people) => {
      const removed = findNamed(people, name);
      isFound = removed !== undefined;
      if (removed === undefined) return undefined;
      this.#findActor(people);
      const others = people.filter((person) => person !== removed);
      return {
        // Someone else may get the name, and must not stand in for people who chose this one.
        people: others.map((person) => withoutSubstitute(person, removed.name)),
        entry: this.#entry("person_removed", removed),
      };
    });
    return isFound;
  }

  /** `edit` returns undefined if there is nothing to do. Returns whether something was changed. */
  async #edit(find: FindPerson, edit: EditPerson): Promise<boolean> {
    return (await this.#editLogged(find, edit)) !== undefined;
  }

  /** Returns the change with its log entry. */
  async #editLogged(find: FindPerson, edit: EditPerson): Promise<ChangedPeople | undefined> {
    let changed: ChangedPeople | undefined;
    await this.#storage.change((people) => {
      const person = find(people);
      const made = person && edit(person, people);
      changed = made && {
        people: people.map((each) => (each === person ? made.after : each)),
        ...(made.what !== undefined && {
          entry: this.#entry(made.what, made.after, made.details),
        }),
      };
      return changed;
    });
    return changed;
  }

  #entry(
    what: PeopleLogCode,
    { id, name }: StoredPerson,
    details: PeopleLogDetails = {},
  ): PeopleLogEntry {
    const at = this.#now().toISOString();
    return { at, what, person_id: id, name, by: actorToJson(this.#actor()), ...details };
  }

  /** The maker of an account, if it is made at the desk. */
  #makerIn(people: readonly StoredPerson[]): Pick<StoredPerson, "madeBy"> {
    const maker = this.#findActor(people);
    const actor = this.#actor();
    return actor.channel === "cli" ? {} : { madeBy: [actor.id, ...(maker?.madeBy ?? [])] };
  }

  /** The person at the desk who makes a change. Undefined for its owner and the command line. Throws `actor_unknown`. */
  #findActor(people: readonly StoredPerson[]): StoredPerson | undefined {
    const actor = this.#actor();
    if (actor.channel === "cli" || actor.id === OWNER_ID) return undefined;
    const person = findById(people, actor.id);
    if (person !== undefined && isConfirmed(person)) return person;
    throw new JpError("actor_unknown", `${actor.name} was removed, or is not confirmed.`);
  }
}

/** Throws `not_independent`. */
function assertIndependent(administrator: Maker, account: StoredPerson): void {
  if (isIndependent(administrator, account)) return;
  throw new JpError("not_independent", `Someone else has to confirm ${account.name}.`, {
    hint:
      "An account is confirmed by an administrator who did not make it, and neither made its maker nor was made by them; " +
      "or on the command line: jp serve people confirm NAME",
  });
}

/** Ends their sessions and earlier permissions. Throws `key_exists`, `key_not_found`. */
function changeKeys(
  person: StoredPerson,
  { add, remove }: KeyChange,
  people: readonly StoredPerson[],
): Edit {
  const { keys = [], keyChanges = 0 } = person;
  const removed = keys.find(({ id }) => id === remove);
  if (remove !== undefined && removed === undefined) {
    throw new JpError("key_not_found", `${person.name} has no key ${remove}.`);
  }
  const owner = people.find((each) => each.keys?.some(({ id }) => id === add?.id));
  if (owner !== undefined) {
    throw new JpError("key_exists", `${owner.name} has this key already.`, {
      hint: "One key is one person: two who share it cannot be told apart.",
    });
  }
  const kept = keys.filter((key) => key !== removed);
  const after = {
    ...person,
    keys: add === undefined ? kept : [...kept, add],
    keyChanges: keyChanges + 1,
  };
  if (add === undefined) {
    return {
      after,
      what: "key_removed",
      details: removed === undefined ? {} : keyDetails(removed),
    };
  }
  if (remove === undefined) return { after, what: "key_added", details: keyDetails(add) };
  return { after, what: "key_replaced", details: { ...keyDetails(add), replaced: remove } };
}

/** The person with the rights that currently apply. */
function toCaller(stored: StoredPerson): Member {
  const person = toPerson(stored);
  if (isConfirmed(stored)) return person;
  return { ...person, rights: person.rights.filter((right) => right !== "administer") };
}

function isPermitOf(person: StoredPerson, permit: KeyPermit, now: Date): boolean {
  if ("linkHash" in permit) return isLinkOf(person, permit.linkHash, now);
  return person.keys?.some(({ id, type }) => type === "passkey" && id === permit.passkey) === true;
}

function isLinkOf({ link }: StoredPerson, hash: string, now: Date): boolean {
  if (link === undefined || link.until < now || !HASH.test(hash)) return false;
  return nodeCrypto().timingSafeEqual(Buffer.from(link.hash), Buffer.from(hash));
}

function withoutSubstitute(person: StoredPerson, name: string): StoredPerson {
  const { away, ...rest } = person;
  return away !== undefined && isSameName(away.to, name) ? rest : person;
}

function findHashed(people: readonly StoredPerson[], hash: string): StoredPerson | undefined {
  const { timingSafeEqual } = nodeCrypto();
  const given = Buffer.from(hash);
  let found: StoredPerson | undefined;
  for (const person of people) {
    // Not `find`: the time it takes must not reveal the match.
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

function findById(people: readonly StoredPerson[], id: string): StoredPerson | undefined {
  return people.find((person) => person.id === id);
}

function named(name: string): FindPerson {
  return (people) => findNamed(people, name);
}

function withId(id: string): FindPerson {
  return (people) => findById(people, id);
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
