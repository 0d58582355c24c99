/** A passkey in software: creates a credential and signs with it, in the format a browser returns. */
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

interface Asked {
  readonly nonce: string;
  readonly challenge: string;
}

export class SoftwareAuthenticator {
  readonly id = randomBytes(16).toString("base64url");
  readonly #origin: string;
  readonly #pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  #uses = 0;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Mimics `navigator.credentials.create`. */
  create(challenge: string) {
    const { x = "", y = "" } = this.#pair.publicKey.export({ format: "jwk" });
    const credential = Buffer.from(this.id, "base64url");
    const key = cbor(
      new Map<number | string, Cbor>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, "base64url")],
        [-3, Buffer.from(y, "base64url")],
      ]),
    );
    const length = Buffer.from([0, credential.length]);
    const authData = Buffer.concat([this.#data(0x45), Buffer.alloc(16), length, credential, key]);
    const attestation = cbor(
      new Map<number | string, Cbor>([
        ["fmt", "none"],
        ["attStmt", new Map<number | string, Cbor>()],
        ["authData", authData],
      ]),
    );
    return {
      challenge,
      id: this.id,
      client_data: this.#client("webauthn.create", challenge).toString("base64url"),
      attestation: attestation.toString("base64url"),
    };
  }

  /** Mimics `navigator.credentials.get`. */
  sign({ nonce, challenge }: Asked) {
    this.#uses += 1;
    const data = this.#data(0x05);
    const client = this.#client("webauthn.get", challenge);
    const signed = Buffer.concat([data, createHash("sha256").update(client).digest()]);
    return {
      nonce,
      key: this.id,
      sig: sign("sha256", signed, this.#pair.privateKey).toString("base64url"),
      authenticator_data: data.toString("base64url"),
      client_data: client.toString("base64url"),
    };
  }

  #client(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin }));
  }

  #data(flags: number): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(this.#uses);
    const rpIdHash = createHash("sha256").update(new URL(this.#origin).hostname).digest();
    return Buffer.concat([rpIdHash, Buffer.from([flags]), count]);
  }
}

type Cbor = number | string | Buffer | ReadonlyMap<number | string, Cbor>;

/** The subset of CBOR that a credential needs. */
function cbor(value: Cbor): Buffer {
  if (typeof value === "number") return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === "string") return Buffer.concat([head(3, value.length), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  const members = [...value].flatMap(([name, member]) => [cbor(name), cbor(member)]);
  return Buffer.concat([head(5, value.size), ...members]);
}

function head(type: number, count: number): Buffer {
  if (count < 24) return Buffer.from([(type << 5) | count]);
  return Buffer.from([(type << 5) | 24, count]);
}
