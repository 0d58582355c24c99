/** The people from the point of view of decisions: their roles, their substitutes, and their signatures. */
import { userInfo } from "node:os";
import {
  type Directory,
  hashToSign,
  isSameName,
  type KnownPerson,
  type PersonSigner,
} from "../../record/conversation/index.ts";
import type { PeopleTable } from "../../stores/index.ts";
import { hasSigned } from "./keys.ts";
import { confirmationOf, isConfirmed, type Person, type StoredPerson } from "./person.ts";
import { storageOf } from "./storage.ts";

export interface DirectoryOptions {
  /** The OS user of this process. */
  readonly osUser?: (() => string) | undefined;
  readonly now?: () => Date;
  /** Signs for the user of this process. Without it, no one can sign here. */
  readonly signerOf?: (person: Person | undefined) => PersonSigner;
}

/** The people, for the code that assigns decisions. Those in a database must be loaded first. */
export function openDirectory(
  place: string | PeopleTable,
  { osUser = () => userInfo().username, now = () => new Date(), signerOf }: DirectoryOptions = {},
): Directory {
  const storage = storageOf(place);
  const known = () => withAbsent(storage.read(), now());
  const findHere = () => {
    const user = osUser();
    const [person, ...others] = storage.read().filter((each) => each.osUser === user);
    // People who share an account cannot be told apart.
    return others.length > 0 ? undefined : person;
  };
  return {
    list: known,
    findHere: () => {
      const person = findHere();
      return person && known().find(({ id }) => id === person.id);
    },
    isSigned: (signed, signature) => {
      const person = storage.read().find(({ name }) => isSameName(name, signed.person));
      const hash = hashToSign(signed);
      return person?.keys?.some((key) => hasSigned(key, hash, signature)) === true;
    },
    ...(signerOf !== undefined && { findSigner: () => signerOf(findHere()) }),
  };
}

/** All people, with those they stand in for. */
function withAbsent(people: readonly StoredPerson[], now: Date): readonly KnownPerson[] {
  return people.map((person) => {
    const { id, name, roles = [] } = person;
    // An unconfirmed account does not count through a substitute either.
    const absent = people.filter(
      (each) =>
        each.away !== undefined &&
        each.away.until > now &&
        isSameName(each.away.to, name) &&
        isConfirmed(each),
    );
    const standsInFor = absent.map((each) => ({
      id: each.id,
      name: each.name,
      roles: each.roles ?? [],
    }));
    const confirmed = confirmationOf(person);
    return {
      id,
      name,
      roles,
      ...(standsInFor.length > 0 && { standsInFor }),
      ...(confirmed !== undefined && { confirmed }),
    };
  });
}
