/** People's keys for tests, which sign in memory: file or agent keys, and passkeys. */
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import {
  type AnswerEvent,
  type DecisionSignature,
  type DecisionVote,
  hashToSign,
  newNonce,
  timestampToMilliseconds,
  toSignOf,
} from "../record/conversation/index.ts";
import { fingerprintOf, type PublicPart } from "../settings/people/index.ts";
import type { JsonObject } from "../util/index.ts";

/** A key, and how it signs a person's reply. */
export interface TestKey {
  readonly key: PublicPart;
  readonly sign: (
    event: AnswerEvent | DecisionVote,
    changed?: { readonly nonce?: string },
  ) => DecisionSignature;
}

const RP_ID = "jp-1.localhost";

export function ed25519(): TestKey {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const { x = "" } = publicKey.export({ format: "jwk" });
  const bytes = Buffer.from(x, "base64url");
  const id = fingerprintOf(bytes);
  return {
    key: { type: "ed25519", id, public: bytes.toString("base64") },
    sign: (event, { nonce = nonceOf(event) } = {}) => {
      const hash = Buffer.from(hashOf(event, nonce), "hex");
      const sig = sign(null, hash, privateKey).toString("base64url");
      return { type: "ed25519", key: id, nonce, sig };
    },
  };
}

export function passkey(): TestKey {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = publicKey.export({ format: "jwk" }) as JsonObject;
  return {
    key: { type: "passkey", id: "Y3JlZA", public: jwk, rpId: RP_ID },
    sign: (event, { nonce = nonceOf(event) } = {}) => {
      const challenge = Buffer.from(hashOf(event, nonce), "hex").toString("base64url");
      const origin = `http://${RP_ID}:8080`;
      const client = Buffer.from(JSON.stringify({ type: "webauthn.get", challenge, origin }));
      const rpIdHash = createHash("sha256").update(RP_ID).digest();
      const data = Buffer.concat([rpIdHash, Buffer.of(0x05, 0, 0, 0, 1)]);
      const signed = Buffer.concat([data, createHash("sha256").update(client).digest()]);
      return {
        type: "webauthn",
        key: "Y3JlZA",
        nonce,
        sig: sign("sha256", signed, privateKey).toString("base64url"),
        authenticatorData: data.toString("base64url"),
        clientData: client.toString("base64url"),
      };
    },
  };
}

function nonceOf({ timestamp }: AnswerEvent | DecisionVote): string {
  return newNonce(timestampToMilliseconds(timestamp));
}

function hashOf(event: AnswerEvent | DecisionVote, nonce: string): string {
  const toSign = toSignOf(event, nonce);
  if (toSign === undefined) throw new Error("it cannot be signed");
  return hashToSign(toSign);
}
