/**
 * The keys with which people sign what they decide, as data, and whether one of them has signed something. Private keys are
 * elsewhere: in an agent, a file, or a passkey that no program can read.
 */
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { DecisionSignature } from "../../record/conversation/index.ts";
import {
  canonicalJson,
  findJson,
  integerField,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  objectField,
  optionalString,
  sha256,
  shapeOf,
  stringField,
} from "../../util/index.ts";

/** A key of one person. */
export type PersonKey = Ed25519Key | Passkey;

/** What checks a signature. */
export type PublicPart =
  | Pick<Ed25519Key, "type" | "id" | "public">
  | Pick<Passkey, "type" | "id" | "public" | "rpId">;

export interface Ed25519Key {
  readonly type: "ed25519";
  /** As `ssh-keygen -l` prints it. */
  readonly id: string;
  /** The 32 bytes, in base64. */
  readonly public: string;
  readonly added: string;
  /** Where the private key is: in this file, or else in the SSH agent. */
  readonly file?: string;
}

/** Of a browser or a phone. It signs for one name of the desk only. */
export interface Passkey {
  readonly type: "passkey";
  /** The id of the credential, in base64url. */
  readonly id: string;
  /** A JSON Web Key. */
  readonly public: JsonObject;
  readonly added: string;
  /** The name of the desk: without a port. */
  readonly rpId: string;
  /** How often it has signed, as far as it counts. */
  readonly counter: number;
  readonly transports?: readonly string[];
}

/** A key that a person gets, and the id of one that they lose. With both, one replaces the other. */
export interface KeyChange {
  readonly add?: PersonKey;
  readonly remove?: string;
}

/** Undefined for a kind that this version does not know. Throws `ShapeError`. */
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

/** For an export: without where it is and how often it was used. */
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

/** Undefined for a kind that this version does not know. Throws `ShapeError`. */
export function parsePublicPart(json: JsonObject): PublicPart | undefined {
  const key = parseKey({ added: "", counter: 0, ...json });
  return key && publicPartOf(key);
}

/** What a passkey signs to allow a change of its person's keys, in hexadecimal digits: 32 bytes. No decision has the same. */
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

/** The key as SSH writes it. */
export function sshBlobOf(publicKey: Buffer): Buffer {
  return Buffer.concat([sshString(Buffer.from(SSH_TYPE)), sshString(publicKey)]);
}

/** The 32 bytes in what `sshBlobOf` returns. Undefined for any other. */
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
  const digest = createHash("sha256").update(sshBlobOf(publicKey)).digest("base64");
  return `SHA256:${digest.replace(/=+$/, "")}`;
}

/** Whether the key has signed these 32 bytes, in hexadecimal digits. False also for what is no signature at all. */
export function hasSigned(key: PublicPart, hash: string, signature: DecisionSignature): boolean {
  if (signature.key !== key.id) return false;
  const bytes = Buffer.from(hash, "hex");
  try {
    const object = toObject(key);
    if (signature.type === "ed25519") {
      return key.type === "ed25519" && verify(null, bytes, object, bytesOf(signature.sig));
    }
    if (key.type !== "passkey") return false;
    const [data, client] = [bytesOf(signature.authenticatorData), bytesOf(signature.clientData)];
    const signed = Buffer.concat([data, createHash("sha256").update(client).digest()]);
    // Those of EdDSA hash by themselves.
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
  if (key.type === "passkey") return createPublicKey({ key: { ...key.public }, format: "jwk" });
  const bytes = Buffer.from(key.public, "base64");
  if (fingerprintOf(bytes) !== key.id) throw new TypeError("another key");
  const x = bytes.toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const MIN_DATA_BYTES = 37;

/** What the authenticator says: whom it signs for, and that it has verified who it is. */
function isOf(rpId: string, data: Buffer): boolean {
  if (data.length < MIN_DATA_BYTES) return false;
  const rpIdHash = createHash("sha256").update(rpId).digest();
  const flags = data[32] ?? 0;
  const isVerified = (flags & USER_PRESENT) !== 0 && (flags & USER_VERIFIED) !== 0;
  return isVerified && data.subarray(0, 32).equals(rpIdHash);
}

/** What the browser says: what was signed, and where. */
function isFor(rpId: string, bytes: Buffer, client: Buffer): boolean {
  const json = findJson(client.toString("utf8"));
  if (!isJsonObject(json)) return false;
  const { type, challenge, origin, crossOrigin } = json;
  if (type !== "webauthn.get" || challenge !== bytes.toString("base64url")) return false;
  const host = typeof origin === "string" ? URL.parse(origin)?.hostname : undefined;
  const isThere = host === rpId || host?.endsWith(`.${rpId}`) === true;
  return isThere && crossOrigin !== true;
}

/** Base64url in the one way to write it. Throws if it is another. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") !== text) throw new SyntaxError("not base64url");
  return bytes;
}
