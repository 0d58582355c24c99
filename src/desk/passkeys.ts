/**
 * Passkeys at the desk: what is to be signed, once and for a short time, and whether it was. What a signature has to be of, the
 * desk knows; whose keys there are, the people file.
 */
import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import {
  type DecisionSignature,
  type Directory,
  hashToSign,
  isSameName,
  type ToSign,
} from "../conversation/index.ts";
import type { Passkey } from "../people/index.ts";
import { type Clock, findJson, isJsonObject, loadModule } from "../util/index.ts";
import type { Caller } from "./access.ts";
import { ApiError } from "./http.ts";
import type { People } from "./port.ts";
import type { NewCredential } from "./registration.ts";

export interface PasskeyOptions {
  readonly people: People;
  readonly directory?: Directory;
  readonly clock: Clock;
  /** The address that people open. */
  readonly url: URL;
}

/** As a browser is asked for it. */
export interface SigningRequest {
  readonly nonce: string;
  /** The bytes to sign, in base64url. */
  readonly challenge: string;
  readonly rp_id: string;
  readonly credentials: readonly { readonly id: string; readonly transports: readonly string[] }[];
}

interface Issued {
  /** The `key` of the caller that it was made for. */
  readonly caller: string;
  readonly person: string;
  readonly expiresAt: number;
  /** Absent for a new passkey. */
  readonly toSign?: ToSign;
}

/** A person has to look for their phone. */
const CHALLENGE_MS = 2 * 60_000;
const MAX_CHALLENGES = 1000;
const MAX_PASSKEYS = 20;

export class Passkeys {
  readonly #options: PasskeyOptions;
  readonly #issued = new Map<string, Issued>();

  constructor(options: PasskeyOptions) {
    this.#options = options;
  }

  /** Undefined if browsers know no passkeys where the desk is: at an address such as 127.0.0.1. */
  get rpId(): string | undefined {
    const { hostname } = this.#options.url;
    return isIP(hostname.replaceAll(/[[\]]/g, "")) === 0 ? hostname : undefined;
  }

  /** Those of this person that work here. */
  async listOf(person: string): Promise<readonly Passkey[]> {
    const all = await this.#options.people.list();
    const keys = all.find(({ name }) => isSameName(name, person))?.keys ?? [];
    return keys.filter((key): key is Passkey => key.type === "passkey" && key.rpId === this.rpId);
  }

  /** What a browser has to sign. Throws an `ApiError`: `passkey_address`, `no_passkey`. */
  async request(toSign: ToSign, { key: caller }: Caller): Promise<SigningRequest> {
    const rpId = this.#getRpId();
    const { person, nonce } = toSign;
    const passkeys = await this.listOf(person);
    if (passkeys.length === 0) {
      throw new ApiError(409, "no_passkey", {
        message: "This has to be signed. Add a passkey first: open the menu with your name.",
      });
    }
    this.#issue(nonce, { caller, person, toSign });
    return {
      nonce,
      challenge: Buffer.from(hashToSign(toSign), "hex").toString("base64url"),
      rp_id: rpId,
      credentials: passkeys.map(({ id, transports = [] }) => ({ id, transports })),
    };
  }

  /** Uses up the nonce. Throws an `ApiError` unless this caller was asked for this signature: `signature_refused`. */
  async accept(signature: DecisionSignature, caller: Caller): Promise<void> {
    const { directory, people } = this.#options;
    const { toSign } = this.#take(signature.nonce, caller) ?? {};
    if (toSign === undefined || signature.type !== "webauthn") throw refused();
    const isHere = originIn(signature.clientData) === this.#options.url.origin;
    if (!isHere || directory?.isSigned?.(toSign, signature) !== true) throw refused();
    const counter = Buffer.from(signature.authenticatorData, "base64url").readUInt32BE(33);
    if (await people.countUse(toSign.person, signature.key, counter)) return;
    throw new ApiError(403, "passkey_copied", {
      message: "This passkey has signed before, more often than it says. It may have been copied.",
    });
  }

  /** Starts to add a passkey. Throws an `ApiError`: `passkey_address`, `own_token_needed`, `too_many_passkeys`. */
  async startAdding(caller: Caller) {
    const rpId = this.#getRpId();
    const name = ownName(caller);
    const known = await this.listOf(name);
    if (known.length >= MAX_PASSKEYS) {
      throw new ApiError(409, "too_many_passkeys", {
        message: "Remove one of your passkeys first.",
      });
    }
    const challenge = randomBytes(32).toString("base64url");
    this.#issue(challenge, { caller: caller.key, person: name });
    return { challenge, rp_id: rpId, name, known: known.map(({ id }) => id) };
  }

  /** Throws an `ApiError`: `passkey_refused`, and what `startAdding` throws. Throws `key_exists`. */
  async add(
    credential: NewCredential & { readonly challenge: string },
    transports: readonly string[],
    caller: Caller,
  ): Promise<Passkey> {
    const { people, clock, url } = this.#options;
    const rpId = this.#getRpId();
    const name = ownName(caller);
    const { challenge, id } = credential;
    const issued = this.#take(challenge, caller);
    const { findCredential } = await loadModule(() => import("./registration.ts"));
    const isAsked = issued !== undefined && issued.toSign === undefined && issued.person === name;
    const expected = { challenge, origin: url.origin, rpId };
    const found = isAsked ? findCredential(credential, expected) : undefined;
    if (found === undefined) {
      throw new ApiError(403, "passkey_refused", {
        message: "This passkey cannot be used: it has to verify who you are, on this page.",
      });
    }
    const added = clock.now().toISOString();
    const key: Passkey = { type: "passkey", id, rpId, added, transports, ...found };
    await people.addKey(name, key);
    return key;
  }

  #issue(nonce: string, issued: Omit<Issued, "expiresAt">): void {
    this.#issued.set(nonce, { ...issued, expiresAt: this.#now() + CHALLENGE_MS });
    const [oldest] = this.#issued.keys();
    if (this.#issued.size > MAX_CHALLENGES && oldest !== undefined) this.#issued.delete(oldest);
  }

  #take(nonce: string, { key }: Caller): Issued | undefined {
    const issued = this.#issued.get(nonce);
    if (issued?.caller !== key) return undefined;
    this.#issued.delete(nonce);
    return issued.expiresAt >= this.#now() ? issued : undefined;
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

/** Whoever has the link of the owner is not known well enough. */
function ownName({ person: { name, isOwner = false } }: Caller): string {
  if (!isOwner) return name;
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
    message: "This signature is not of this answer, was used already, or is too old. Try again.",
  });
}
