/**
 * Judges an export's decisions again, with the judge that all surfaces use: from the links, the verified signatures,
 * and the identities recorded in answers and votes. People who have left since and current terms do not matter. Where
 * an export leaves something open, every reading is judged; if only some meet the terms, the decision is not judged.
 */
import {
  type AnswerEvent,
  CHAIN_VERSION,
  type Decider,
  type DecisionSignature,
  type DecisionVote,
  findTimestamp,
  findUnmet,
  isDecidedUnasked,
  isForKnown,
  isForSigners,
  isForSome,
  judge,
  newNonce,
  quorumOf,
  type RecordedSignature,
  type Ruling,
  timestampToMilliseconds,
} from "../record/conversation/index.ts";
import type { JsonObject } from "../util/index.ts";
import {
  agreeing,
  byOf,
  choiceOf,
  findDecision,
  type LinkedDecision,
  peopleIn,
  toAnswer,
  toVote,
} from "./link-events.ts";
import type { LinkedAnswer, LinkedEvent } from "./linked-decisions.ts";
import { findObject } from "./statement.ts";

/**
 * The judge's ruling on an answer that does not meet its terms. `decides`: a vote although one person decides alone.
 */
export type UnmetCode =
  | Ruling["code"]
  /** It answers no pending request. */
  | "not_pending";

/** Why a decision is not judged, or only in part. */
export type NotJudgedReason =
  /** A version 1 link lacks necessary information. The rest meets the terms. */
  | "version_1"
  /** The link's version is unknown here. */
  | "newer_version"
  /** The terms are from a newer version. */
  | "unknown_terms"
  /** Its request is not in the chain, which has a gap before the answer. */
  | "request_missing"
  /** A rule or a model decided it, and the rules at the time are not in the export. */
  | "rules_in_force"
  /** It depends on an answer that is not in the export. */
  | "answer_missing"
  /** It depends on a signature whose key or event is gone. */
  | "signature_missing"
  /** One of its links was not made by jp. */
  | "unreadable_link";

/** The result of judging a decision. */
export type TermsResult =
  | { readonly type: "met" }
  | { readonly type: "unmet"; readonly code: UnmetCode; readonly line: number }
  | { readonly type: "not_judged"; readonly reason: NotJudgedReason };

/** A person's signature in an export. */
export interface CheckedSignature {
  /** `unchecked`: the signed content is not in the export. `lost`: its key or its event is gone. */
  readonly state: "good" | "bad" | "unchecked" | "lost";
  readonly signature?: DecisionSignature | undefined;
}

/** An export's further information about links, by position. */
export interface LinkKnowledge {
  findSignature(seq: number): CheckedSignature | undefined;
  /** Whether the answer is a no. Undefined if the export omits it. */
  isNo(seq: number): boolean | undefined;
}

const MET = { type: "met" } as const;

/** Undefined if there is nothing to judge: no one was asked, or the answer has no effect. */
export function judgeLinked(answer: LinkedAnswer, known: LinkKnowledge): TermsResult | undefined {
  const { said, asked, isAfterGap } = answer;
  const versions = [said.version, asked?.version ?? said.version];
  if (Math.max(...versions) > CHAIN_VERSION) return notJudged("newer_version");
  const isOld = versions.includes(1);
  const by = byOf(said);
  if (isIdle(said.json, by)) return undefined;
  if (asked === undefined) {
    if (by?.kind !== "user") return undefined;
    if (isOld) return notJudged("version_1");
    return isAfterGap ? notJudged("request_missing") : unmet("not_pending", said);
  }
  const decision = findDecision(asked);
  if (decision === undefined) return notJudged("unreadable_link");
  if (decision.terms?.isUnknown === true) return notJudged("unknown_terms");
  if (by?.kind !== "user" && !isForSome(decision)) return undefined;
  const isJudged =
    by?.kind === "user" && isForKnown(decision) && said.json["decision"] !== "denied";
  if (isOld && !isJudged) return notJudged("version_1");
  if (by?.kind !== "user") return judgeUnasked(answer, decision, by);
  const result = judgePerson(answer, decision, known);
  return isOld && result.type === "met" ? notJudged("version_1") : result;
}

function notJudged(reason: NotJudgedReason): TermsResult {
  return { type: "not_judged", reason };
}

function unmet(code: UnmetCode, { line }: LinkedEvent): TermsResult {
  return { type: "unmet", code, line };
}

/** Only a person's own no has an effect, and the tool's own check only reports what has happened. */
function isIdle({ decision, cause }: JsonObject, by: Decider | undefined): boolean {
  if (decision === "cancelled" || (by?.kind === "tool" && decision === "edited")) return true;
  return decision === "denied" && (by?.kind !== "user" || cause !== undefined);
}

/** Judges a decision made without a person, or by an answer from earlier in the turn. */
function judgeUnasked(
  { said, given }: LinkedAnswer,
  decision: LinkedDecision,
  by: Decider | undefined,
): TermsResult {
  const person = given && byOf(given);
  if (by?.kind === "remembered" && person?.kind === "user") {
    const event = toAnswer(said, decision, { by: person });
    if (event === undefined) return notJudged("unreadable_link");
    const code = findUnmet(decision, event, { people: peopleIn(decision, [person]) });
    return code === undefined ? MET : unmet(code, said);
  }
  // The rules at the time are not in the export, so assume that none required more than the request does.
  if (!isDecidedUnasked(by, decision, {})) return unmet("not_a_person", said);
  const isRuled = by?.kind === "policy" || by?.kind === "assistant";
  return isRuled ? notJudged("rules_in_force") : MET;
}

/** The rulings of a valid vote. A person who votes again may have another key by then. */
const VOTE_RULINGS: ReadonlySet<string> = new Set<UnmetCode>(["counts", "decides", "repeated"]);

/** Whether the votes are valid, and whether the answer meets the terms with them. */
function judgePerson(
  { said, votes }: LinkedAnswer,
  decision: LinkedDecision,
  known: LinkKnowledge,
): TermsResult {
  for (const [index, vote] of votes.entries()) {
    if (quorumOf(decision) === 1) return unmet("decides", vote);
    const before = votes.slice(0, index).toReversed();
    const codes = judgeReadings([vote, ...before], decision, known);
    const isCounting = codes?.some((code) => VOTE_RULINGS.has(code)) === true;
    if (codes !== undefined && !isCounting) return unmet(codes[0], vote);
  }
  const all = [said, ...votes.toReversed()] as const;
  const codes = judgeReadings(all, decision, known);
  if (codes === undefined) return notJudged("unreadable_link");
  if (!codes.includes("decides")) return unmet(codes[0], said);
  if (codes.every((code) => code === "decides")) return MET;
  const isLost = all.some(({ seq }) => known.findSignature(seq)?.state === "lost");
  return notJudged(isForSigners(decision) && isLost ? "signature_missing" : "answer_missing");
}

/** One reading of what links leave open. */
interface Supposed {
  readonly isNo: boolean;
  /** Treats signatures that cannot be checked as valid. */
  readonly isSigned: boolean;
}

/** Latest first. */
type Saying = readonly [LinkedEvent, ...LinkedEvent[]];

/** The ruling for each reading, most likely first. Undefined if a link was not made by jp. */
function judgeReadings(
  saying: Saying,
  decision: LinkedDecision,
  known: LinkKnowledge,
): readonly [UnmetCode, ...UnmetCode[]] | undefined {
  const [said] = saying;
  const isNo = decision.action === undefined ? known.isNo(said.seq) : false;
  const noes = isNo === undefined && canBeNo(decision) ? [false, true] : [isNo === true];
  const isOpen = saying.some(({ seq }) => {
    const { state } = known.findSignature(seq) ?? {};
    return state === "lost" || state === "unchecked";
  });
  const readings = noes.flatMap((no) =>
    (isOpen ? [true, false] : [true]).map((isSigned) => ({ known, isNo: no, isSigned })),
  );
  const [first, ...others] = readings.flatMap((each) => rule(saying, decision, each) ?? []);
  return first === undefined ? undefined : [first, ...others];
}

/** Any answer but a text may be a no. */
function canBeNo({ answerType }: LinkedDecision): boolean {
  return answerType !== "text" && answerType !== "secret";
}

/** The ruling, based on the identities recorded in the answer and votes. */
function rule(
  saying: Saying,
  decision: LinkedDecision,
  supposed: Supposed & { readonly known: LinkKnowledge },
): UnmetCode | undefined {
  const said = agreeing(saying[0], saying[0], decision);
  const links = [said, ...saying.slice(1).map((link) => agreeing(link, said, decision))];
  const signed = new Set<AnswerEvent | DecisionVote>();
  const read = links.map((link) => {
    const by = byOf(link);
    if (by?.kind !== "user") return undefined;
    const { signature, isGood } = signatureOf(link, supposed);
    const isRefused = canBeNo(decision) && isSameChoice(link, said) === supposed.isNo;
    const reading = { by, signature, answer: isRefused ? false : undefined };
    const event =
      link === said ? toAnswer(link, decision, reading) : toVote(link, decision, reading);
    if (event !== undefined && isGood) signed.add(event);
    return event;
  });
  const [event, ...votes] = read.filter((each) => each !== undefined);
  if (read.includes(undefined) || event === undefined || event.type === "decision_vote") {
    return undefined;
  }
  // For an edited call, the digest covers the person's arguments.
  const isOwnDigest = decision.action === "run" && said.json["decision"] === "edited";
  const asked = {
    ...decision,
    votes: votes.toReversed().filter((vote) => vote.type === "decision_vote"),
    digest: isOwnDigest ? event.digest : decision.digest,
    question: questionOf(decision, event),
  };
  const people = peopleIn(
    decision,
    saying.flatMap((link) => byOf(link) ?? []),
  );
  return judge(asked, event, { people, signed }).code;
}

/** A type that fits the answer's placeholder: whether the answer itself fits its question is not judged. */
function questionOf({ action, answerType, allowsNote }: LinkedDecision, event: AnswerEvent) {
  if (action !== undefined || answerType === undefined) return undefined;
  const isNo = "answer" in event && event.answer === false;
  const type = answerType === "secret" ? "secret" : isNo ? "boolean" : "text";
  return { answerType: { type }, allowsNote } as const;
}

/** Equal choices are equal answers, whatever their content. */
function isSameChoice(left: LinkedEvent, right: LinkedEvent): boolean {
  return choiceOf(left) === choiceOf(right);
}

function signatureOf(
  { json, seq }: LinkedEvent,
  { known, isSigned }: Supposed & { readonly known: LinkKnowledge },
): { readonly isGood: boolean; readonly signature?: RecordedSignature | undefined } {
  const { state, signature } = known.findSignature(seq) ?? {};
  if (state === "lost") return { isGood: isSigned, signature: lostSignature(json) };
  if (signature !== undefined) {
    return { isGood: state === "good" || (state === "unchecked" && isSigned), signature };
  }
  // The link claims a signature that is not in the export.
  const claimed = findObject(json, "signature");
  return { isGood: false, signature: claimed && { unknown: claimed } };
}

/** Assumes that it was made when the answer was recorded. */
function lostSignature({ at }: JsonObject): DecisionSignature {
  const timestamp = findTimestamp(at);
  const time = timestamp === undefined ? 0 : timestampToMilliseconds(timestamp);
  return { type: "ed25519", key: "", nonce: newNonce(time), sig: "" };
}
