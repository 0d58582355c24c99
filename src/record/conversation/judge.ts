/**
 * The judge: whether a reply to a decision counts. One pure function of the request on record, the votes so far, the
 * reply, its author, the known people and the time. Every surface, every store and the verifier of evidence use it, and
 * have no rules of their own.
 *
 *   early? ─► late? ─► cancelled? ─► what was shown? ─► right person? ─► fits what the request takes? ─► signed? ─► vote, or the end
 *
 * It returns a code and never throws. The texts for the codes are in `refusals.ts`.
 */
import { explainMisfit, type InquiryQuestion } from "../tool/index.ts";
import { canonicalJson, type Json } from "../../util/index.ts";
import {
  ACTIONS,
  type AnswerEvent,
  type DecisionKind,
  deciderOf,
  isDecisionRequest,
  isNo,
  isPassedOn,
  type Reply,
  whomOf,
} from "./decision.ts";
import type {
  ConversationEvent,
  Decider,
  DecisionSubject,
  DecisionVoid,
  DecisionVote,
  InquiryId,
  Takes,
} from "./event.ts";
import {
  type Directory,
  findPerson,
  idOf,
  isBarred,
  type Knowledge,
  type KnownPeople,
  type KnownPerson,
  peopleFor,
  seatOf,
  type UserDecider,
} from "./known-people.ts";
import { explainRefusal, type RefusalCode } from "./refusals.ts";
import type { SecretAnswer } from "./secret-answer.ts";
import { hasOwnNonce, needsSignature, toSignOf } from "./signature.ts";
import { type Timestamp, timestampToMilliseconds } from "./timestamp.ts";
import { type PendingItem, pendingOf, readTurnProgress } from "./turn-progress.ts";
import {
  findAddressee,
  foldName,
  type ForWhom,
  isForKnown,
  isForSigners,
  isForSome,
  isSameName,
  quorumOf,
} from "./whom.ts";

/** The part of a decision that determines whether a reply counts. */
export interface JudgedDecision extends ForWhom {
  readonly kind: DecisionKind;
  readonly id: InquiryId;
  /** When it was asked. */
  readonly askedAt?: Timestamp | undefined;
  readonly deadline?: Timestamp | undefined;
  /** The digest of what was shown. */
  readonly digest?: string | undefined;
  readonly takes?: Takes | undefined;
  readonly votes?: readonly DecisionVote[] | undefined;
  /** Older versions recorded no ids, and a name only if they had verified the person. */
  readonly provesNames?: boolean | undefined;
  /** Only for a question: its answer type, and whether it takes a note. */
  readonly question?: Pick<InquiryQuestion, "answerType" | "allowsNote"> | undefined;
}

/** The verdict on a reply. */
export type Ruling =
  /** It ends the decision. */
  | { readonly code: "decides" }
  /** Recorded as a vote; the quorum is not met yet. `count` includes this one. */
  | { readonly code: "counts"; readonly vote: DecisionVote; readonly count: number }
  /** The person has already cast this vote. */
  | { readonly code: "repeated"; readonly vote: DecisionVote; readonly count: number }
  /** The person was shown something other than what is asked now. */
  | { readonly code: "changed" }
  | { readonly code: "overdue"; readonly deadline: Timestamp }
  | Refused;

/** A reply that does not count. `problem`: why the answer does not fit, without quoting it. */
export interface Refused {
  readonly code: RefusalCode;
  readonly problem?: string;
}

const DECIDES = { code: "decides" } as const;

/** Judges a reply in its recorded form. */
export function judge(asked: JudgedDecision, event: AnswerEvent, known: Knowledge): Ruling {
  const { askedAt, deadline, digest } = asked;
  // Otherwise a clock that was set back would undo a deadline. Cancelling makes nothing happen.
  const isEarly = askedAt !== undefined && !isAtOrAfter(event.timestamp, askedAt);
  if (isEarly && !isCancelling(event)) return { code: "before_request" };
  if (deadline !== undefined && isAtOrAfter(event.timestamp, deadline)) {
    return { code: "overdue", deadline };
  }
  // A no needs no digest: it makes nothing happen.
  const isHeld = !isNo(event) || event.digest !== undefined;
  if (isHeld && event.digest !== digest) return { code: "changed" };
  if (isCancelling(event)) return DECIDES;
  const by = deciderOf(event);
  const stranger = findStranger(termsOf(asked), by, known.people);
  // The user of the machine can discard the turn anyway.
  const isOwnNo = stranger !== undefined && isNo(event) && isHere(by);
  if (stranger !== undefined && !isOwnNo) return { code: stranger };
  const misfit = findMisfit(asked, event);
  if (misfit !== undefined || isOwnNo) return misfit ?? DECIDES;
  const unsigned = findUnsigned(termsOf(asked), event, known);
  return unsigned === undefined ? count(asked, event, known) : { code: unsigned };
}

/** The part of a decision that determines who may make it. */
type WhoAndWhen = ForWhom & Pick<JudgedDecision, "askedAt" | "provesNames">;

function termsOf(asked: JudgedDecision): WhoAndWhen {
  const { askedAt, provesNames } = asked;
  return { ...whomOf(asked), askedAt, provesNames };
}

/** Judges a reply before it is converted to its recorded form, which would drop fields that do not belong there. */
export function fitReply(
  { kind, question }: Pick<JudgedDecision, "kind"> & { readonly question: Answerable },
  { answer, arguments: edited, content }: Pick<Reply, "answer" | "arguments" | "content">,
): Refused | undefined {
  if (edited !== undefined && kind !== "permission") return { code: "not_editable" };
  if (content !== undefined && kind !== "delivery") return { code: "no_result" };
  return fitAnswer(question, answer);
}

type Answerable = Pick<InquiryQuestion, "answerType">;

function fitAnswer({ answerType }: Answerable, answer: Json): Refused | undefined {
  const problem = explainMisfit(answerType, answer);
  return problem === undefined ? undefined : { code: "misfit", problem };
}

function isAtOrAfter(timestamp: Timestamp, deadline: Timestamp): boolean {
  return timestampToMilliseconds(timestamp) >= timestampToMilliseconds(deadline);
}

function isHere(by: Decider | undefined): boolean {
  return by?.kind === "user" && by.auth === "os_user";
}

/** Cancelling needs no name: the user who runs the turn can discard it anyway. */
function isCancelling(event: AnswerEvent): boolean {
  return event.type === "permission_decision"
    ? event.decision === "denied" && event.cause === "closed" && event.decidedBy.kind === "user"
    : event.outcome === "cancelled";
}

/** Why the person who answers may not decide, judging by the known people. */
export function findStranger(
  whom: WhoAndWhen,
  by: Decider | undefined,
  people: KnownPeople | undefined,
): RefusalCode | undefined {
  if (!isForSome(whom) || by?.kind !== "user") return undefined;
  const isReplay = people?.isReplay === true;
  if (isReplay && isForKnown(whom)) return undefined;
  if (whom.terms?.isUnknown === true) return "unknown_terms";
  if (whom.forAny?.length === 0) return "no_one";
  if (by.auth === "client") return "wrong_person";
  const isKnowing = people !== undefined && people.list.length > 0;
  if (isKnowing) return findUnknown(whom, by, people.list);
  // A bare name comes from the user's config or the program, unless someone was known by it when this was asked.
  const wasKnown = whom.personIds !== undefined || by.onBehalfOf !== undefined;
  if (!isForKnown(whom) && (!wasKnown || isReplay)) {
    const isNamed = by.name !== undefined && findAddressee(whom, { user: by.name }) !== undefined;
    return isNamed ? undefined : "wrong_person";
  }
  if (people === undefined) return "directory_missing";
  const standsIn = people.ownerAlone && by.auth === "owner" && isForKnown(whom);
  return standsIn && !isForSigners(whom) ? undefined : "no_people";
}

/** If there are people, only they decide: under their own name or role, or for someone who is away. */
function findUnknown(
  whom: WhoAndWhen,
  by: UserDecider,
  list: readonly KnownPerson[],
): RefusalCode | undefined {
  const { terms } = whom;
  if (terms?.notBy !== undefined && terms.notBy.name === undefined) return "asker_unknown";
  const person = findClaimed(by, list);
  // The name may have been typed before there was a person of that name.
  const isProven = by.personId !== undefined || whom.provesNames === true;
  if (person === undefined || (person.id !== undefined && !isProven)) return "wrong_person";
  if (!isConfirmed(person, whom.askedAt)) return "unconfirmed";
  const { onBehalfOf } = by;
  const absent =
    onBehalfOf === undefined
      ? person
      : person.standsInFor?.find((each) => isSameName(each.name, onBehalfOf));
  if (absent === undefined) return "wrong_person";
  // A person who may not decide cannot do so through someone else either.
  if (isBarred(whom, person) || isBarred(whom, absent)) return "asker";
  return seatOf(whom, absent) === undefined ? "wrong_person" : undefined;
}

/** Undefined if nothing proves their identity, or the owner stood in before there were people. */
function findClaimed(by: UserDecider, list: readonly KnownPerson[]): KnownPerson | undefined {
  const { auth, personId, name } = by;
  if (auth === undefined || auth === "owner") return undefined;
  return personId === undefined
    ? findPerson(list, name)
    : list.find((each) => idOf(each) === personId);
}

function isConfirmed({ confirmed }: KnownPerson, askedAt: Timestamp | undefined): boolean {
  if (confirmed === undefined) return true;
  if (confirmed === false) return false;
  return askedAt === undefined || !isAtOrAfter(confirmed, askedAt);
}

/** Parts of the reply that the request does not take. */
function findMisfit(asked: JudgedDecision, event: AnswerEvent): Refused | undefined {
  const isForTurn = isTurnWide(event);
  if (isForTurn && asked.takes?.turn === undefined) return { code: "not_remembered" };
  if (event.grant !== undefined && isForSome(whomOf(asked))) return { code: "no_grant" };
  if (noteOf(event) !== undefined && !takesNote(asked, isNo(event))) return { code: "no_note" };
  if (event.type === "permission_decision") {
    const isEdited = event.decision === "edited" && event.action !== "run";
    return (event.result !== undefined) === isEdited ? undefined : { code: "no_result" };
  }
  const { question } = asked;
  if (question === undefined || event.outcome === "cancelled") return undefined;
  const isSecret = question.answerType.type === "secret";
  if (isSecret !== (event.outcome === "redacted")) {
    return { code: isSecret ? "secret_elsewhere" : "not_secret" };
  }
  if (isSecret && quorumOf(whomOf(asked)) > 1) return { code: "secret_of_several" };
  return event.outcome === "answered" ? fitAnswer(question, event.answer) : undefined;
}

function isTurnWide(event: AnswerEvent): boolean {
  const by = deciderOf(event);
  return by?.kind === "user" && by.scope === "turn";
}

function noteOf(event: AnswerEvent): string | undefined {
  if (event.type === "permission_decision") return event.reason;
  return event.outcome === "answered" ? event.note : undefined;
}

/** Whether an answer takes a note. A no always does. */
export function takesNote(
  { takes, question }: Pick<JudgedDecision, "takes" | "question">,
  isNegative: boolean,
): boolean {
  return isNegative || takes?.note === "any" || question?.allowsNote === true;
}

/** Why a yes or a vote lacks a required signature. */
function findUnsigned(
  asked: WhoAndWhen,
  event: AnswerEvent | DecisionVote,
  { people, signed }: Knowledge,
): RefusalCode | undefined {
  if (!isForSigners(asked) || !needsSignature(asked, event)) return undefined;
  if (people?.isReplay === true) return undefined;
  if (event.signature === undefined) return "unsigned";
  const isGood = hasOwnNonce(event, asked.askedAt) && signed?.has(event) === true;
  return isGood ? undefined : "wrong_signature";
}

/** The answers and votes that are signed with a key of their author. Throws `people_invalid`. */
function checkSignatures(
  whom: ForWhom,
  events: readonly (AnswerEvent | DecisionVote)[],
  directory: Directory | undefined,
): Pick<Knowledge, "signed"> {
  if (!isForSigners(whom) || directory?.isSigned === undefined) return {};
  const good = events.filter((event) => {
    const { signature } = event;
    if (signature === undefined || "unknown" in signature) return false;
    const toSign = toSignOf(event, signature.nonce);
    return toSign !== undefined && directory.isSigned?.(toSign, signature) === true;
  });
  return { signed: new Set(good) };
}

/** The known people and valid signatures that an answer is judged by. Throws `people_invalid`. */
export function knowledgeFor(
  asked: ForWhom & Pick<JudgedDecision, "votes">,
  event: AnswerEvent | undefined,
  directory: Directory | undefined,
): Knowledge {
  const whom = whomOf(asked);
  const events = [...(asked.votes ?? []), ...(event === undefined ? [] : [event])];
  return { people: peopleFor(whom, directory), ...checkSignatures(whom, events, directory) };
}

/** Whether the reply ends it. Only votes of people who may decide now count, and once per seat. */
function count(asked: JudgedDecision, event: AnswerEvent, known: Knowledge): Ruling {
  const by = deciderOf(event);
  const whom = termsOf(asked);
  const quorum = quorumOf(whom);
  if (quorum === 1 || by?.kind !== "user" || by.auth === "owner") return DECIDES;
  if (known.people?.isReplay === true) return DECIDES;
  if (isNo(event) && asked.terms?.countsRefusals !== true) return DECIDES;
  const vote = toVote(event, asked.id, by);
  const { list = [] } = known.people ?? {};
  const votes = (asked.votes ?? []).filter((each) => isVoteValid(whom, each, known));
  const standing = standingVotes(votes, list);
  const same = [...standing].filter(([, each]) => isSameChoice(each, vote));
  const voter = voterOf(vote, list);
  const before = same.find(([other]) => other === voter)?.[1];
  if (before !== undefined) return { code: "repeated", vote: before, count: same.length };
  // Two people who decide for the same person count once.
  const seats = new Set([...same.map(([, each]) => seatIn(each, list)), seatIn(vote, list)]);
  return seats.size >= quorum ? DECIDES : { code: "counts", vote, count: seats.size };
}

function isVoteValid(asked: WhoAndWhen, vote: DecisionVote, known: Knowledge): boolean {
  // A vote is recorded only for someone known at that time, even if people had no ids then.
  const proven = { ...asked, provesNames: true };
  return (
    findStranger(proven, vote.by, known.people) === undefined &&
    findUnsigned(asked, vote, known) === undefined
  );
}

/** The latest vote of each person, in the order of the record. */
export function standingVotes(
  votes: readonly DecisionVote[],
  list: readonly KnownPerson[] = [],
): ReadonlyMap<string, DecisionVote> {
  const standing = new Map<string, DecisionVote>();
  for (const vote of votes) {
    const voter = voterOf(vote, list);
    if (voter === undefined) continue;
    standing.delete(voter);
    standing.set(voter, vote);
  }
  return standing;
}

function voterOf({ by }: DecisionVote, list: readonly KnownPerson[]): string | undefined {
  if (by.kind !== "user") return undefined;
  const person = findClaimed(by, list);
  if (person !== undefined) return idOf(person);
  return by.name === undefined ? undefined : foldName(by.name);
}

/** The seat that a vote fills: that of the absent person, if someone stands in. */
function seatIn(vote: DecisionVote, list: readonly KnownPerson[]): string | undefined {
  const { by } = vote;
  const absent = by.kind === "user" ? by.onBehalfOf : undefined;
  if (absent === undefined) return voterOf(vote, list);
  const person = findPerson(list, absent);
  return person === undefined ? foldName(absent) : idOf(person);
}

function toVote(event: AnswerEvent, id: InquiryId, by: DecisionVote["by"]): DecisionVote {
  const { signature, digest } = event;
  const base = {
    type: "decision_vote",
    timestamp: event.timestamp,
    id,
    by,
    ...(signature !== undefined && { signature }),
    ...(digest !== undefined && { digest }),
  } as const;
  const note = noteOf(event);
  const noted = note === undefined ? {} : { note };
  if (event.type === "permission_decision") {
    const { toolCallId, decision, result } = event;
    return { ...base, toolCallId, decision, ...(result !== undefined && { result }), ...noted };
  }
  return event.outcome === "answered" ? { ...base, answer: event.answer, ...noted } : base;
}

/** Whether both votes make the same choice about the same subject. Notes do not matter. */
function isSameChoice(left: DecisionVote, right: DecisionVote): boolean {
  const [one, other] = [left, right].map(
    ({ decision = null, result, answer = null, digest = null }) =>
      canonicalJson([decision, result?.content ?? null, answer, digest]),
  );
  return one === other;
}

/** Whether a decision on record still counts, just before it is used. */
export type Use =
  | "counts"
  /** The person who decided is no longer known, or has lost the role or the key. */
  | "person"
  /** It does not meet the terms on record, or those in force. */
  | "terms"
  /** This process has no directory to tell. */
  | "directory_missing";

/** Who would decide if it were opened now, under the current settings and rules. */
export interface InForce extends ForWhom {
  /** Everyone before has timed out, and a model is asked. */
  readonly isForModel?: boolean;
}

const PERSON_CODES: ReadonlySet<RefusalCode> = new Set([
  "wrong_person",
  "unconfirmed",
  "no_people",
  "unsigned",
  "wrong_signature",
]);

/** A request on record, as far as it is known. */
export interface AskedOnRecord extends Omit<DecisionSubject, "deadline" | "subject"> {
  readonly kind: DecisionKind;
  readonly id?: InquiryId | undefined;
  readonly timestamp?: Timestamp | undefined;
}

/** Everything that determines whether a decision can be used, besides the decision itself. */
export interface Using {
  /** The events of its turn. Read only if several people decide, or an answer was remembered. */
  readonly turn: () => readonly ConversationEvent[];
  readonly directory: Directory | undefined;
  readonly inForce: InForce;
}

/**
 * Judges a recorded yes again, with its votes and signatures: against the terms on record, and against those in force.
 * The two are not compared, so that relaxing terms voids nothing. A no stands. Throws `people_invalid`.
 */
export function judgeUse(
  request: AskedOnRecord,
  event: AnswerEvent,
  { turn, directory, inForce }: Using,
): Use {
  const onRecord = whomOf(request);
  if (isNo(event) || (!isForSome(onRecord) && !isForSome(inForce))) return "counts";
  const said = saidBy(event, turn);
  const by = deciderOf(said);
  if (by?.kind !== "user") return isDecidedUnasked(by, onRecord, inForce) ? "counts" : "terms";
  // Earlier versions took a bare name from anyone, even a client's form, and recorded no `auth` with it.
  const isBareName = by.auth === undefined && directory?.isReplay !== true;
  if (isBareName) return isForSome(onRecord) ? "person" : "terms";
  const { kind, timestamp: askedAt } = request;
  const id = request.id ?? event.id ?? ("" as InquiryId); // A decision that was never asked has no votes.
  const isVoted = [onRecord, inForce].some((whom) => quorumOf(whom) > 1);
  const votes = isVoted ? votesOn(turn(), id) : [];
  const provesNames = isForKnown(onRecord);
  const asked = { kind, id, askedAt, votes, provesNames, ...onRecord };
  const terms = { ...onRecord.terms, ...inForce.terms };
  const known = knowledgeFor({ ...asked, terms }, said, directory);
  const unmet = findUnmet(asked, said, known);
  if (unmet === "directory_missing") return unmet;
  if (unmet !== undefined) return PERSON_CODES.has(unmet) ? "person" : "terms";
  const now = findUnmet({ ...asked, ...NO_WHOM, ...whomOf(inForce) }, said, known);
  if (now === "directory_missing") return now;
  return now === undefined ? "counts" : "terms";
}

/** Attributes a remembered answer to the person who gave it. */
function saidBy(event: AnswerEvent, turn: Using["turn"]): AnswerEvent {
  const by = deciderOf(event);
  if (by?.kind !== "remembered") return event;
  const given = turn().find((other) => isAnswer(other) && other.id === by.from);
  const person = given !== undefined && isAnswer(given) ? deciderOf(given) : undefined;
  if (person === undefined) return event;
  if (event.type === "permission_decision") return { ...event, decidedBy: person };
  return event.outcome === "cancelled" ? event : { ...event, answeredBy: person };
}

const NO_WHOM = { for: undefined, forAny: undefined, terms: undefined, personIds: undefined };

/** Why the person who decided and the voters do not meet the terms. */
export function findUnmet(
  asked: JudgedDecision,
  event: AnswerEvent,
  known: Knowledge,
): RefusalCode | undefined {
  const whom = termsOf(asked);
  const unmet =
    findStranger(whom, deciderOf(event), known.people) ?? findUnsigned(whom, event, known);
  if (unmet !== undefined) return unmet;
  return count(asked, event, known).code === "decides" ? undefined : "wrong_person";
}

/** A decision without a person counts unless people are required. Where terms apply, only a person's counts. */
export function isDecidedUnasked(
  by: Decider | undefined,
  asked: ForWhom,
  inForce: InForce,
): boolean {
  const all = [asked, inForce];
  if (all.some(({ terms }) => terms !== undefined)) return false;
  // Another version recorded it, and may have known less.
  if (by === undefined || by.kind === "unknown") return !all.some(isForSome);
  const isByModel = by.kind === "assistant" || by.kind === "policy";
  return !isByModel || !isForSome(inForce) || inForce.isForModel === true;
}

/** An answer from elsewhere, and the request it answers. */
export interface OfferedAnswer {
  /** The event to record. If the answer is a secret, its outcome is `redacted`. */
  readonly event: AnswerEvent;
  /** Kept beside the event, in memory only. */
  readonly secret?: SecretAnswer;
  /** When it was asked. A later question may have the same id, because some providers reuse call ids. */
  readonly askedAt?: Timestamp;
  /** The known people of the judging process. Never passed on. */
  readonly directory?: Directory | undefined;
}

/** Whether an answer from elsewhere can be used. */
export type Judgement = Fits | AnswerProblem;

/** An answer that can be used. */
export interface Fits {
  readonly type: "fits";
  readonly item: PendingItem;
  /** Set if it is a vote: it is recorded instead of the answer, and nothing is decided yet. */
  readonly counted?: { readonly vote: DecisionVote } & VoteCount;
}

/** The votes for the same choice so far, and the quorum. */
export interface VoteCount {
  readonly count: number;
  readonly quorum: number;
}

/** Why an answer is not used. */
export type AnswerProblem =
  /** Another answer was first. `counted`: this one is on record too, as a vote. */
  | { readonly type: "taken"; readonly event: AnswerEvent; readonly counted?: VoteCount }
  /** The same person has already cast this vote, and the quorum is not met yet. */
  | ({ readonly type: "repeated"; readonly vote: DecisionVote } & VoteCount)
  /** The turn does not wait for it. */
  | { readonly type: "not_pending" }
  /** The person who answers was shown something other than what is asked now. */
  | { readonly type: "changed" }
  /**
   * It waits in another folder, whose workspace has the same id. The person may have been shown something else than is
   * asked there.
   */
  | { readonly type: "other_workspace"; readonly workspace: string }
  /** Its deadline has passed. When the turn is continued, it ends as the config says. */
  | { readonly type: "overdue"; readonly deadline: Timestamp }
  | RefusedAnswer;

/** `reason` explains the code to the person who answers. It never quotes the answer. */
export interface RefusedAnswer {
  readonly type: "refused";
  readonly code: RefusalCode;
  readonly reason: string;
}

/**
 * Judges an answer from outside the process that asks. `turn` has the events of the last turn on record. `isLive`:
 * whether the process that runs it is alive. Throws `people_invalid`.
 */
export function judgeOffered(
  turn: readonly ConversationEvent[],
  { event, secret, askedAt, directory }: OfferedAnswer,
  isLive: boolean,
): Judgement {
  if (askedAt !== undefined && !turn.some(({ timestamp }) => timestamp === askedAt)) {
    return { type: "not_pending" };
  }
  const item = pendingOf(readTurnProgress(turn), isLive).find((pending) => isFor(event, pending));
  if (item === undefined) return judgeEnded(turn, event);
  const asked = judgedItem(item);
  const own = { ...event, id: item.id };
  const ruling =
    findForeign(own, secret, asked) ?? judge(asked, own, knowledgeFor(asked, own, directory));
  return toJudgement(item, ruling);
}

/** Converts a pending item for the judge. */
export function judgedItem(item: PendingItem): JudgedDecision {
  const { kind, id, askedAt, deadline, digest, takes, votes, request } = item;
  const question = request?.type === "inquiry_request" ? request.question : undefined;
  return { kind, id, askedAt, deadline, digest, takes, votes, question, ...whomOf(item) };
}

/**
 * Refuses answers that only the asking process can take: a secret's text has to be there, and arguments are checked
 * where the tool runs.
 */
function findForeign(
  event: AnswerEvent,
  secret: SecretAnswer | undefined,
  asked: JudgedDecision,
): Refused | undefined {
  if (isCancelling(event)) return undefined;
  if (deciderOf(event)?.kind !== "user") return { code: "not_a_person" };
  if (event.type === "permission_decision") {
    const isEdited = event.action === "run" && event.decision === "edited";
    return isEdited || event.arguments !== undefined ? { code: "not_editable" } : undefined;
  }
  if (event.outcome !== "redacted" || asked.question?.answerType.type !== "secret")
    return undefined;
  return secret === undefined ? { code: "secret_elsewhere" } : judgeSecret(asked, secret);
}

/** Judges the part that is not in the event: neither a record nor a file may carry a secret. */
function judgeSecret(asked: JudgedDecision, secret: SecretAnswer): Refused | undefined {
  const { answer, note } = secret.reveal();
  if (note !== undefined && !takesNote(asked, false)) return { code: "no_note" };
  return fitAnswer(asked.question ?? { answerType: { type: "secret" } }, answer);
}

function toJudgement(item: PendingItem, ruling: Ruling): Judgement {
  const quorum = quorumOf(item);
  switch (ruling.code) {
    case "decides":
      return { type: "fits", item };
    case "counts":
      return { type: "fits", item, counted: { vote: ruling.vote, count: ruling.count, quorum } };
    case "repeated":
      return { type: "repeated", vote: ruling.vote, count: ruling.count, quorum };
    case "changed":
      return { type: "changed" };
    case "overdue":
      return { type: "overdue", deadline: ruling.deadline };
    default:
      return refuse(ruling, item);
  }
}

/** Adds an explanation for the person who answers. */
export function refuse({ code, problem }: Refused, whom: ForWhom = {}): RefusedAnswer {
  return { type: "refused", code, reason: problem ?? explainRefusal(code, whom) };
}

/** It no longer waits: it was asked again under another id, or is about to be, or was answered. */
function judgeEnded(turn: readonly ConversationEvent[], event: AnswerEvent): Judgement {
  const madeVoid = turn.findLast(
    (other): other is DecisionVoid => other.type === "decision_void" && other.id === event.id,
  );
  if (madeVoid !== undefined) {
    return isPassedOn(madeVoid.changed) ? tooLate(turn, madeVoid) : { type: "changed" };
  }
  const first = turn.findLast(
    (other): other is AnswerEvent => isAnswer(other) && isSameTarget(other, event),
  );
  if (first === undefined) return { type: "not_pending" };
  return { type: "taken", event: first, ...countedBefore(turn, event) };
}

/** Others are asked by now. */
function tooLate(turn: readonly ConversationEvent[], { id, timestamp }: DecisionVoid): Judgement {
  const request = turn.filter(isDecisionRequest).findLast((event) => event.id === id);
  return { type: "overdue", deadline: request?.deadline ?? timestamp };
}

/** Set if the offered answer is already on record as a vote that did not decide. */
function countedBefore(
  turn: readonly ConversationEvent[],
  event: AnswerEvent,
): { readonly counted?: VoteCount } {
  const votes = votesOn(turn, event.id);
  if (votes.length === 0) return {};
  const own = nameOf(deciderOf(event));
  const position = votes.findIndex(
    ({ timestamp, by }) => timestamp === event.timestamp && nameOf(by) === own,
  );
  const request = turn.filter(isDecisionRequest).find(({ id }) => id === event.id);
  if (position === -1 || request === undefined) return {};
  return { counted: { count: position + 1, quorum: quorumOf(request) } };
}

function nameOf(by: Decider | undefined): string | undefined {
  return by?.kind === "user" ? by.name : undefined;
}

/** In order. `turn` has the events of one turn. */
export function votesOn(
  turn: Iterable<ConversationEvent>,
  id: InquiryId | undefined,
): readonly DecisionVote[] {
  return [...turn].filter(
    (event): event is DecisionVote => event.type === "decision_vote" && event.id === id,
  );
}

/** Finds the event that answered it. `turn` is as for `judgeOffered`. */
export function findAnswerTo(
  turn: readonly ConversationEvent[],
  item: AnswerTarget,
): AnswerEvent | undefined {
  return turn.findLast((event): event is AnswerEvent => isAnswer(event) && isFor(event, item));
}

/** Whether the event answers something. */
export function isAnswer(event: ConversationEvent): event is AnswerEvent {
  return event.type === "inquiry_response" || event.type === "permission_decision";
}

/** Whether both answer the same request. Earlier versions recorded no id with a decision about a call. */
function isSameTarget(left: AnswerEvent, right: AnswerEvent): boolean {
  if (left.id !== undefined && right.id !== undefined) return left.id === right.id;
  if (left.type === "inquiry_response" || right.type === "inquiry_response") return false;
  return left.toolCallId === right.toolCallId && left.action === right.action;
}

/** The request that an answer is for. */
type AnswerTarget = Pick<PendingItem, "kind" | "id" | "toolCallId" | "tool">;

function isFor(event: AnswerEvent, { kind, id, toolCallId, tool }: AnswerTarget): boolean {
  if (event.type === "inquiry_response") return kind === "question" && id === event.id;
  if (kind === "question" || event.action !== ACTIONS[kind]) return false;
  // Earlier versions recorded no id.
  if (event.id !== undefined && event.id !== id) return false;
  return event.toolCallId === toolCallId && event.tool === tool;
}
