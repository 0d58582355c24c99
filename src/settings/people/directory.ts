/** The people as those know them who let someone decide: who has which roles, who stands in for whom, and whose signature it is. */
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

/** Everyone, with those in whose place they decide. */
function withAbsent(people: readonly StoredPerson[], now: Date): readonly KnownPerson[] {
  return people.map((person) => {
    const { id, name, roles = [] } = person;
    // An account that does not count yet does not count through someone else either.
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
