/**
 * The part of the verifier that checks the signatures of people: Ed25519 keys, and passkeys (WebAuthn). Also without any code
 * of jp.
 */
import { createHash, createPublicKey, verify as isSigned } from "node:crypto";

type Json = Readonly<Record<string, unknown>>;

/** Codes of problems are added to `problems`. `canonical` writes canonical JSON (RFC 8785). */
export class Approvals {
  readonly #problems: Set<string>;
  readonly #canonical: (value: unknown) => string;
  readonly #keys = new Map<string, Json>();
  /** Of the conversation that is being read. */
  readonly #asked = new Map<unknown, unknown>();
  readonly #decisions = new Map<unknown, Json>();
  readonly #needed = new Map<unknown, Json>();
  #content: Json = {};

  constructor(problems: Set<string>, canonical: (value: unknown) => string) {
    this.#problems = problems;
    this.#canonical = canonical;
  }

  /** At the end of each conversation. */
  leave(): void {
    if (this.#needed.size > 0) this.#problems.add("unsigned_approval");
    for (const map of [this.#asked, this.#decisions, this.#needed]) map.clear();
  }

  read(type: string, predicate: Json): void {
    const { seq, person, key, code, about, link } = predicate;
    if (type === "key") this.#keys.set(JSON.stringify([person, (key as Json)["id"]]), key as Json);
    if (type === "link") this.#readLink(link as Json);
    if (type === "content") this.#readContent(predicate);
    if (type === "approval") {
      this.#needed.delete(seq);
      if (!this.#isGenuine(predicate)) this.#problems.add("bad_approval_signature");
    }
    if (type !== "finding") return;
    const isLost = /^(?:event|salt|key)_missing$/.test(String(code));
    if (isLost) this.#needed.delete((about as Json)["seq"]);
    if (code === "unreadable_record") this.#needed.clear();
  }

  #readLink(link: Json): void {
    const { id, seq, at, decision } = link;
    if ((link["terms"] as Json | undefined)?.["proof"] === "signed") this.#asked.set(id, at);
    if (link["type"] === "decision_void") {
      for (const [each, other] of this.#needed) if (other["id"] === id) this.#needed.delete(each);
    }
    if ((link["by"] as Json | undefined)?.["kind"] !== "user") return;
    this.#decisions.set(seq, link);
    if (decision === "approved" || decision === "edited") this.#need(link);
  }

  #readContent(content: Json): void {
    this.#content = content;
    const link = this.#decisions.get(content["seq"]);
    const isYes = (content["event"] as Json)["answer"] !== false;
    if (link?.["decision"] === "answered" && isYes) this.#need(link);
  }

  #need(link: Json): void {
    const isOwner = (link["by"] as Json)["auth"] === "owner";
    if (!isOwner && this.#asked.has(link["id"])) this.#needed.set(link["seq"], link);
  }

  #isGenuine({ seq, signature: given, answer }: Json): boolean {
    const signature = given as Readonly<Record<string, string>>;
    const { type, nonce = "", key: keyId } = signature;
    if (type !== "ed25519" && type !== "webauthn") return false;
    if (answer === undefined) return true; // It is not in the export.
    const { by, id, decided: digest, at, decision } = this.#decisions.get(seq) ?? {};
    const { name: person } = (by ?? {}) as Json;
    const [time, from] = [Number.parseInt(nonce, 10), this.#asked.get(id)];
    const isTimely = (from === undefined || timeOf(from) <= time) && time <= timeOf(at);
    const { event } = (this.#content["seq"] === seq ? this.#content : {}) as { event?: Json };
    const shown = decision === "answered" && event ? event["answer"] : answer;
    const isShown = this.#canonical(decision === "approved" ? true : shown);
    const key = this.#keys.get(JSON.stringify([person, keyId]));
    if (key === undefined || !isTimely || isShown !== this.#canonical(answer)) return false;
    const hash = sha256(this.#canonical({ digest, id, answer, person, nonce }));
    try {
      return type === "webauthn" ? isAsserted(key, hash, signature) : isPlain(key, hash, signature);
    } catch {
      return false;
    }
  }
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

/** Of `2026-01-02 03:04:05.678`, in UTC. */
function timeOf(text: unknown): number {
  return Date.parse(`${String(text).replace(" ", "T").slice(0, 23)}Z`);
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
