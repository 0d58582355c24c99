/** Who decisions are assigned to, and their further terms, as data. The judge decides whether someone qualifies. */
import type { Addressee } from "../tool/index.ts";
import { isJsonObject, type Json } from "../../util/index.ts";
import type { Terms } from "./event.ts";

/** Who may make a decision: any person if all are absent. At most one of `for` and `forAny` is set. */
export interface ForWhom {
  /** The name of the only person who may decide. */
  readonly for?: string | undefined;
  /** People and roles, any of whom may decide. */
  readonly forAny?: readonly Addressee[] | undefined;
  readonly terms?: Terms | undefined;
  /** The ids of the people named, by name: see `DecisionSubject`. */
  readonly personIds?: Readonly<Record<string, string>> | undefined;
}

/** Whether only some people may decide. */
export function isForSome({ for: person, forAny, terms }: ForWhom): boolean {
  return person !== undefined || forAny !== undefined || terms !== undefined;
}

/** Whether it needs known people: a name alone proves nothing then. */
export function isForKnown({ forAny = [], terms }: ForWhom): boolean {
  return terms !== undefined || forAny.some((each) => "role" in each);
}

/** Whether decisions have to be signed. */
export function isForSigners({ terms }: ForWhom): boolean {
  return terms?.isSigned === true;
}

/** The number of equal votes it takes. */
export function quorumOf({ terms }: ForWhom): number {
  return terms?.quorum ?? 1;
}

/** Whether no one decides it alone. */
export function isForSeveral(whom: ForWhom): boolean {
  return quorumOf(whom) > 1;
}

/** `ada or someone with the role finance`. Names are not escaped: neutralize them for a terminal. */
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
 * Narrows the addressees to those that a tool names for its question. Names match only names, and roles only roles,
 * because a person's roles may change. No one may decide if they have none in common.
 */
export function narrowWhom(whom: ForWhom, to: readonly Addressee[] | undefined): ForWhom {
  if (to === undefined) return whom;
  const { for: person, forAny, terms } = whom;
  const isOpen = person === undefined && forAny === undefined;
  const both = isOpen ? to : to.filter((each) => findAddressee(whom, each) !== undefined);
  const [first, ...others] = both;
  const isOne = first !== undefined && others.length === 0 && "user" in first;
  const people: ForWhom = isOne ? { for: first.user } : { forAny: both };
  if (terms !== undefined) return { ...people, terms };
  // If a name alone proved nothing before, it still does not.
  return isForKnown(whom) && !isForKnown(people) ? { ...people, terms: {} } : people;
}

/** Whether both have the same addressees and terms, in the same order. */
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

/** The JSON form in the record and on every surface. */
export type WhomJson = {
  readonly for?: string;
  readonly for_any?: readonly Addressee[];
  readonly terms?: TermsJson;
  readonly person_ids?: Readonly<Record<string, string>>;
};

/** The terms of a decision. `asker` is the person who started the turn, if known. */
type TermsJson = {
  readonly quorum?: number;
  readonly refusal?: "counts";
  readonly not_by?: "asker";
  readonly asker?: string;
  readonly proof?: "signed";
  readonly unknown?: true;
};

export function whomToJson({ for: person, forAny, terms, personIds }: ForWhom): WhomJson {
  return {
    ...(person !== undefined && { for: person }),
    ...(forAny !== undefined && { for_any: forAny.map((each) => ({ ...each })) }),
    ...(terms !== undefined && { terms: termsToJson(terms) }),
    ...(personIds !== undefined && { person_ids: personIds }),
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

/** Reads the output of `termsToJson`, or of another version. */
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

/** The entry for this person or role, if there is one. */
export function findAddressee(
  { for: person, forAny }: ForWhom,
  who: Addressee,
): Addressee | undefined {
  const all: readonly Addressee[] = person === undefined ? (forAny ?? []) : [{ user: person }];
  return all.find((each) => {
    if ("user" in each) return "user" in who && isSameName(each.user, who.user);
    return "role" in who && isSameName(each.role, who.role);
  });
}

/** Ignores case, whitespace and letter encoding. */
export function isSameName(left: string, right: string): boolean {
  return foldName(left) === foldName(right);
}

/** The same text for every spelling of a name. All comparisons of people or roles use it. */
export function foldName(name: string): string {
  // The capital ẞ has to become ß first: only ß becomes SS.
  const folded = name.normalize("NFKC").toLowerCase().toUpperCase().toLowerCase();
  return folded.replaceAll(/\s+/g, " ").trim();
}
