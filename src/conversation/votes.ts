/**
 * What several people have to say before something is decided. Each says it in an event of their own, and whoever completes
 * the number makes the decision. Read from the record alone, so that every process counts alike.
 */
import { canonicalJson, type Json, type JsonObject } from "../util/index.ts";
import { type AnswerEvent, deciderOf, isNo } from "./decision.ts";
import type { ConversationEvent, DecisionVote, InquiryId } from "./event.ts";
import { deciderToJson } from "./inquiry-codec.ts";
import { type AskedOf, explainUnsigned } from "./signature.ts";
import type { Timestamp } from "./timestamp.ts";
import { type Directory, explainDecider, foldName, type ForWhom, isForSigners } from "./whom.ts";

/** What comes of what someone says. */
export type Counted =
  /** Nothing else is needed. */
  | { readonly type: "decides" }
  /** Others have to say the same. `count` includes this one. */
  | { readonly type: "counts"; readonly vote: DecisionVote; readonly count: number }
  /** They have said so before. */
  | { readonly type: "repeats"; readonly vote: DecisionVote; readonly count: number };

/** What was asked, and what people have said so far. */
export interface Voted extends AskedOf {
  readonly votes?: readonly DecisionVote[] | undefined;
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

/** How many have to say the same. */
export function quorumOf({ terms }: ForWhom): number {
  return terms?.quorum ?? 1;
}

/** Whether no one decides it alone. */
export function isForSeveral(whom: ForWhom): boolean {
  return quorumOf(whom) > 1;
}

/** With a directory, those who may no longer decide do not count, and neither do signatures that are not theirs. */
export function countVote(asked: Voted, event: AnswerEvent, directory?: Directory): Counted {
  const { votes = [], ...whom } = asked;
  const by = deciderOf(event);
  const quorum = quorumOf(whom);
  const isAlone = quorum === 1 || by?.kind !== "user" || by.auth === "owner";
  if (isAlone || event.id === undefined) return { type: "decides" };
  if (isNo(event) && whom.terms?.countsRefusals !== true) return { type: "decides" };
  const vote = toVote(event, event.id, by);
  const own = nameIn(vote);
  const seat = seatOf(vote);
  const standing = standingVotes(votes, (each) => mayVote(whom, each, directory));
  const said = [...standing].filter(([, each]) => isSameChoice(each, vote));
  // Two who decide in the place of one are one.
  const others = new Set(said.filter(([name]) => name !== own).map(([, each]) => seatOf(each)));
  others.delete(seat);
  const before = said.find(([name]) => name === own)?.[1];
  if (before !== undefined) return { type: "repeats", vote: before, count: said.length };
  const count = others.size + 1;
  return count >= quorum ? { type: "decides" } : { type: "counts", vote, count };
}

/** Why what was decided does not count after all: too few of those who said so may. */
export function explainQuorum(
  whom: Voted,
  event: AnswerEvent,
  directory?: Directory,
): string | undefined {
  const by = deciderOf(event);
  const stranger = explainDecider(whom, by, directory);
  if (stranger !== undefined) return stranger;
  const unsigned = isForSigners(whom) ? explainUnsigned(whom, event, directory) : undefined;
  if (unsigned !== undefined) return unsigned;
  const isKnown = (directory?.list() ?? []).length > 0;
  const isYes = !isNo(event) || whom.terms?.countsRefusals === true;
  if (by?.kind !== "user" || !isKnown || !isYes) return undefined;
  const { type } = countVote(whom, event, directory);
  return type === "counts" ? "not enough people have said so who may" : undefined;
}

/** As every surface writes them. */
export type VoteJson = {
  readonly by: JsonObject & { readonly kind: string };
  readonly decision?: string;
  readonly answer?: Json;
  readonly note?: string;
  readonly at: Timestamp;
};

export function votesToJson(votes: readonly DecisionVote[] = []): { votes?: readonly VoteJson[] } {
  if (votes.length === 0) return {};
  return {
    votes: votes.map(({ by, decision, answer, note, timestamp: at }) => ({
      by: { kind: by.kind, ...deciderToJson(by) },
      ...(decision !== undefined && { decision }),
      ...(answer !== undefined && { answer }),
      ...(note !== undefined && { note }),
      at,
    })),
  };
}

/** Who has said what so far, the latest of each person, in the order of the record. */
export function standingVotes(
  votes: readonly DecisionVote[],
  isValid: (vote: DecisionVote) => boolean = () => true,
): ReadonlyMap<string, DecisionVote> {
  const standing = new Map<string, DecisionVote>();
  for (const vote of votes) {
    const name = nameIn(vote);
    if (name === undefined || !isValid(vote)) continue;
    standing.delete(name);
    standing.set(name, vote);
  }
  return standing;
}

function mayVote(whom: AskedOf, vote: DecisionVote, directory: Directory | undefined): boolean {
  if (explainUnsigned(whom, vote, directory) !== undefined) return false;
  return directory === undefined || explainDecider(whom, vote.by, directory) === undefined;
}

function nameIn({ by }: DecisionVote): string | undefined {
  return by.kind === "user" && by.name !== undefined ? foldName(by.name) : undefined;
}

/** Whose say it is. */
function seatOf(vote: DecisionVote): string | undefined {
  const { by } = vote;
  const absent = by.kind === "user" ? by.onBehalfOf : undefined;
  return absent === undefined ? nameIn(vote) : foldName(absent);
}

function toVote(event: AnswerEvent, id: InquiryId, by: DecisionVote["by"]): DecisionVote {
  const { signature } = event;
  const base = {
    type: "decision_vote",
    timestamp: event.timestamp,
    id,
    by,
    ...(signature !== undefined && { signature }),
  } as const;
  const digest = event.digest === undefined ? {} : { digest: event.digest };
  if (event.type === "permission_decision") {
    const { toolCallId, decision, result, reason } = event;
    const said = {
      decision,
      ...(result && { result }),
      ...(reason !== undefined && { note: reason }),
    };
    return { ...base, toolCallId, ...digest, ...said };
  }
  if (event.outcome !== "answered") return { ...base, ...digest };
  const { answer, note } = event;
  return { ...base, ...digest, answer, ...(note !== undefined && { note }) };
}

/** What was said, without the words that came with it. */
function isSameChoice(left: DecisionVote, right: DecisionVote): boolean {
  const [one, other] = [left, right].map(
    ({ decision = null, result, answer = null, digest = null }) =>
      canonicalJson([decision, result?.content ?? null, answer, digest]),
  );
  return one === other;
}
