/**
 * The people a process knows, who decisions can be assigned to, and how it identifies someone who answers. The judge
 * decides whether their answer counts.
 */
import type { Addressee } from "../tool/index.ts";
import type { AnswerEvent } from "./decision.ts";
import type { Decider, DecisionSignature, DecisionVote, ToSign } from "./event.ts";
import type { Timestamp } from "./timestamp.ts";
import {
  findAddressee,
  foldName,
  type ForWhom,
  isForKnown,
  isForSigners,
  isForSome,
  isSameName,
} from "./whom.ts";

/** A person identified by more than a name that anyone can type. */
export interface KnownPerson {
  /** Never reassigned, even after the person is removed. Defaults to the name. */
  readonly id?: string | undefined;
  readonly name: string;
  readonly roles: readonly string[];
  /** People who are away now, and have delegated their decisions to this person. */
  readonly standsInFor?: readonly Pick<KnownPerson, "id" | "name" | "roles">[] | undefined;
  /**
   * For an account created at the desk: when someone else confirmed it, or false while no one has. Until then, and for
   * requests from before, it cannot decide anything that names people. Absent for every other account, which counts at
   * once.
   */
  readonly confirmed?: Timestamp | false | undefined;
}

/** The known people. Queried each time, because someone may have been removed. */
export interface Directory {
  /** If it is empty, decisions that need known people wait. Throws `people_invalid`. */
  list(): readonly KnownPerson[];
  /** The person using this process: on a terminal, the one whose OS user runs it. Throws `people_invalid`. */
  findHere(): KnownPerson | undefined;
  /** Whether a key of the person has signed it. Without this, no signature counts. Throws `people_invalid`. */
  isSigned?(signed: ToSign, signature: DecisionSignature): boolean;
  /** Signs as the person using this process. Throws `people_invalid`. */
  findSigner?(): PersonSigner | undefined;
  /** While no one is known, the user of the machine may decide for people, but not sign for them. */
  readonly ownerAlone?: boolean;
  /** Only for a replay in memory, which knows no people: all its decisions were valid at the time. */
  readonly isReplay?: boolean;
}

/** A key of a person that this process can use. */
export interface PersonSigner {
  /** The key's name, for the person to read. Absent if they have none that can be used here. */
  readonly key?: string;
  /** Throws `cannot_sign`, with the reason and a fix. */
  sign(toSign: ToSign): Promise<DecisionSignature>;
}

/** An empty directory, in which the owner of the machine stands in for people. */
const OWNER_ALONE: Directory = {
  list: () => [],
  findHere: () => undefined,
  ownerAlone: true,
};

/** The same people; the owner stands in while there are none. */
export function withOwnerAlone(directory: Directory): Directory {
  return {
    list: () => directory.list(),
    findHere: () => directory.findHere(),
    isSigned: (signed, signature) => directory.isSigned?.(signed, signature) === true,
    findSigner: () => directory.findSigner?.(),
    ownerAlone: true,
  };
}

/** The directory that a program passes. */
export function knownPeople({
  directory,
  ownerAlone = false,
}: {
  readonly directory?: Directory;
  readonly ownerAlone?: boolean;
}): { readonly directory?: Directory } {
  if (!ownerAlone) return directory === undefined ? {} : { directory };
  return { directory: directory === undefined ? OWNER_ALONE : withOwnerAlone(directory) };
}

/** A snapshot of the people, as data. */
export interface KnownPeople {
  readonly list: readonly KnownPerson[];
  readonly here?: KnownPerson | undefined;
  readonly ownerAlone: boolean;
  /** See `Directory`. */
  readonly isReplay?: boolean;
}

/** Facts a process knows beyond the record. */
export interface Knowledge {
  /** Undefined if the process has no directory. */
  readonly people: KnownPeople | undefined;
  /** Answers and votes with a valid signature. Checked only if one is required. */
  readonly signed?: ReadonlySet<AnswerEvent | DecisionVote>;
}

/** Undefined without a directory. Reads nothing if anyone may decide. Throws `people_invalid`. */
export function peopleFor(
  whom: ForWhom,
  directory: Directory | undefined,
): KnownPeople | undefined {
  if (directory === undefined) return undefined;
  const { ownerAlone = false, isReplay = false } = directory;
  if (!isForSome(whom)) return { list: [], ownerAlone };
  if (isReplay) return { list: [], ownerAlone, isReplay };
  return { list: directory.list(), here: directory.findHere(), ownerAlone };
}

/** Unique among all people, past and present. */
export function idOf({ id, name }: Pick<KnownPerson, "id" | "name">): string {
  return id ?? foldName(name);
}

export function findPerson(
  list: readonly KnownPerson[],
  name: string | undefined,
): KnownPerson | undefined {
  return name === undefined ? undefined : list.find((each) => isSameName(each.name, name));
}

/** The ids of the people it names, as far as they are known. Empty if none of them has one. */
export function idsOfNamed(
  whom: ForWhom,
  people: KnownPeople | undefined,
): Pick<ForWhom, "personIds"> {
  const { for: person, forAny = [], terms } = whom;
  const users = forAny.flatMap((each) => ("user" in each ? [each.user] : []));
  const names = [person, terms?.notBy?.name, ...users].filter((name) => name !== undefined);
  const ids = names.flatMap((name) => {
    const id = findPerson(people?.list ?? [], name)?.id;
    return id === undefined ? [] : [[name, id] as const];
  });
  return ids.length === 0 ? {} : { personIds: Object.fromEntries(ids) };
}

export type UserDecider = Extract<Decider, { readonly kind: "user" }>;

/**
 * How jp knows who answered. `os_user`: the person using this machine, on a terminal or through the desk's own link.
 * `token`: a holder of the desk's token. `program`: a program vouches for it. `client`: another program's form, which
 * may have answered by itself. `owner`: the owner of the machine stood in, because no people are known.
 */
export type Authentication = "os_user" | "token" | "program" | "client" | "owner";

/** Someone who decides: how they were reached, and how they are identified. */
export interface Claimant {
  readonly channel: string;
  /** Proves nothing, unless `auth` does. */
  readonly name?: string | undefined;
  readonly auth: Exclude<Authentication, "owner">;
}

/** The person for the record: with their id and the role they decide in, if that matters. */
export function identify(
  whom: ForWhom,
  { channel, name, auth }: Claimant,
  people: KnownPeople | undefined,
): UserDecider {
  const said = { kind: "user", channel, ...(name !== undefined && { name }), auth } as const;
  const { list = [], here, ownerAlone = false } = people ?? {};
  if (!isForSome(whom) || auth === "client") return said;
  if (list.length === 0) {
    const isOwners = isForKnown(whom) && !isForSigners(whom);
    const standsIn = ownerAlone && isOwners && auth !== "token";
    return standsIn ? { ...said, auth: "owner" } : said;
  }
  const isHere = auth === "os_user" || (auth === "program" && name === undefined);
  const person = isHere ? here : findPerson(list, name);
  // With known people, an unverified name means nothing.
  if (person === undefined) return { kind: "user", channel, auth };
  const { id } = person;
  const known = {
    kind: "user",
    channel,
    name: person.name,
    ...(id !== undefined && { personId: id }),
    auth,
  } as const;
  return { ...known, ...seatFor(whom, person) };
}

/** Their own name or role, or else that of someone they stand in for. */
function seatFor(whom: ForWhom, person: KnownPerson): Pick<UserDecider, "role" | "onBehalfOf"> {
  const own = seatOf(whom, person);
  if (own !== undefined) return own;
  for (const absent of person.standsInFor ?? []) {
    const seat = seatOf(whom, absent);
    if (seat !== undefined) return { onBehalfOf: absent.name, ...seat };
  }
  return {};
}

/** Undefined if it is not assigned to them. Terms alone allow anyone who is known. */
export function seatOf(
  whom: ForWhom,
  { id, name, roles }: Pick<KnownPerson, "id" | "name" | "roles">,
): Pick<UserDecider, "role"> | undefined {
  if (isBarred(whom, { id, name })) return undefined;
  if (whom.for === undefined && whom.forAny === undefined) return {};
  const user: Addressee = { user: name };
  if (findAddressee(whom, user) !== undefined && isMeant(whom, { id, name })) return {};
  const role = roles.find((each) => findAddressee(whom, { role: each }) !== undefined);
  return role === undefined ? undefined : { role };
}

/** Whether a name on record means this person, rather than an earlier holder of the name. */
function isMeant({ personIds = {} }: ForWhom, person: Pick<KnownPerson, "id" | "name">): boolean {
  const recorded = Object.entries(personIds).find(([name]) => isSameName(name, person.name));
  return recorded === undefined || recorded[1] === idOf(person);
}

/** Whether this person is barred because they started the turn. */
export function isBarred(whom: ForWhom, person: Pick<KnownPerson, "id" | "name">): boolean {
  const { name: asker } = whom.terms?.notBy ?? {};
  if (asker === undefined) return false;
  const { personIds = {} } = whom;
  const recorded = Object.entries(personIds).find(([name]) => isSameName(name, asker))?.[1];
  return recorded === undefined ? isSameName(asker, person.name) : recorded === idOf(person);
}
