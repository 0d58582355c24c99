/**
 * The content that a person signs if a decision requires a signature. Only a `Directory` knows the keys and how to
 * check it.
 */
import { canonicalJson, JpError, type Json, randomKey, sha256 } from "../../util/index.ts";
import { type AnswerEvent, deciderOf, isNo } from "./decision.ts";
import type { DecisionVote, ToSign } from "./event.ts";
import { type Timestamp, timestampToMilliseconds } from "./timestamp.ts";
import type { Directory } from "./known-people.ts";
import { type ForWhom, isForSigners } from "./whom.ts";

/** The 32 bytes to sign, in hexadecimal digits. A passkey gets them as its challenge, and an Ed25519 key signs them. */
export function hashToSign({ digest, id, answer, person, nonce }: ToSign): string {
  return sha256(canonicalJson({ digest, id, answer, person, nonce }));
}

/** Contains the time, so that a signature from before the question does not count: ids and digests may recur. */
export function newNonce(now: number): string {
  return `${now}.${randomKey()}`;
}

/** Undefined if `newNonce` could not have created it. */
export function nonceTime(nonce: string): number | undefined {
  const [, digits] = /^(\d{1,15})\.[\w-]{16,64}$/.exec(nonce) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** The decision, without its note. */
export function answerToSign(event: AnswerEvent | DecisionVote): Json {
  if (event.type === "inquiry_response") {
    // A secret is not on record, so a signature of it could not be checked.
    return event.outcome === "answered" ? event.answer : { outcome: event.outcome };
  }
  const { decision, result } = event;
  if (event.type === "decision_vote" && decision === undefined) return event.answer ?? null;
  if (decision === "denied") return false;
  const args = event.type === "permission_decision" ? event.arguments : undefined;
  if (args !== undefined) return { arguments: args };
  return result === undefined ? true : { result: result.content };
}

/** Whether it counts only with a signature. A no never needs one. */
export function needsSignature(whom: ForWhom, event: AnswerEvent | DecisionVote): boolean {
  if (!isForSigners(whom) || isNo(event)) return false;
  return signerOf(event)?.kind === "user";
}

/** The content to sign. Undefined if it is unknown what was shown or who decides. */
export function toSignOf(event: AnswerEvent | DecisionVote, nonce: string): ToSign | undefined {
  const by = signerOf(event);
  const { digest, id } = event;
  if (digest === undefined || id === undefined) return undefined;
  if (by?.kind !== "user" || by.name === undefined) return undefined;
  return { digest, id, answer: answerToSign(event), person: by.name, nonce };
}

/** Signs as the person using this process. Throws `cannot_sign`. */
export async function signEvent(
  event: AnswerEvent,
  directory: Pick<Directory, "findSigner"> | undefined,
): Promise<AnswerEvent> {
  const signer = directory?.findSigner?.();
  const toSign = toSignOf(event, newNonce(timestampToMilliseconds(event.timestamp)));
  if (signer === undefined || toSign === undefined) {
    throw new JpError("cannot_sign", "This has to be signed, and cannot be signed here.");
  }
  return { ...event, signature: await signer.sign(toSign) };
}

/** Whether its nonce was created for this answer: after the request, and before the answer. Ids and digests may recur. */
export function hasOwnNonce(
  event: AnswerEvent | DecisionVote,
  askedAt: Timestamp | undefined,
): boolean {
  const { signature, timestamp } = event;
  const time =
    signature === undefined || "unknown" in signature ? undefined : nonceTime(signature.nonce);
  const asked = askedAt === undefined ? 0 : timestampToMilliseconds(askedAt);
  return time !== undefined && time >= asked && time <= timestampToMilliseconds(timestamp);
}

function signerOf(event: AnswerEvent | DecisionVote) {
  return event.type === "decision_vote" ? event.by : deciderOf(event);
}
