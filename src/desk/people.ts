/** Stores who may use the desk in a private file of the user. Of the tokens, it has only hashes. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import path from "node:path";
import { foldName } from "../conversation/index.ts";
import { PrivateFile } from "../storage/index.ts";
import {
  arrayField,
  isJsonArray,
  JpError,
  messageOf,
  parseJson,
  shapeOf,
  stringField,
} from "../util/index.ts";
import type { People, Person } from "./port.ts";
import type { Right } from "./wire.ts";

/** All rights, in the order in which they are stored and shown. */
export const RIGHTS: readonly Right[] = ["see", "answer", "approve", "administer"];
/** What a person may do unless told otherwise. */
export const DEFAULT_RIGHTS: readonly Right[] = ["see", "answer", "approve"];

/** So that a token is recognized where it does not belong: in a log, a commit or a paste. */
const TOKEN_PREFIX = "jpd_";
const SECRET_BYTES = 32;
const MAX_NAME_LENGTH = 64;
/** Control and format characters, line breaks, lone surrogates, what is drawn as nothing, and spaces around. */
const BAD_NAME = /^\s|\s$|[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** Cyrillic and Greek letters that look like Latin ones, small or capital; those follow in the same order. */
const LOOKALIKES = "авԁеһніјкӏморԛсѕтхуԝѵαβεηικμνορτυχγ";
const LATIN = "abdehhijklmopqcstxywvabehikmvoptuxy";

/**
 * The people in `people.json` of this folder. The file is read again when it has changed, so that removing a person
 * in another process counts at once. Reading throws `people_invalid` if the file is damaged or not private.
 */
export function openPeople(folder: string): People {
  return new PeopleFile(folder);
}

interface StoredPerson extends Person {
  readonly tokenHash: string;
}

class PeopleFile implements People {
  readonly #file: PrivateFile<readonly StoredPerson[]>;

  constructor(folder: string) {
    this.#file = new PrivateFile<readonly StoredPerson[]>(path.join(folder, "people.json"), {
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

  async findByHash(hash: string): Promise<Person | undefined> {
    if (!HASH.test(hash)) return undefined;
    const given = Buffer.from(hash);
    let found: StoredPerson | undefined;
    for (const person of this.#file.read()) {
      // Not `find`: which one it is must not show in the time it takes.
      if (timingSafeEqual(given, Buffer.from(person.tokenHash))) found = person;
    }
    return found === undefined ? undefined : toPerson(found);
  }

  async list(): Promise<readonly Person[]> {
    return this.#file.read().map(toPerson);
  }

  async add(name: string, rights: readonly Right[]): Promise<string> {
    assertName(name);
    const token = `${TOKEN_PREFIX}${newSecret()}`;
    await this.#file.change((people) => {
      const other = people.find((person) => looksLike(person.name, name));
      if (other !== undefined) {
        throw new JpError("person_exists", `A person named ${other.name} exists already.`, {
          hint: "Choose another name, or remove them first: jp serve people rm NAME",
        });
      }
      const ordered = RIGHTS.filter((right) => rights.includes(right));
      return [...people, { name, rights: ordered, tokenHash: hashOf(token) }];
    });
    return token;
  }

  async remove(name: string): Promise<boolean> {
    let isFound = false;
    await this.#file.change((people) => {
      const removed =
        people.find((person) => person.name === name) ??
        people.find((person) => looksLike(person.name, name));
      isFound = removed !== undefined;
      return isFound ? people.filter((person) => person !== removed) : undefined;
    });
    return isFound;
  }
}

const HASH = /^[0-9a-f]{64}$/;

function fromJson(value: unknown): StoredPerson {
  const shape = shapeOf(value, "people");
  const tokenHash = stringField(shape, "token_sha256");
  if (!HASH.test(tokenHash)) throw new SyntaxError("people.token_sha256: not a hash");
  const { rights } = shape.value;
  return {
    name: stringField(shape, "name"),
    rights: RIGHTS.filter((right) => isJsonArray(rights) && rights.includes(right)),
    tokenHash,
  };
}

function toJson({ name, rights, tokenHash }: StoredPerson) {
  return { name, rights, token_sha256: tokenHash };
}

function toPerson({ name, rights }: StoredPerson): Person {
  return { name, rights };
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
