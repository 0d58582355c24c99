/**
 * The keys people sign decisions with, as data, and whether one of them made a signature. Private keys are elsewhere: in
 * an agent, a file, or a passkey that no program can read.
 */
import type { KeyObject } from "node:crypto";
import type { DecisionSignature } from "../../record/conversation/index.ts";
import {
  canonicalJson,
  findJson,
  integerField,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  nodeCrypto,
  objectField,
  optionalString,
  sha256,
  shapeOf,
  stringField,
} from "../../util/index.ts";

/** A key of one person. */
export type PersonKey = Ed25519Key | Passkey;

/** The part that verifies a signature. */
export type PublicPart =
  | Pick<Ed25519Key, "type" | "id" | "public">
  | Pick<Passkey, "type" | "id" | "public" | "rpId">;

export interface Ed25519Key {
  readonly type: "ed25519";
  /** The fingerprint, as `ssh-keygen -l` prints it. */
  readonly id: string;
  /** The 32 bytes, in base64. */
  readonly public: string;
  readonly added: string;
  /** The file with the private key; if absent, it is in the SSH agent. */
  readonly file?: string;
}

/** A passkey of a browser or phone. It signs for one host name of the desk only. */
export interface Passkey {
  readonly type: "passkey";
  /** The id of the credential, in base64url. */
  readonly id: string;
  /** A JSON Web Key. */
  readonly public: JsonObject;
  readonly added: string;
  /** The host name of the desk, without a port. */
  readonly rpId: string;
  /** Its signature counter, if it has one. */
  readonly counter: number;
  readonly transports?: readonly string[];
}

/** A key to add, and the id of one to remove. With both, one replaces the other. */
export interface KeyChange {
  readonly add?: PersonKey;
  readonly remove?: string;
}

/** Undefined for a kind this version does not know. Throws `ShapeError`. */
export function parseKey(json: Json): PersonKey | undefined {
  const shape = shapeOf(json, "keys");
  const { type } = shape.value;
  if (type !== "ed25519" && type !== "passkey") return undefined;
  const base = { id: stringField(shape, "id"), added: stringField(shape, "added") };
  if (type === "ed25519") {
    const file = optionalString(shape, "file");
    return {
      type,
      ...base,
      public: stringField(shape, "public"),
      ...(file !== undefined && { file }),
    };
  }
  const { transports } = shape.value;
  return {
    type,
    ...base,
    public: objectField(shape, "public").value,
    rpId: stringField(shape, "rp_id"),
    counter: integerField(shape, "counter"),
    ...(isJsonArray(transports) && {
      transports: transports.filter((each) => typeof each === "string"),
    }),
  };
}

export function keyToJson(key: PersonKey): JsonObject {
  if (key.type === "ed25519") return { ...key };
  const { rpId, transports, ...others } = key;
  return { ...others, rp_id: rpId, ...(transports !== undefined && { transports }) };
}

/** For an export: leaves out its location and counter. */
export function publicPartOf(key: PersonKey): PublicPart {
  const { type, id } = key;
  return type === "ed25519"
    ? { type, id, public: key.public }
    : { type, id, public: key.public, rpId: key.rpId };
}

export function publicPartToJson(key: PublicPart): JsonObject {
  if (key.type === "ed25519") return { ...key };
  const { rpId, ...others } = key;
  return { ...others, rp_id: rpId };
}

/** Undefined for a kind this version does not know. Throws `ShapeError`. */
export function parsePublicPart(json: JsonObject): PublicPart | undefined {
  const key = parseKey({ added: "", counter: 0, ...json });
  return key && publicPartOf(key);
}

/**
 * The hash that a passkey signs to allow a change of its person's keys: 32 bytes in hexadecimal. No decision has the same
 * hash.
 */
export function hashKeyChange(
  { add, remove }: KeyChange,
  { id, name }: { readonly id: string; readonly name: string },
  nonce: string,
): string {
  const signed = {
    purpose: "key_change",
    ...(add !== undefined && { add: publicPartToJson(publicPartOf(add)) }),
    ...(remove !== undefined && { remove }),
    person: { id, name },
    nonce,
  };
  return sha256(canonicalJson(signed));
}

const SSH_TYPE = "ssh-ed25519";
const KEY_BYTES = 32;

/** The key in SSH's encoding. */
export function sshBlobOf(publicKey: Buffer): Buffer {
  return Buffer.concat([sshString(Buffer.from(SSH_TYPE)), sshString(publicKey)]);
}

/** The 32 bytes of a key encoded by `sshBlobOf`. Undefined for anything else. */
export function findKeyIn(blob: Buffer): Buffer | undefined {
  const key = blob.subarray(-KEY_BYTES);
  return key.length === KEY_BYTES && blob.equals(sshBlobOf(key)) ? key : undefined;
}

export function sshString(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Such as `SHA256:47DEQpj8…`. */
export function fingerprintOf(publicKey: Buffer): string {
  const digest = nodeCrypto().createHash("sha256").update(sshBlobOf(publicKey)).digest("base64");
  return `SHA256:${digest.replace(/=+$/, "")}`;
}

/** Whether the key has signed these 32 bytes, in hexadecimal. Also false for an invalid signature. */
export function hasSigned(key: PublicPart, hash: string, signature: DecisionSignature): boolean {
  if (signature.key !== key.id) return false;
  const { createHash, verify } = nodeCrypto();
  const bytes = Buffer.from(hash, "hex");
  try {
    const object = toObject(key);
    if (signature.type === "ed25519") {
      return key.type === "ed25519" && verify(null, bytes, object, bytesOf(signature.sig));
    }
    if (key.type !== "passkey") return false;
    const [data, client] = [bytesOf(signature.authenticatorData), bytesOf(signature.clientData)];
    const signed = Buffer.concat([data, createHash("sha256").update(client).digest()]);
    // EdDSA keys hash by themselves.
    const algorithm = object.asymmetricKeyType === "ed25519" ? null : "sha256";
    return (
      isOf(key.rpId, data) &&
      isFor(key.rpId, bytes, client) &&
      verify(algorithm, signed, object, bytesOf(signature.sig))
    );
  } catch {
    return false;
  }
}

function toObject(key: PublicPart): KeyObject {
  const { createPublicKey } = nodeCrypto();
  if (key.type === "passkey") return createPublicKey({ key: { ...key.public }, format: "jwk" });
  const bytes = Buffer.from(key.public, "base64");
  if (fingerprintOf(bytes) !== key.id) throw new TypeError("another key");
  const x = bytes.toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const MIN_DATA_BYTES = 37;

/** Checks the authenticator's data: it signs for this host name, and has verified the user. */
function isOf(rpId: string, data: Buffer): boolean {
  if (data.length < MIN_DATA_BYTES) return false;
  const rpIdHash = nodeCrypto().createHash("sha256").update(rpId).digest();
  const flags = data[32] ?? 0;
  const isVerified = (flags & USER_PRESENT) !== 0 && (flags & USER_VERIFIED) !== 0;
  return isVerified && data.subarray(0, 32).equals(rpIdHash);
}

/** Checks the browser's data: the signed challenge and its origin. */
function isFor(rpId: string, bytes: Buffer, client: Buffer): boolean {
  const json = findJson(client.toString("utf8"));
  if (!isJsonObject(json)) return false;
  const { type, challenge, origin, crossOrigin } = json;
  if (type !== "webauthn.get" || challenge !== bytes.toString("base64url")) return false;
  const host = typeof origin === "string" ? URL.parse(origin)?.hostname : undefined;
  const isThere = host === rpId || host?.endsWith(`.${rpId}`) === true;
  return isThere && crossOrigin !== true;
}

/** Decodes canonical base64url. Throws if it is anything else. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") !== text) throw new SyntaxError("not base64url");
  return bytes;
}
