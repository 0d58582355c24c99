/** Dead Simple Signing Envelopes (DSSE), version 1, with one Ed25519 signature each, one per line. */
import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { findJson, isJsonArray, isJsonObject } from "../util/index.ts";

const PAYLOAD_TYPE = "application/vnd.in-toto+json";
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** A signing key. */
export interface Signer {
  readonly key: PublicKey;
  readonly privateKey: KeyObject;
}

/** An Ed25519 key. */
export interface PublicKey {
  /** SHA-256 of its 32 bytes, in hexadecimal. */
  readonly id: string;
  /** The 32 bytes, in base64. */
  readonly text: string;
  readonly object: KeyObject;
}

/** Undefined unless the text is a 32-byte key in base64. */
export function findPublicKey(text: string): PublicKey | undefined {
  const bytes = findBytes(text);
  if (bytes?.length !== KEY_BYTES) return undefined;
  const x = bytes.toString("base64url");
  try {
    const object = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return { id: digestOf(bytes), text, object };
  } catch {
    return undefined; // Not every 32 bytes are a valid key on every platform.
  }
}

/** Throws if the key is not an Ed25519 key. */
export function publicKeyOf(object: KeyObject): PublicKey {
  const { crv, x = "" } = object.export({ format: "jwk" });
  const key = crv === "Ed25519" ? findPublicKey(base64Of(x)) : undefined;
  if (key === undefined) throw new TypeError("not an Ed25519 key");
  return key;
}

function base64Of(base64url: string): string {
  return Buffer.from(base64url, "base64url").toString("base64");
}

/** One line, including its newline. */
export function signLine(payload: Buffer, { key, privateKey }: Signer): string {
  const sig = sign(null, signedBytes(payload), privateKey).toString("base64");
  return `${lineOf(payload.toString("base64"), key.id, sig)}\n`;
}

export interface Envelope {
  readonly payload: Buffer;
  readonly keyId: string;
  readonly signature: Buffer;
}

/**
 * Undefined if the line is not exactly as `signLine` would write it. So any change to a line changes its payload, its
 * key or its signature.
 */
export function findEnvelope(line: string): Envelope | undefined {
  const json = findJson(line);
  const signatures = isJsonObject(json) ? json["signatures"] : undefined;
  const first = isJsonArray(signatures) ? signatures[0] : undefined;
  if (!isJsonObject(json) || !isJsonObject(first)) return undefined;
  const { payload: text } = json;
  const { keyid: keyId, sig } = first;
  if (typeof text !== "string" || typeof keyId !== "string" || typeof sig !== "string") {
    return undefined;
  }
  const payload = findBytes(text);
  const signature = findBytes(sig);
  if (payload === undefined || signature?.length !== SIGNATURE_BYTES) return undefined;
  return lineOf(text, keyId, sig) === line ? { payload, keyId, signature } : undefined;
}

export function isSignedBy({ payload, signature }: Envelope, { object }: PublicKey): boolean {
  return verify(null, signedBytes(payload), object, signature);
}

export function digestOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function lineOf(payload: string, keyid: string, sig: string): string {
  return JSON.stringify({ payloadType: PAYLOAD_TYPE, payload, signatures: [{ keyid, sig }] });
}

/** DSSE's "pre-authentication encoding". */
function signedBytes(payload: Buffer): Buffer {
  const head = `DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

/** Undefined unless it is the canonical base64 of these bytes. */
function findBytes(base64: string): Buffer | undefined {
  const bytes = Buffer.from(base64, "base64");
  return bytes.toString("base64") === base64 ? bytes : undefined;
}
