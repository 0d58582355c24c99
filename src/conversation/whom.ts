/**
 * Whom decisions are for, and whether someone is one of them. Whatever lets a person decide asks here: prompts, commands, the
 * desk, and the turn that takes their answer up. Who a person is and how that was found out, only those know.
 */
import type { Addressee } from "../tool/index.ts";
import { isJsonObject, type Json } from "../util/index.ts";
import type { Decider, DecisionSignature, Terms, ToSign } from "./event.ts";

/** Whom a decision is for. Any person may make it if all are absent. At most one of `for` and `forAny` is set. */
export interface ForWhom {
  /** The name of the only person who may decide. */
  readonly for?: string | undefined;
  /** Any of these may. */
  readonly forAny?: readonly Addressee[] | undefined;
  readonly terms?: Terms | undefined;
}

/** Someone who is known by more than a name that anyone can type. */
export interface KnownPerson {
  readonly name: string;
  readonly roles: readonly string[];
  /** Those who are away now, and have handed to this person what they would decide. */
  readonly standsInFor?: readonly Pick<KnownPerson, "name" | "roles">[] | undefined;
}

/** Who is known. Asked each time, because someone may have been removed. */
export interface Directory {
  /** If there is no one, the owner decides everything. Throws `people_invalid`. */
  list(): readonly KnownPerson[];
  /** Who uses this process: on a terminal, the one whose OS user runs it. Throws `people_invalid`. */
  findHere(): KnownPerson | undefined;
  /** Whether a key of the person has signed it. Without this, no signature counts. Throws `people_invalid`. */
  isSigned?(signed: ToSign, signature: DecisionSignature): boolean;
  /** Signs as who uses this process. Throws `people_invalid`. */
  findSigner?(): PersonSigner | undefined;
}

/** A key of a person that this process can use. */
export interface PersonSigner {
  /** Which key, for the person to read. Absent if they have none that can be used here. */
  readonly key?: string;
  /** Throws `cannot_sign`, and says why and what to do. */
  sign(toSign: ToSign): Promise<DecisionSignature>;
}

type UserDecider = Extract<Decider, { readonly kind: "user" }>;

/**
 * `os_user`: of the process. `token`: of the desk. `program`: a program says so. `owner`: no people are known, so whoever uses
 * this machine decides.
 */
export type Authentication = "os_user" | "token" | "program" | "owner";

/** Someone who decides: how they were reached, and how they are known. */
export interface Claimant {
  readonly channel: string;
  /** Not a proof of anything, unless `auth` is. */
  readonly name?: string | undefined;
  readonly auth: Exclude<Authentication, "owner">;
}

/** Whether only some people may decide. */
export function isForSome({ for: person, forAny, terms }: ForWhom): boolean {
  return person !== undefined || forAny !== undefined || terms !== undefined;
}

/** Then a name alone proves nothing. */
export function isForKnown({ forAny = [], terms }: ForWhom): boolean {
  return terms !== undefined || forAny.some((each) => "role" in each);
}

/** Whether whoever decides has to sign it. */
export function isForSigners({ terms }: ForWhom): boolean {
  return terms?.isSigned === true;
}

/** The person as the record names them, with the role in which they decide. */
export function identify(
  whom: ForWhom,
  { channel, name, auth }: Claimant,
  directory?: Directory,
): UserDecider {
  const unproven = { kind: "user", channel, ...(name !== undefined && { name }) } as const;
  if (!isForSome(whom) || (!isForKnown(whom) && mayDecide(whom, unproven))) return unproven;
  const people = directory?.list() ?? [];
  if (people.length === 0) return isForKnown(whom) ? { ...unproven, auth: "owner" } : unproven;
  const person = auth === "os_user" ? directory?.findHere() : findPerson(people, name);
  if (person === undefined) return unproven;
  const proven = { kind: "user", channel, name: person.name, auth } as const;
  const own = { ...proven, ...roleIn(whom, person) };
  const inPlace = mayDecide(whom, own) ? undefined : placeOf(whom, person, own);
  if (inPlace !== undefined) return { ...proven, ...inPlace };
  return isForKnown(whom) ? own : unproven;
}

/** The role in which they may decide, if they have one. */
function roleIn(whom: ForWhom, { roles }: Pick<KnownPerson, "roles">): { role?: string } {
  const role = roles.find((each) => isNamed(whom, { role: each }));
  return role === undefined ? {} : { role };
}

/** In whose place they may decide. Undefined if in no one's. */
function placeOf(
  whom: ForWhom,
  { standsInFor = [] }: KnownPerson,
  by: Pick<UserDecider, "name" | "auth">,
): Pick<UserDecider, "role" | "onBehalfOf"> | undefined {
  const places = standsInFor.map((each) => ({ onBehalfOf: each.name, ...roleIn(whom, each) }));
  return places.find((place) => mayDecide(whom, { name: by.name, auth: by.auth, ...place }));
}

/** Whether this person may decide. Of roles, only the one counts in which they do. */
export function mayDecide(whom: ForWhom, { name, auth, role, onBehalfOf }: Named): boolean {
  if (!isForSome(whom)) return true;
  if (isForKnown(whom)) {
    if (auth === "owner") return true;
    if (auth === undefined) return false;
  }
  // Whoever may not decide does not do so through someone else.
  const isBarred = [name, onBehalfOf ?? name].some(
    (each) => explainTerms(whom, each) !== undefined,
  );
  if (isBarred) return false;
  if (whom.for === undefined && whom.forAny === undefined) return true;
  const asWhom = onBehalfOf ?? name;
  return (
    (asWhom !== undefined && isNamed(whom, { user: asWhom })) ||
    (role !== undefined && isNamed(whom, { role }))
  );
}

/** As far as it matters for whether they may decide. */
type Named = {
  readonly [Key in "name" | "auth" | "role" | "onBehalfOf"]?: UserDecider[Key] | undefined;
};

/** Why this person cannot meet the terms, whatever their roles. */
function explainTerms({ terms }: ForWhom, name: string | undefined): string | undefined {
  if (terms?.isUnknown === true)
    return "a newer version of jp has asked this, and has to decide it";
  if (terms?.notBy === undefined) return undefined;
  const { name: asker } = terms.notBy;
  if (asker === undefined) {
    return "it is not known who started the turn, and whoever did cannot decide this";
  }
  const isAsker = name !== undefined && isSameName(asker, name);
  return isAsker ? "whoever started the turn cannot decide this" : undefined;
}

/** Why this person may not decide. Undefined if they may. */
export function explainPerson(whom: ForWhom, person: Named): string | undefined {
  if (mayDecide(whom, person)) return undefined;
  if (whom.forAny?.length === 0) return "no one can answer this, it can only be cancelled";
  const isKnown = person.auth !== undefined;
  return (
    (isKnown ? explainTerms(whom, person.name) : undefined) ??
    `only ${describeWhom(whom)} can answer this`
  );
}

/** The same for a decision that someone else has written down: it counts only if those who are known now could make it. */
export function explainDecider(
  whom: ForWhom,
  by: Decider | undefined,
  directory?: Directory,
): string | undefined {
  if (by?.kind !== "user") return undefined;
  if (!isForKnown(whom) && by.onBehalfOf === undefined) return explainPerson(whom, by);
  const people = directory?.list() ?? [];
  if (people.length === 0 && by.onBehalfOf === undefined) return undefined;
  const person = findPerson(people, by.name);
  const isKnown = person !== undefined && by.auth !== undefined && by.auth !== "owner";
  if (!isKnown) return explainPerson(whom, {});
  const { name } = person;
  const { auth, onBehalfOf } = by;
  if (onBehalfOf === undefined) return explainPerson(whom, { name, auth, ...roleIn(whom, person) });
  const absent = person.standsInFor?.find((each) => isSameName(each.name, onBehalfOf));
  const inPlace = absent && { onBehalfOf: absent.name, ...roleIn(whom, absent) };
  return explainPerson(whom, { name, auth, ...inPlace });
}

/** `ada or someone with the role finance`. Names are as they are: neutralize them for a terminal. */
export function describeWhom({ for: person, forAny, terms }: ForWhom): string {
  const { quorum = 1, notBy } = terms ?? {};
  if (forAny?.length === 0) return "no one";
  const who =
    quorum > 1 ? describeSeveral(quorum, forAny) : describePeople({ for: person, forAny });
  return notBy === undefined ? who : `${who}, other than whoever started the turn`;
}

function describeSeveral(quorum: number, forAny: readonly Addressee[] = []): string {
  const [first, ...others] = forAny.map((each) =>
    "user" in each ? each.user : `people with the role ${each.role}`,
  );
  if (first === undefined) return `${quorum} people`;
  if (others.length > 0) return `${quorum} of these: ${[first, ...others].join(", ")}`;
  return `${quorum} ${first}`;
}

function describePeople({ for: person, forAny = [] }: ForWhom): string {
  if (person !== undefined) return person;
  const names = forAny.map((each) =>
    "user" in each ? each.user : `someone with the role ${each.role}`,
  );
  const last = names.at(-1) ?? "anyone who is known";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} or ${last}`;
}

/**
 * Those of both, where a tool says whom its question is for: by name, or by role. Whether a person has a role may change, so one is
 * never in the other. No one, if both have no one in common.
 */
export function narrowWhom(whom: ForWhom, to: readonly Addressee[] | undefined): ForWhom {
  if (to === undefined) return whom;
  const { for: person, forAny, terms } = whom;
  const isOpen = person === undefined && forAny === undefined;
  const both = isOpen ? to : to.filter((each) => isNamed(whom, each));
  const [first, ...others] = both;
  const isOne = first !== undefined && others.length === 0 && "user" in first;
  const people: ForWhom = isOne ? { for: first.user } : { forAny: both };
  if (terms !== undefined) return { ...people, terms };
  // Where a name alone proved nothing, it still does not.
  return isForKnown(whom) && !isForKnown(people) ? { ...people, terms: {} } : people;
}

/** Whether both are for the same, in the same order. */
export function isSameWhom(left: ForWhom, right: ForWhom): boolean {
  const [one, other] = [left, right].map(({ for: person, forAny, terms }) => {
    const all = person === undefined ? (forAny ?? []) : [{ user: person }];
    const names = all.map((each) =>
      "user" in each ? ["user", foldName(each.user)] : ["role", foldName(each.role)],
    );
    const { notBy, ...others } = terms ?? {};
    return JSON.stringify([names, notBy !== undefined, termsToJson(others)]);
  });
  return one === other;
}

/** As the record and every surface write it. */
export type WhomJson = {
  readonly for?: string;
  readonly for_any?: readonly Addressee[];
  readonly terms?: TermsJson;
};

/** What a decision takes besides someone who may make it. `asker` is who has started the turn, as far as that is known. */
export type TermsJson = {
  readonly quorum?: number;
  readonly refusal?: "counts";
  readonly not_by?: "asker";
  readonly asker?: string;
  readonly proof?: "signed";
  readonly unknown?: true;
};

export function whomToJson({ for: person, forAny, terms }: ForWhom): WhomJson {
  return {
    ...(person !== undefined && { for: person }),
    ...(forAny !== undefined && { for_any: forAny.map((each) => ({ ...each })) }),
    ...(terms !== undefined && { terms: termsToJson(terms) }),
  };
}

function termsToJson({ quorum, countsRefusals, notBy, isSigned, isUnknown }: Terms): TermsJson {
  return {
    ...(quorum !== undefined && { quorum }),
    ...(countsRefusals === true && { refusal: "counts" }),
    ...(notBy !== undefined && { not_by: "asker" }),
    ...(notBy?.name !== undefined && { asker: notBy.name }),
    ...(isSigned === true && { proof: "signed" }),
    ...(isUnknown === true && { unknown: true }),
  };
}

const TERMS = new Set(["quorum", "refusal", "not_by", "asker", "proof"]);

/** Of what `termsToJson` returns, or another version. */
export function parseTerms(json: Json): Terms {
  if (!isJsonObject(json)) return { isUnknown: true };
  const { quorum, refusal, not_by: notBy, asker, proof } = json;
  const isQuorum = typeof quorum === "number" && Number.isSafeInteger(quorum) && quorum > 0;
  const isKnown =
    Object.keys(json).every((key) => TERMS.has(key)) &&
    (quorum === undefined || isQuorum) &&
    (refusal === undefined || refusal === "counts") &&
    (notBy === undefined || notBy === "asker") &&
    (asker === undefined || typeof asker === "string") &&
    (proof === undefined || proof === "signed");
  return {
    ...(isQuorum && { quorum }),
    ...(refusal === "counts" && { countsRefusals: true }),
    ...(notBy !== undefined && { notBy: typeof asker === "string" ? { name: asker } : {} }),
    ...(proof !== undefined && { isSigned: true }),
    ...(!isKnown && { isUnknown: true }),
  };
}

function isNamed({ for: person, forAny }: ForWhom, who: Addressee): boolean {
  const all: readonly Addressee[] = person === undefined ? (forAny ?? []) : [{ user: person }];
  return all.some((each) => {
    if ("user" in each) return "user" in who && isSameName(each.user, who.user);
    return "role" in who && isSameName(each.role, who.role);
  });
}

function findPerson(people: readonly KnownPerson[], name: string | undefined) {
  return name === undefined ? undefined : people.find((each) => isSameName(each.name, name));
}

/** Upper and lower case, spaces, and how letters are encoded do not matter. */
export function isSameName(left: string, right: string): boolean {
  return foldName(left) === foldName(right);
}

/** The same for all ways to write a name. Whatever compares names of people or roles compares this. */
export function foldName(name: string): string {
  // The capital ẞ has to become ß first: only that one becomes SS.
  const folded = name.normalize("NFKC").toLowerCase().toUpperCase().toLowerCase();
  return folded.replaceAll(/\s+/g, " ").trim();
}
