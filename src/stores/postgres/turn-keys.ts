/**
 * Proves whose turn a record ends with. Many can write to a database, and an approval on record makes a tool run. So
 * each writer signs the whole turn, from its start to the last entry, and a turn whose last signature is not by an
 * accepted key is someone else's: see `ConversationWriter.isOwnTurn`.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { acceptedFor, type TurnKeys } from "./store-options.ts";
import type { TurnDigest } from "./turn-state.ts";

/** The last signature of a turn. */
export interface TurnSignature {
  /** A public key: see `publicKeyText`. */
  readonly key: string;
  readonly signature: string;
  /** The counter that is signed with the turn, in decimal. Null if an earlier version of jp has signed it. */
  readonly counter: string | null;
}

/** The signer of a store. A machine's own key counts for the tenant of the store, as a signature names it. */
export class TurnSigner {
  readonly #privateKey: KeyObject;
  readonly #own: string;
  readonly #accepted: ReadonlySet<string>;

  constructor(tenant: string, { privateKey, accepted = [] }: TurnKeys) {
    this.#privateKey = typeof privateKey === "string" ? createPrivateKey(privateKey) : privateKey;
    this.#own = publicKeyText(createPublicKey(this.#privateKey));
    this.#accepted = new Set([this.#own, ...acceptedFor(tenant, accepted)]);
  }

  /** `counter`: larger than that of any earlier state of the conversation. */
  sign(digest: TurnDigest, counter: number): TurnSignature {
    const message = messageOf(digest, String(counter));
    const signature = sign(null, message, this.#privateKey).toString("base64url");
    return { key: this.#own, signature, counter: String(counter) };
  }

  /** The keys whose turns may continue here. */
  get accepted(): readonly string[] {
    return [...this.#accepted];
  }

  /** Whether an accepted key has signed it. */
  accepts(digest: TurnDigest, { key, signature, counter }: TurnSignature): boolean {
    if (!this.#accepted.has(key)) return false;
    try {
      const object = createPublicKey({
        key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(key, "base64").toString("base64url") },
        format: "jwk",
      });
      return verify(null, messageOf(digest, counter), object, Buffer.from(signature, "base64url"));
    } catch {
      return false; // An invalid key in the config.
    }
  }
}

/** The key's 32 bytes in base64. Throws if it is of another kind. */
export function publicKeyText(key: KeyObject): string {
  const { crv, x } = key.export({ format: "jwk" });
  if (crv !== "Ed25519" || x === undefined) throw new TypeError("it is not an Ed25519 key");
  return Buffer.from(x, "base64url").toString("base64");
}

function messageOf(digest: TurnDigest, counter: string | null): Buffer {
  return Buffer.from(counter === null ? `jp turn ${digest}` : `jp turn ${counter} ${digest}`);
}
