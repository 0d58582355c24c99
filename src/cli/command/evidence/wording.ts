/** The wording of `jp evidence` for each code. */
import { explainRefusal, isRefusalCode } from "../../../record/conversation/index.ts";
import type {
  EvidenceProblemCode,
  FindingCode,
  NotJudgedReason,
  UnmetCode,
} from "../../../proof/index.ts";
import { oneLine } from "../../../util/index.ts";

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Each follows a line number. */
export const PROBLEMS: Readonly<Record<EvidenceProblemCode, string>> = {
  malformed: "not a valid statement",
  no_header: "the file does not start with the first statement of an export",
  newer_version: "exported by a newer version of jp",
  wrong_key: "signed with a different key",
  bad_signature:
    "invalid signature: the statement was changed, or the signature belongs to another one",
  foreign_export: "a statement of another export",
  missing: "one or more statements before this one are missing",
  out_of_order: "out of order",
  repeated: "a repeated statement",
  after_end: "after the end of the export",
  truncated: "the file is cut off",
  bad_subject: "the subject does not match the statement",
  broken_chain: "the link does not continue the chain",
  commitment_mismatch: "the event does not match its link",
  unknown_link: "an event without a link",
  wrong_total: "the totals at the end do not match",
  anchor_mismatch: "the chain does not have the head that was anchored",
  anchor_missing: "a head or state without its anchor",
  stepped_back:
    "an older state of a turn than the one that was anchored, or seen before the export",
  bad_timestamp: "not a valid time stamp of the anchor",
  untrusted_timestamp: "the time stamp is not from an authority that you trust",
  commit_missing: "the git repository does not have the anchor",
  bad_approval_signature: "the approver's signature is not of this decision, or not of their key",
  link_mismatch: "a link says something else than its event",
  terms_not_met: "decided without meeting its terms",
  owner_stood_in: "the owner of the machine stood in for people",
};

/** Continues "line 4: decided without meeting its terms:". */
const RULINGS: Readonly<Partial<Record<UnmetCode, string>>> = {
  decides: "a vote where one person decides alone",
  counts: "too few people said the same",
  repeated: "the same person was counted before",
  changed: "what was decided is not what was shown",
  overdue: "after the deadline",
  not_pending: "nothing was waiting for it",
  not_a_person: "a person has to decide it",
  wrong_person: "not someone it was for",
};

export function describeRuling(code: UnmetCode): string {
  return RULINGS[code] ?? (isRefusalCode(code) ? explainRefusal(code) : code);
}

const NOT_JUDGED: Readonly<Record<NotJudgedReason, string>> = {
  version_1: "links of version 1, which do not hold all that it takes",
  newer_version: "links of a newer version",
  unknown_terms: "terms of a newer version",
  request_missing: "what was asked is missing from the chain",
  rules_in_force: "decided by a rule or a model, and the rules of then are not in the export",
  answer_missing: "it depends on an answer, and the export has no contents",
  signature_missing: "it depends on a signature whose key or event is gone",
  unreadable_link: "links that jp cannot read",
};

/** One line per reason. */
export function describeNotJudged(
  reasons: ReadonlyMap<NotJudgedReason, number>,
): readonly string[] {
  return [...reasons].map(
    ([reason, count]) => `${counted(count, "decision")}: ${NOT_JUDGED[reason]} (${reason})`,
  );
}

const FINDINGS: Readonly<Record<FindingCode, string>> = {
  unreadable_line: "unreadable lines in the chain",
  event_missing: "links whose event was changed in the record or removed from it",
  salt_missing: "links without a salt, which cannot be compared with the record",
  no_chain: "events without a link, in a conversation without a chain",
  before_chain: "events without a link, from before the chain begins",
  link_missing: "events without a link, between others that have one",
  link_pending: "events at the end without a link: jp is still running, or was killed",
  head_missing: "anchored heads that the chain does not have: it was changed, or its end was lost",
  unreadable_chain: "conversations whose chain could not be read",
  key_missing: "signed approvals whose key is no longer known",
  unreadable_record: "places where the record could not be read",
  stepped_back: "turns with an older state than the one that this machine has seen",
  restore_accepted: "older states that were accepted on this machine after a backup was restored",
};

/** One line per code that this version knows, and one for all others. */
export function describeFindings(findings: ReadonlyMap<string, number>): readonly string[] {
  const known = Object.entries(FINDINGS).flatMap(([code, text]) => {
    const count = findings.get(code);
    return count === undefined ? [] : [`${text}: ${count} (${code})`];
  });
  const others = [...findings].filter(([code]) => !Object.hasOwn(FINDINGS, code));
  const sum = others.reduce((total, [, count]) => total + count, 0);
  return [...known, ...(sum > 0 ? [`of a kind that this version does not know: ${sum}`] : [])];
}

const GAPS: Readonly<Record<string, string>> = {
  no_chain: "there was no chain before, or it was removed",
  torn: "the end of the chain was lost",
};

export function describeGaps(gaps: ReadonlyMap<string, number>): readonly string[] {
  return [...gaps]
    .slice(0, Object.keys(GAPS).length + 1)
    .map(([reason, count]) => `${counted(count, "gap")}: ${GAPS[reason] ?? oneLine(reason)}`);
}
