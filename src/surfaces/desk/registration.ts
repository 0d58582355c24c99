/** Parses a browser's response for a new passkey. Loaded only when someone adds one. */
import { createHash } from "node:crypto";
import {
  cose,
  decodeAttestationObject,
  decodeCredentialPublicKey,
  parseAuthenticatorData,
} from "@simplewebauthn/server/helpers";
import { findJson, isJsonObject, type JsonObject } from "../../util/index.ts";

/** A browser's response, in base64url. */
export interface NewCredential {
  readonly id: string;
  readonly clientData: string;
  readonly attestation: string;
}

/** The expected values of a new credential. */
export interface ExpectedCredential {
  /** In base64url. */
  readonly challenge: string;
  readonly origin: string;
  readonly rpId: string;
}

/** The new passkey. */
export interface RegisteredCredential {
  /** A JSON Web Key. */
  readonly public: JsonObject;
  readonly counter: number;
}

/**
 * Undefined if it does not match the request, or does not verify its user. Its attestation is not read: any kind of
 * device is accepted.
 */
export function findCredential(
  { id, clientData, attestation }: NewCredential,
  { challenge, origin, rpId }: ExpectedCredential,
): RegisteredCredential | undefined {
  const client = findJson(Buffer.from(clientData, "base64url").toString("utf8"));
  if (!isJsonObject(client) || client["type"] !== "webauthn.create") return undefined;
  if (client["challenge"] !== challenge || client["origin"] !== origin) return undefined;
  try {
    const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestation, "base64url")));
    const data = parseAuthenticatorData(decoded.get("authData"));
    const { rpIdHash, flags, counter, credentialID, credentialPublicKey } = data;
    const isOwn = Buffer.from(rpIdHash).equals(createHash("sha256").update(rpId).digest());
    if (!isOwn || !flags.up || !flags.uv) return undefined;
    if (credentialID === undefined || credentialPublicKey === undefined) return undefined;
    if (Buffer.from(credentialID).toString("base64url") !== id) return undefined;
    const key = toJwk(decodeCredentialPublicKey(credentialPublicKey));
    return key && { public: key, counter };
  } catch {
    return undefined; // Not a credential.
  }
}

/** Undefined for a key type that was not requested. */
function toJwk(key: cose.COSEPublicKey): JsonObject | undefined {
  if (cose.isCOSEPublicKeyEC2(key) && key.get(cose.COSEKEYS.crv) === cose.COSECRV.P256) {
    const [x, y] = [key.get(cose.COSEKEYS.x), key.get(cose.COSEKEYS.y)];
    return { kty: "EC", crv: "P-256", x: textOf(x), y: textOf(y) };
  }
  if (cose.isCOSEPublicKeyOKP(key) && key.get(cose.COSEKEYS.crv) === cose.COSECRV.ED25519) {
    return { kty: "OKP", crv: "Ed25519", x: textOf(key.get(cose.COSEKEYS.x)) };
  }
  if (!cose.isCOSEPublicKeyRSA(key)) return undefined;
  return {
    kty: "RSA",
    n: textOf(key.get(cose.COSEKEYS.n)),
    e: textOf(key.get(cose.COSEKEYS.e)),
  };
}

function textOf(bytes: Uint8Array | undefined): string {
  if (bytes === undefined) throw new TypeError("a part of the key is missing");
  return Buffer.from(bytes).toString("base64url");
}
