/**
 * The part of the verifier that checks the signatures of people: Ed25519 keys, and passkeys (WebAuthn). Also without any code
 * of jp.
 */
import { createHash, createPublicKey, verify as isSigned } from "node:crypto";
import { fold, timeOf } from "./terms.ts";

type Json = Readonly<Record<string, unknown>>;

/** Codes of problems are added to `problems`. `canonical` writes canonical JSON (RFC 8785). */
export class Approvals {
  readonly #problems: Set<string>;
  readonly #canonical: (value: unknown) => string;
  readonly #keys = new Map<string, Json>();
  /** Whose key it is, by its public part. */
  readonly #owners = new Map<string, string>();
  /** Of the conversation that is being read. */
  readonly #asked = new Map<unknown, unknown>();
  readonly #decisions = new Map<unknown, Json>();
  readonly #states = new Map<unknown, "good" | "bad" | "open">();
  readonly #lost = new Set<unknown>();
  #isRecordLost = false;
  #content: Json = {};

  constructor(problems: Set<string>, canonical: (value: unknown) => string) {
    this.#problems = problems;
    this.#canonical = canonical;
  }

  /** At the end of each conversation. */
  leave(): void {
    for (const each of [this.#asked, this.#decisions, this.#states, this.#lost]) each.clear();
    this.#isRecordLost = false;
  }

  /** Undefined if the link at this position has none. `open`: what was signed is not in the export. `lost`: it is gone. */
  stateOf(seq: number): "good" | "bad" | "open" | "lost" | undefined {
    const { version, signature, asked, at } = this.#decisions.get(seq) ?? { version: 2 };
    if (signature === undefined && typeof version === "number") return undefined;
    const state = this.#states.get(seq);
    if (state !== undefined || !(this.#isRecordLost || this.#lost.has(seq))) return state;
    return asked === undefined || timeOf(asked) <= timeOf(at) ? "lost" : "bad";
  }

  read(type: string, predicate: Json): void {
    const { seq, code, about, link } = predicate;
    if (type === "key") this.#readKey(String(predicate["person"]), predicate["key"] as Json);
    if (type === "link") this.#readLink(link as Json);
    if (type === "content") this.#content = predicate;
    if (type === "approval") {
      const state = this.#check(predicate);
      this.#states.set(seq, state);
      if (state === "bad") this.#problems.add("bad_approval_signature");
    }
    if (type !== "finding") return;
    const isLost = /^(?:event|salt|key)_missing$/.test(String(code));
    if (isLost) this.#lost.add((about as Json)["seq"]);
    if (code === "unreadable_record") this.#isRecordLost = true;
  }

  /** One key is one person. */
  #readKey(person: string, key: Json): void {
    const name = this.#canonical(key["public"]);
    const owner = this.#owners.get(name) ?? person;
    this.#owners.set(name, owner);
    if (fold(owner) === fold(person)) this.#keys.set(JSON.stringify([person, key["id"]]), key);
  }

  #readLink(link: Json): void {
    const { id, seq, at, type, by } = link;
    if (type === "permission_request" || type === "inquiry_request") this.#asked.set(id, at);
    if ((by as Json | undefined)?.["kind"] !== "user") return;
    this.#decisions.set(seq, { ...link, asked: this.#asked.get(id) }); // Ids may come again.
  }

  #check({ seq, signature: given, answer }: Json): "good" | "bad" | "open" {
    const signature = given as Readonly<Record<string, string>>;
    const { type, nonce = "", key: keyId } = signature;
    const link = this.#decisions.get(seq);
    const { version, by, id, decided: digest, at, signature: claimed } = link ?? {};
    const isClaimed =
      claimed && (claimed as Json)["type"] === type && (claimed as Json)["key"] === keyId;
    if (link === undefined || (typeof version === "number" && !isClaimed)) return "bad";
    if (type !== "ed25519" && type !== "webauthn") return "bad";
    const { name: person } = (by ?? {}) as Json;
    const [time, from] = [Number.parseInt(nonce, 10), link["asked"]];
    const isTimely = (from === undefined || timeOf(from) <= time) && time <= timeOf(at);
    if (!isTimely) return "bad";
    if (answer === undefined) return "open"; // It is not in the export.
    const key = this.#keys.get(JSON.stringify([person, keyId]));
    if (key === undefined || !this.#isShown(link, answer)) return "bad";
    const hash = sha256(this.#canonical({ digest, id, answer, person, nonce }));
    try {
      const isGood =
        type === "webauthn" ? isAsserted(key, hash, signature) : isPlain(key, hash, signature);
      return isGood ? "good" : "bad";
    } catch {
      return "bad";
    }
  }

  /** Whether it is the answer that the rest of the export shows, as far as it does. */
  #isShown({ seq, decision, result }: Json, answer: unknown): boolean {
    const isObject = typeof answer === "object" && answer !== null;
    const changed = result === true ? "result" : "arguments";
    if (decision === "approved" && answer !== true) return false;
    if (decision === "edited" && !(isObject && changed in answer)) return false;
    if (this.#content["seq"] !== seq) return true;
    return this.#canonical(answerIn(this.#content["event"] as Json)) === this.#canonical(answer);
  }
}

/** What is signed as the answer. */
function answerIn({ outcome, decision, answer, arguments: args, result }: Json): unknown {
  if (outcome === "redacted" || outcome === "cancelled") return { outcome };
  if (decision === undefined) return answer ?? null;
  if (decision === "denied") return false;
  if (args !== undefined) return { arguments: args };
  return result === undefined ? true : { result: (result as Json)["content"] };
}

function isPlain(key: Json, hash: Buffer, { sig = "" }: Readonly<Record<string, string>>): boolean {
  const x = Buffer.from(String(key["public"]), "base64").toString("base64url");
  const jwk = { kty: "OKP", crv: "Ed25519", x };
  return isSigned(null, hash, createPublicKey({ key: jwk, format: "jwk" }), bytesOf(sig));
}

/** W3C Web Authentication, 7.2: for this name, with this challenge, and with the person verified (UP and UV). */
function isAsserted(
  { rp_id: rpId, public: jwk }: Json,
  hash: Buffer,
  signature: Readonly<Record<string, string>>,
): boolean {
  const { sig = "", authenticator_data: data = "", client_data: client = "" } = signature;
  const [dataBytes, clientBytes] = [bytesOf(data), bytesOf(client)];
  const { type, challenge, origin, crossOrigin } = JSON.parse(clientBytes.toString("utf8")) as Json;
  const host = new URL(String(origin)).hostname;
  const isThere = host === rpId || host.endsWith(`.${String(rpId)}`);
  const isVerified = ((dataBytes[32] ?? 0) & 0x05) === 0x05 && dataBytes.length >= 37;
  const isOwn = dataBytes.subarray(0, 32).equals(sha256(String(rpId)));
  const isAsked = type === "webauthn.get" && challenge === hash.toString("base64url");
  if (!isThere || !isVerified || !isOwn || !isAsked || crossOrigin === true) return false;
  const key = createPublicKey({ key: jwk as Record<string, string>, format: "jwk" });
  const signed = Buffer.concat([dataBytes, sha256(clientBytes)]);
  const algorithm = key.asymmetricKeyType === "ed25519" ? null : "sha256";
  return isSigned(algorithm, signed, key, bytesOf(sig));
}

function sha256(data: string | Buffer): Buffer {
  return createHash("sha256").update(data).digest();
}

/** Base64url in the one way to write it. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") !== text) throw new SyntaxError("not base64url");
  return bytes;
}
