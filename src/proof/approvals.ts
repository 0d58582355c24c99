/**
 * Checks the signatures of people in evidence: that each is of its decision, by a key that the export names, and that none is
 * missing where one was asked for. Says nothing about whose hands the key was in.
 */
import {
  type ChainLink,
  findSignature,
  findTimestamp,
  hashToSign,
  nonceTime,
  timestampToMilliseconds,
} from "../conversation/index.ts";
import { hasSigned, type PublicPart } from "../people/index.ts";
import { canonicalJson, type JsonObject } from "../util/index.ts";
import {
  type Approval,
  type Content,
  type Finding,
  findObject,
  findText,
  type KeyStatement,
} from "./statement.ts";

type Report = (code: "bad_approval_signature" | "unsigned_approval") => void;

export class ApprovalCheck {
  readonly #report: Report;
  readonly #keys = new Map<string, PublicPart>();
  /** When something was asked that has to be signed, by its id. */
  #asked = new Map<string, string>();
  /** What people have decided, by its position. */
  #decisions = new Map<number, JsonObject>();
  /** Those that need a signature, and have none yet. */
  #needed = new Map<number, JsonObject>();
  #content: Content | undefined;
  signed = 0;
  /** Signatures of answers that the export does not show. */
  unchecked = 0;

  constructor(report: Report) {
    this.#report = report;
  }

  /** Conversations come one after the other. Call it also at the end. */
  leave(): void {
    for (const _ of this.#needed) this.#report("unsigned_approval");
    this.#asked = new Map();
    this.#decisions = new Map();
    this.#needed = new Map();
  }

  readKey({ person, key }: KeyStatement): void {
    this.#keys.set(JSON.stringify([person, key.id]), key);
  }

  readLink({ seq, json }: ChainLink): void {
    const id = findText(json, "id") ?? "";
    const isSigned = findObject(json, "terms")?.["proof"] === "signed";
    if (isSigned) this.#asked.set(id, findText(json, "at") ?? "");
    if (json["type"] === "decision_void") this.#forget(id);
    const by = findObject(json, "by");
    if (by?.["kind"] !== "user") return;
    this.#decisions.set(seq, json);
    const isYes = json["decision"] === "approved" || json["decision"] === "edited";
    if (isYes) this.#need(seq, json);
  }

  /** Only its content says whether an answer is a yes. */
  readContent(content: Content): void {
    this.#content = content;
    const { seq, event } = content;
    const link = this.#decisions.get(seq);
    const isAnswer = link?.["decision"] === "answered" && event["answer"] !== false;
    if (isAnswer) this.#need(seq, link);
  }

  readApproval({ seq, signature: json, answer }: Approval): void {
    const link = this.#decisions.get(seq) ?? {};
    this.#needed.delete(seq);
    const signature = findSignature(json);
    if (signature === undefined) return this.#report("bad_approval_signature");
    if (answer === undefined) {
      this.unchecked += 1;
      return;
    }
    const person = findText(findObject(link, "by") ?? {}, "name") ?? "";
    const [digest = "", id = ""] = [findText(link, "decided"), findText(link, "id")];
    const key = this.#keys.get(JSON.stringify([person, signature.key]));
    const { nonce } = signature;
    const hash = hashToSign({ digest, id, answer, person, nonce });
    const isOwn = this.#isShown(seq, link, canonicalJson(answer)) && this.#isTimely(link, nonce);
    if (key === undefined || !isOwn || !hasSigned(key, hash, signature)) {
      return this.#report("bad_approval_signature");
    }
    this.signed += 1;
  }

  /** What cannot be found, or whose key is gone, cannot be shown. */
  readFinding({ code, about }: Finding): void {
    const isLost = ["event_missing", "salt_missing", "key_missing"].includes(code);
    if (isLost && typeof about["seq"] === "number") this.#needed.delete(about["seq"]);
    if (code === "unreadable_record") this.#needed.clear();
  }

  /** The owner of a machine without people needs none. */
  #need(seq: number, link: JsonObject): void {
    const isOwner = findObject(link, "by")?.["auth"] === "owner";
    if (!isOwner && this.#asked.has(findText(link, "id") ?? "")) this.#needed.set(seq, link);
  }

  /** It no longer counted. */
  #forget(id: string): void {
    for (const [seq, link] of this.#needed) if (link["id"] === id) this.#needed.delete(seq);
  }

  /** Whether the answer is the one that the rest of the export shows, as far as it does. */
  #isShown(seq: number, link: JsonObject, answer: string): boolean {
    if (link["decision"] === "approved" && answer !== "true") return false;
    const { event } = this.#content?.seq === seq ? this.#content : {};
    if (link["decision"] !== "answered" || event === undefined) return true;
    return canonicalJson(event["answer"] ?? null) === answer;
  }

  /** Signed after it was asked, and before it was recorded. */
  #isTimely(link: JsonObject, nonce: string): boolean {
    const [asked, decided] = [this.#asked.get(findText(link, "id") ?? ""), findText(link, "at")];
    const time = nonceTime(nonce);
    if (time === undefined || decided === undefined) return false;
    const isAfter = asked === undefined || toTime(asked) <= time;
    return isAfter && time <= toTime(decided);
  }
}

function toTime(text: string): number {
  const timestamp = findTimestamp(text);
  return timestamp === undefined ? Number.NaN : timestampToMilliseconds(timestamp);
}
