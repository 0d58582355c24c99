/**
 * Judges the decisions of an export again, by the judge that every surface asks: from what links say, the signatures that were
 * checked, and as much of people as answers and votes have recorded. Who has left since, and which terms are in force now, does
 * not matter. What an export does not show is read in every way; if only some of them meet the terms, it is not judged.
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

/** What the judge says of an answer that does not meet its terms. `decides`: of a vote, where one person decides alone. */
export type UnmetCode =
  | Ruling["code"]
  /** Nothing waited for it. */
  | "not_pending";

/** Why a decision is not judged, or only in part. */
export type NotJudgedReason =
  /** A link of version 1 does not hold all that it takes. The rest meets the terms. */
  | "version_1"
  /** A link of a version that this one does not know. */
  | "newer_version"
  /** The terms are of a newer version. */
  | "unknown_terms"
  /** Its request is not in the chain, which has a gap before it. */
  | "request_missing"
  /** A rule or a model has decided it, and the rules of then are not in the export. */
  | "rules_in_force"
  /** It depends on an answer that is not in the export. */
  | "answer_missing"
  /** It depends on a signature whose key or event is gone. */
  | "signature_missing"
  /** One of its links is not one that jp makes. */
  | "unreadable_link";

/** What comes of judging a decision. */
export type TermsResult =
  | { readonly type: "met" }
  | { readonly type: "unmet"; readonly code: UnmetCode; readonly line: number }
  | { readonly type: "not_judged"; readonly reason: NotJudgedReason };

/** A person's signature in an export. */
export interface CheckedSignature {
  /** `unchecked`: what it is of is not in the export. `lost`: its key or its event is gone. */
  readonly state: "good" | "bad" | "unchecked" | "lost";
  readonly signature?: DecisionSignature | undefined;
}

/** What else an export says of links, by their position. */
export interface LinkKnowledge {
  findSignature(seq: number): CheckedSignature | undefined;
  /** Whether the answer is a no. Undefined if the export does not show it. */
  isNo(seq: number): boolean | undefined;
}

const MET = { type: "met" } as const;

/** Undefined if there is nothing to judge: no one was asked, or nothing comes of it. */
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

/** Nothing happens by a no that is not a person's own word, and the tool's own check only says what has happened. */
function isIdle({ decision, cause }: JsonObject, by: Decider | undefined): boolean {
  if (decision === "cancelled" || (by?.kind === "tool" && decision === "edited")) return true;
  return decision === "denied" && (by?.kind !== "user" || cause !== undefined);
}

/** What no person has decided, or a person only earlier in the turn. */
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
  // The rules of then are not in the export: as if none had asked for more than the request does.
  if (!isDecidedUnasked(by, decision, {})) return unmet("not_a_person", said);
  const isRuled = by?.kind === "policy" || by?.kind === "assistant";
  return isRuled ? notJudged("rules_in_force") : MET;
}

/** What may come of a vote. Whoever has voted before may have had another key by then. */
const VOTE_RULINGS: ReadonlySet<string> = new Set<UnmetCode>(["counts", "decides", "repeated"]);

/** Whether the votes may be there, and whether the answer meets the terms with them. */
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

/** One way to read what links leave open. */
interface Supposed {
  readonly isNo: boolean;
  /** Signatures that cannot be checked are good. */
  readonly isSigned: boolean;
}

/** The latest first. */
type Saying = readonly [LinkedEvent, ...LinkedEvent[]];

/** What the judge says in each way to read it, the most likely first. Undefined if a link is not one that jp makes. */
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

/** Any other answer than a text may be one. */
function canBeNo({ answerType }: LinkedDecision): boolean {
  return answerType !== "text" && answerType !== "secret";
}

/** What the judge says, with as much of the people as those who have said something have recorded. */
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
  // Of a call with other arguments, the digest is that of what the person has made of it.
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

/** A type that the stand-in for the answer fits: whether the answer itself fits its question is not judged. */
function questionOf({ action, answerType, allowsNote }: LinkedDecision, event: AnswerEvent) {
  if (action !== undefined || answerType === undefined) return undefined;
  const isNo = "answer" in event && event.answer === false;
  const type = answerType === "secret" ? "secret" : isNo ? "boolean" : "text";
  return { answerType: { type }, allowsNote } as const;
}

/** Those who have chosen the same have said the same, whatever that is. */
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
  // One that the link claims, and the export does not have.
  const claimed = findObject(json, "signature");
  return { isGood: false, signature: claimed && { unknown: claimed } };
}

/** Made when it was recorded, as far as anyone can tell. */
function lostSignature({ at }: JsonObject): DecisionSignature {
  const timestamp = findTimestamp(at);
  const time = timestamp === undefined ? 0 : timestampToMilliseconds(timestamp);
  return { type: "ed25519", key: "", nonce: newNonce(time), sig: "" };
}
