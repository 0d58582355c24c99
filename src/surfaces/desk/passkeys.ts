/**
 * Passkeys at the desk: issues short-lived, single-use challenges and verifies their signatures. The desk knows what
 * has to be signed; the people file holds the keys.
 */
import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import {
  type DecisionSignature,
  type Directory,
  hashToSign,
  isSameName,
  type ToSign,
} from "../../record/conversation/index.ts";
import {
  hashKeyChange,
  hashOf,
  hasSigned,
  type KeyChange,
  newSecret,
  type Passkey,
  type PeopleLogEntry,
} from "../../settings/people/index.ts";
import { type Clock, findJson, isJsonObject, loadModule } from "../../util/index.ts";
import type { Caller } from "./access.ts";
import { ApiError, notFound } from "./http.ts";
import type { PeopleReader, Person } from "./port.ts";
import type { NewCredential } from "./registration.ts";

export interface PasskeyOptions {
  readonly people: PeopleReader;
  readonly directory?: Directory;
  readonly clock: Clock;
  /** The address that people open. */
  readonly url: URL;
}

/** A signing request as the browser gets it. */
export interface SigningRequest {
  readonly nonce: string;
  /** The bytes to sign, in base64url. */
  readonly challenge: string;
  readonly rp_id: string;
  readonly credentials: readonly { readonly id: string; readonly transports: readonly string[] }[];
}

/** A passkey that a browser created, and the id of the one it replaces. */
export interface ProposedPasskey extends NewCredential {
  readonly challenge: string;
  readonly transports: readonly string[];
  readonly replaces?: string | undefined;
}

/** Either the change is made, or one of the person's passkeys has to sign it first. */
export type Proposal =
  | { readonly type: "changed"; readonly entry: PeopleLogEntry; readonly passkey: Passkey }
  | { readonly type: "to_sign"; readonly request: SigningRequest };

interface Issued {
  /** The `key` of the caller it was issued to. */
  readonly caller: string;
  readonly expiresAt: number;
  readonly purpose: Purpose;
}

type Purpose =
  | { readonly type: "decision"; readonly toSign: ToSign }
  /** For a new passkey. `linkHash` is the hash of the link that allows it, if no passkey does. */
  | { readonly type: "creation"; readonly personId: string; readonly linkHash?: string | undefined }
  /** `hash` is the hash that one of the person's passkeys has to sign. */
  | { readonly type: "key_change"; readonly change: KeyChange; readonly hash: string };

/** Long enough to find a phone. */
const CHALLENGE_MS = 2 * 60_000;
const MAX_CHALLENGES = 1000;
const MAX_PASSKEYS = 20;

export class Passkeys {
  readonly #options: PasskeyOptions;
  readonly #issued = new Map<string, Issued>();

  constructor(options: PasskeyOptions) {
    this.#options = options;
  }

  /** Undefined at an IP address such as 127.0.0.1, where browsers do not support passkeys. */
  get rpId(): string | undefined {
    const { hostname } = this.#options.url;
    return isIP(hostname.replaceAll(/[[\]]/g, "")) === 0 ? hostname : undefined;
  }

  /** The caller's passkeys that work here. The owner's link has none. */
  async listOwn({ person: { id, isOwner = false } }: Caller): Promise<readonly Passkey[]> {
    return isOwner ? [] : this.#list((person) => person.id === id);
  }

  /** The challenge for a browser to sign. Throws an `ApiError`: `passkey_address`, `no_passkey`. */
  async request(toSign: ToSign, caller: Caller): Promise<SigningRequest> {
    const { person, nonce } = toSign;
    const rpId = this.#getRpId();
    const passkeys = await this.#list(({ name }) => isSameName(name, person));
    if (passkeys.length === 0) {
      throw new ApiError(409, "no_passkey", {
        message: "This has to be signed. Add a passkey first: open the menu with your name.",
      });
    }
    this.#issue(nonce, caller, { type: "decision", toSign });
    return toRequest({ nonce, hash: hashToSign(toSign), rpId, passkeys });
  }

  /** Uses up the nonce. Throws an `ApiError` unless this caller was asked for this signature: `signature_refused`. */
  async accept(signature: DecisionSignature, caller: Caller): Promise<void> {
    const purpose = this.#take(signature.nonce, caller);
    if (purpose?.type !== "decision") throw refused();
    const { toSign } = purpose;
    const isSigned = this.#options.directory?.isSigned?.(toSign, signature) === true;
    await this.#assertUsed(signature, toSign.person, isSigned);
  }

  /**
   * Starts to add or replace a passkey. Needs another of the person's passkeys that works here, or a link's secret.
   * Throws an `ApiError`: `passkey_address`, `own_token_needed`, `link_needed`, `link_refused`.
   */
  async startAdding(caller: Caller, link?: string) {
    const rpId = this.#getRpId();
    const { id: personId, name } = ownPerson(caller);
    const known = await this.listOwn(caller);
    const linkHash = link === undefined ? undefined : hashOf(link);
    if (linkHash === undefined && known.length === 0) throw linkNeeded(name);
    if (linkHash !== undefined && !(await this.#options.people.hasLink(personId, linkHash))) {
      throw linkRefused();
    }
    const challenge = randomBytes(32).toString("base64url");
    this.#issue(challenge, caller, { type: "creation", personId, linkHash });
    return { challenge, rp_id: rpId, name, known: known.map(({ id }) => id) };
  }

  /**
   * Takes the new passkey. With a link, adds it at once. Throws an `ApiError`: `passkey_refused`, `too_many_passkeys`,
   * `not_found`, and the errors of `startAdding` and `changeKeys`.
   */
  async propose(proposed: ProposedPasskey, caller: Caller): Promise<Proposal> {
    const { clock, url } = this.#options;
    const rpId = this.#getRpId();
    const person = ownPerson(caller);
    const { challenge, id, transports, replaces: remove } = proposed;
    const purpose = this.#take(challenge, caller);
    const { findCredential } = await loadModule(() => import("./registration.ts"));
    const isAsked = purpose?.type === "creation" && purpose.personId === person.id;
    const expected = { challenge, origin: url.origin, rpId };
    const found = isAsked ? findCredential(proposed, expected) : undefined;
    if (!isAsked || found === undefined) throw passkeyRefused();
    const known = await this.listOwn(caller);
    if (remove === undefined && known.length >= MAX_PASSKEYS) throw tooMany();
    if (remove !== undefined && !known.some((key) => key.id === remove)) throw unknownPasskey();
    const added = clock.now().toISOString();
    const passkey: Passkey = { type: "passkey", id, rpId, added, transports, ...found };
    const change = { add: passkey, ...(remove !== undefined && { remove }) };
    const { linkHash } = purpose;
    if (linkHash === undefined) {
      return { type: "to_sign", request: this.#requestChange(change, known, caller) };
    }
    return { type: "changed", entry: await this.#change(change, { linkHash }, caller), passkey };
  }

  /**
   * Starts to remove a passkey. Returns the challenge for one of the caller's passkeys to sign. Throws an `ApiError`:
   * `not_found`, `passkey_address`.
   */
  async startRemoving(id: string, caller: Caller): Promise<SigningRequest> {
    this.#getRpId();
    const known = await this.listOwn(caller);
    if (!known.some((key) => key.id === id)) throw unknownPasskey();
    return this.#requestChange({ remove: id }, known, caller);
  }

  /**
   * Makes the key change that the caller's passkey has signed, and uses up its nonce. Throws an `ApiError`:
   * `signature_refused`, `passkey_copied`. Throws what `changeKeys` throws.
   */
  async acceptChange(signature: DecisionSignature, caller: Caller): Promise<PeopleLogEntry> {
    const purpose = this.#take(signature.nonce, caller);
    if (purpose?.type !== "key_change") throw refused();
    const { hash, change } = purpose;
    const known = await this.listOwn(caller);
    const isSigned = known.some((key) => hasSigned(key, hash, signature));
    await this.#assertUsed(signature, caller.person.name, isSigned);
    return this.#change(change, { passkey: signature.key }, caller);
  }

  async #list(isWhose: (person: Person) => boolean): Promise<readonly Passkey[]> {
    const { keys = [] } = (await this.#options.people.list()).find(isWhose) ?? {};
    return keys.filter((key): key is Passkey => key.type === "passkey" && key.rpId === this.rpId);
  }

  #requestChange(change: KeyChange, passkeys: readonly Passkey[], caller: Caller): SigningRequest {
    const rpId = this.#getRpId();
    const nonce = newSecret();
    const hash = hashKeyChange(change, ownPerson(caller), nonce);
    this.#issue(nonce, caller, { type: "key_change", change, hash });
    return toRequest({ nonce, hash, rpId, passkeys });
  }

  #change(
    change: KeyChange,
    allowedBy: { readonly linkHash: string } | { readonly passkey: string },
    caller: Caller,
  ): Promise<PeopleLogEntry> {
    const { id, name } = ownPerson(caller);
    const editor = this.#options.people.as({ channel: "desk", id, name });
    return editor.changeKeys(id, change, allowedBy);
  }

  /** Throws an `ApiError` if the signature is invalid, was made for another page, or its passkey was copied. */
  async #assertUsed(
    signature: DecisionSignature,
    person: string,
    isSigned: boolean,
  ): Promise<void> {
    const { people, url } = this.#options;
    if (!isSigned || signature.type !== "webauthn") throw refused();
    if (originIn(signature.clientData) !== url.origin) throw refused();
    const counter = Buffer.from(signature.authenticatorData, "base64url").readUInt32BE(33);
    if (await people.countUse(person, signature.key, counter)) return;
    throw new ApiError(403, "passkey_copied", {
      message: "This passkey has signed before, more often than it says. It may have been copied.",
    });
  }

  #issue(nonce: string, { key: caller }: Caller, purpose: Purpose): void {
    this.#issued.set(nonce, { caller, purpose, expiresAt: this.#now() + CHALLENGE_MS });
    const [oldest] = this.#issued.keys();
    if (this.#issued.size > MAX_CHALLENGES && oldest !== undefined) this.#issued.delete(oldest);
  }

  #take(nonce: string, { key }: Caller): Purpose | undefined {
    const issued = this.#issued.get(nonce);
    if (issued?.caller !== key) return undefined;
    this.#issued.delete(nonce);
    return issued.expiresAt >= this.#now() ? issued.purpose : undefined;
  }

  #getRpId(): string {
    const { rpId } = this;
    if (rpId !== undefined) return rpId;
    throw new ApiError(409, "passkey_address", {
      message:
        "Passkeys need a name, and this page has only an address. Whoever runs the desk can start it with --origin.",
    });
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

interface ToSignHere {
  readonly nonce: string;
  /** In hexadecimal. */
  readonly hash: string;
  readonly rpId: string;
  readonly passkeys: readonly Passkey[];
}

function toRequest({ nonce, hash, rpId, passkeys }: ToSignHere): SigningRequest {
  return {
    nonce,
    challenge: Buffer.from(hash, "hex").toString("base64url"),
    rp_id: rpId,
    credentials: passkeys.map(({ id, transports = [] }) => ({ id, transports })),
  };
}

/** The owner's link does not identify a person well enough. Throws an `ApiError`: `own_token_needed`. */
function ownPerson({ person: { id, name, isOwner = false } }: Caller) {
  if (!isOwner && id !== undefined) return { id, name };
  throw new ApiError(403, "own_token_needed", {
    message: "To add a passkey, log in with your own token: jp serve people add NAME",
  });
}

function originIn(clientData: string): string | undefined {
  const json = findJson(Buffer.from(clientData, "base64url").toString("utf8"));
  const origin = isJsonObject(json) ? json["origin"] : undefined;
  return typeof origin === "string" ? origin : undefined;
}

function refused(): ApiError {
  return new ApiError(403, "signature_refused", {
    message: "This signature is of something else, was used already, or is too old. Try again.",
  });
}

function passkeyRefused(): ApiError {
  return new ApiError(403, "passkey_refused", {
    message: "This passkey cannot be used: it has to verify who you are, on this page.",
  });
}

function linkNeeded(name: string): ApiError {
  return new ApiError(403, "link_needed", {
    message:
      "Your first passkey at this address takes a link, which whoever runs the desk makes for you: " +
      `jp serve people link ${JSON.stringify(name)}`,
  });
}

function linkRefused(): ApiError {
  return new ApiError(403, "link_refused", {
    message: "This link was used already, has expired, or is for someone else.",
  });
}

function tooMany(): ApiError {
  return new ApiError(409, "too_many_passkeys", { message: "Remove one of your passkeys first." });
}

function unknownPasskey(): ApiError {
  return notFound("You have no such passkey here.");
}
