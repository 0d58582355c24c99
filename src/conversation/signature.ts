/**
 * What a person signs who has to, and whether a yes has the signature that it takes. How a signature is checked, and with which
 * keys, only a `Directory` knows.
 */
import { canonicalJson, JpError, type Json, randomKey, sha256 } from "../util/index.ts";
import { type AnswerEvent, deciderOf, isNo } from "./decision.ts";
import type { DecisionSignature, DecisionVote, ToSign } from "./event.ts";
import { type Timestamp, timestampToMilliseconds } from "./timestamp.ts";
import { type Directory, type ForWhom, isForSigners } from "./whom.ts";

/** For whom something is, and when it was asked, if that is known. */
export interface AskedOf extends ForWhom {
  readonly askedAt?: Timestamp | undefined;
}

/** What is signed, in hexadecimal digits: 32 bytes. A passkey gets them as its challenge, and an Ed25519 key signs them. */
export function hashToSign({ digest, id, answer, person, nonce }: ToSign): string {
  return sha256(canonicalJson({ digest, id, answer, person, nonce }));
}

/** Has the time, so that a signature from before the question does not count: ids and digests may come again. */
export function newNonce(now: number): string {
  return `${now}.${randomKey()}`;
}

/** Undefined if it is not one that `newNonce` could have made. */
export function nonceTime(nonce: string): number | undefined {
  const [, digits] = /^(\d{1,15})\.[\w-]{16,64}$/.exec(nonce) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** What was decided, without the words that came with it. */
export function answerToSign(event: AnswerEvent | DecisionVote): Json {
  if (event.type === "inquiry_response") {
    // A secret is not on record, so that no one could check a signature of it.
    return event.outcome === "answered" ? event.answer : { outcome: event.outcome };
  }
  const { decision, result } = event;
  if (event.type === "decision_vote" && decision === undefined) return event.answer ?? null;
  if (decision === "denied") return false;
  const args = event.type === "permission_decision" ? event.arguments : undefined;
  if (args !== undefined) return { arguments: args };
  return result === undefined ? true : { result: result.content };
}

/** Whether it counts only with a signature. A no needs none, and without people no one has a key. */
export function needsSignature(whom: ForWhom, event: AnswerEvent | DecisionVote): boolean {
  if (!isForSigners(whom) || isNo(event)) return false;
  const by = signerOf(event);
  return by?.kind === "user" && by.auth !== "owner";
}

/** What has to be signed. Undefined if it cannot be, because it is not known what was shown or who decides. */
export function toSignOf(event: AnswerEvent | DecisionVote, nonce: string): ToSign | undefined {
  const by = signerOf(event);
  const { digest, id } = event;
  if (digest === undefined || id === undefined) return undefined;
  if (by?.kind !== "user" || by.name === undefined) return undefined;
  return { digest, id, answer: answerToSign(event), person: by.name, nonce };
}

/** Signed by who uses this process. Throws `cannot_sign`. */
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

/** Why it does not count: it lacks the signature that it needs. Without a directory, any signature will do. */
export function explainUnsigned(
  whom: AskedOf,
  event: AnswerEvent | DecisionVote,
  directory?: Directory,
): string | undefined {
  if (!needsSignature(whom, event)) return undefined;
  const { signature } = event;
  if (signature === undefined) return "this has to be signed";
  if ("unknown" in signature) return "a newer version of jp has signed this, and has to take it";
  const time = nonceTime(signature.nonce);
  const toSign = toSignOf(event, signature.nonce);
  if (time === undefined || toSign === undefined) return NOT_SIGNED;
  const asked = whom.askedAt === undefined ? 0 : timestampToMilliseconds(whom.askedAt);
  if (time < asked || time > timestampToMilliseconds(event.timestamp)) return NOT_SIGNED;
  return directory === undefined ? undefined : explainWith(directory, toSign, signature);
}

/** A signature of something else: another answer, another decision, or an earlier one. */
const NOT_SIGNED = "the signature is not of this answer";

function explainWith(
  directory: Directory,
  toSign: ToSign,
  signature: DecisionSignature,
): string | undefined {
  if (directory.list().length === 0) return undefined;
  if (directory.isSigned === undefined) return "signatures cannot be checked here";
  return directory.isSigned(toSign, signature) ? undefined : NOT_SIGNED;
}

function signerOf(event: AnswerEvent | DecisionVote) {
  return event.type === "decision_vote" ? event.by : deciderOf(event);
}
