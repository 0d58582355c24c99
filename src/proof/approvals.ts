/**
 * Checks people's signatures in evidence: each must cover its decision, with a key that the export names for that
 * person alone. The judge says whether a signature was needed. None of this shows who held the key.
 */
import {
  answerToSign,
  type ChainLink,
  type DecisionSignature,
  findSignature,
  findTimestamp,
  hashToSign,
  isAnswer,
  isSameName,
  nonceTime,
  StreamEntry,
  timestampToMilliseconds,
  versionOf,
} from "../record/conversation/index.ts";
import { hasSigned, type PublicPart, publicPartToJson } from "../settings/people/index.ts";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import {
  type Approval,
  type Content,
  type Finding,
  findObject,
  findText,
  type KeyStatement,
} from "./statement.ts";
import type { CheckedSignature } from "./judge-links.ts";

interface Decided {
  readonly link: ChainLink;
  readonly askedAt: Json | undefined;
}

export class ApprovalCheck {
  readonly #report: (code: "bad_approval_signature") => void;
  readonly #keys = new Map<string, PublicPart>();
  /** Keyed by public key. */
  readonly #owners = new Map<string, string>();
  /** When each request was made, by id. Ids may repeat. */
  #asked = new Map<string, Json | undefined>();
  /** People's decisions, by position. */
  #decisions = new Map<number, Decided>();
  #checked = new Map<number, CheckedSignature>();
  #lost = new Set<number>();
  #isRecordLost = false;
  #content: Content | undefined;
  signed = 0;
  /** Signatures over answers that the export omits. */
  unchecked = 0;

  constructor(report: (code: "bad_approval_signature") => void) {
    this.#report = report;
  }

  /** Called after each conversation, since they come one after the other. */
  leave(): void {
    this.#asked = new Map();
    this.#decisions = new Map();
    this.#checked = new Map();
    this.#lost = new Set();
    this.#isRecordLost = false;
  }

  /** Undefined if the link at this position has no signature. */
  find(seq: number): CheckedSignature | undefined {
    const { link, askedAt } = this.#decisions.get(seq) ?? {};
    const mayHaveOne = link !== undefined && (versionOf(link) === 1 || "signature" in link.json);
    if (!mayHaveOne) return undefined;
    const checked = this.#checked.get(seq);
    if (checked !== undefined || !(this.#isRecordLost || this.#lost.has(seq))) return checked;
    const isLate = askedAt === undefined || toTime(askedAt) <= toTime(link.json["at"]);
    return { state: isLate ? "lost" : "bad" };
  }

  /** A key belongs to one person: it does not count for anyone else. */
  readKey({ person, key }: KeyStatement): void {
    const text = canonicalJson(publicPartToJson(key)["public"] ?? null);
    const owner = this.#owners.get(text) ?? person;
    this.#owners.set(text, owner);
    if (isSameName(owner, person)) this.#keys.set(JSON.stringify([person, key.id]), key);
  }

  readLink(link: ChainLink): void {
    const { seq, json } = link;
    const id = findText(json, "id") ?? "";
    const isRequest = json["type"] === "permission_request" || json["type"] === "inquiry_request";
    if (isRequest) this.#asked.set(id, json["at"]);
    if (findObject(json, "by")?.["kind"] !== "user") return;
    this.#decisions.set(seq, { link, askedAt: this.#asked.get(id) });
  }

  readContent(content: Content): void {
    this.#content = content;
  }

  readApproval({ seq, signature: json, answer }: Approval): void {
    const signature = findSignature(json);
    const decided = this.#decisions.get(seq);
    const isOwn = signature !== undefined && decided !== undefined && isClaimed(decided, signature);
    if (isOwn && answer === undefined) {
      this.unchecked += 1;
      this.#checked.set(seq, { state: "unchecked", signature });
      return;
    }
    const isGood = isOwn && this.#isGood(decided.link, signature, answer ?? null);
    this.#checked.set(seq, { state: isGood ? "good" : "bad", signature });
    if (isGood) this.signed += 1;
    else this.#report("bad_approval_signature");
  }

  /** A lost event or key makes its signature uncheckable. */
  readFinding({ code, about }: Finding): void {
    const isLost = ["event_missing", "salt_missing", "key_missing"].includes(code);
    if (isLost && typeof about["seq"] === "number") this.#lost.add(about["seq"]);
    if (code === "unreadable_record") this.#isRecordLost = true;
  }

  #isGood({ seq, json }: ChainLink, signature: DecisionSignature, answer: Json): boolean {
    const { nonce } = signature;
    const person = findText(findObject(json, "by") ?? {}, "name") ?? "";
    const [digest = "", id = ""] = [findText(json, "decided"), findText(json, "id")];
    const key = this.#keys.get(JSON.stringify([person, signature.key]));
    const isOwn = this.#isShown(seq, json, answer);
    const hash = hashToSign({ digest, id, answer, person, nonce });
    return key !== undefined && isOwn && hasSigned(key, hash, signature);
  }

  /** Whether the answer matches the rest of the export, as far as it is shown. */
  #isShown(seq: number, { decision, result }: JsonObject, answer: Json): boolean {
    if (decision === "approved" && answer !== true) return false;
    const changed = result === true ? "result" : "arguments";
    if (decision === "edited" && !(isJsonObject(answer) && changed in answer)) return false;
    if (this.#content?.seq !== seq) return true;
    const { event } = StreamEntry.fromJson(this.#content.event);
    const isSaid = event !== undefined && (isAnswer(event) || event.type === "decision_vote");
    return isSaid && canonicalJson(answerToSign(event)) === canonicalJson(answer);
  }
}

/** Signed after the request and before it was recorded. */
function isTimely(nonce: string, asked: Json | undefined, recorded: Json | undefined): boolean {
  const time = nonceTime(nonce);
  if (time === undefined) return false;
  return (asked === undefined || toTime(asked) <= time) && time <= toTime(recorded);
}

/** Whether the signature may belong to this decision. Version 1 links do not name the key. */
function isClaimed({ link, askedAt }: Decided, { type, key, nonce }: DecisionSignature): boolean {
  const claimed = findObject(link.json, "signature");
  const isNamed = claimed?.["type"] === type && claimed["key"] === key;
  return (versionOf(link) === 1 || isNamed) && isTimely(nonce, askedAt, link.json["at"]);
}

function toTime(at: Json | undefined): number {
  const timestamp = findTimestamp(at);
  return timestamp === undefined ? Number.NaN : timestampToMilliseconds(timestamp);
}
