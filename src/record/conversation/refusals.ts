/** Why a reply does not count: codes for programs, and texts for the person who gave it, which may change. */
import { describeWhom, type ForWhom, isForSigners } from "./whom.ts";

/** Why a reply does not count. The decision stays as it is. */
export type RefusalCode =
  /** It is older than the request: the clock that it was made by is behind. */
  | "before_request"
  /** The answer does not fit its type. */
  | "misfit"
  /** "For this turn" is not offered. */
  | "not_remembered"
  /** Only a no takes a note. */
  | "no_note"
  /** No rule can be granted with this answer. */
  | "no_grant"
  /** Arguments are checked where the tool runs, and can only be edited there. */
  | "not_editable"
  /** Only an edited result has a text. */
  | "no_result"
  /** A secret must reach the asking process, and never the record. */
  | "secret_elsewhere"
  | "secret_of_several"
  | "not_secret"
  /** The secret is not being asked for right now. */
  | "secret_not_asked"
  /** The secret is too long to be passed on. */
  | "too_long"
  /** Another process could not read the answer. */
  | "unreadable"
  /** An answer from elsewhere must come from a person, not from a model, setting or file. */
  | "not_a_person"
  /** It is assigned to someone else, as far as jp knows who answers. */
  | "wrong_person"
  /** Their account was created at the desk, and not confirmed before this was asked. */
  | "unconfirmed"
  /** The person who started the turn cannot decide it. */
  | "asker"
  /** It is unknown who started the turn. */
  | "asker_unknown"
  /** It needs known people, and there are none. */
  | "no_people"
  /** It needs known people, and this process has no directory. */
  | "directory_missing"
  /** A newer version added terms that this one does not know. */
  | "unknown_terms"
  /** It is assigned to no one, and can only be cancelled. */
  | "no_one"
  | "unsigned"
  /** The signature is for something else, or not made with a key of the person. */
  | "wrong_signature";

/** Codes about who answers, not about the answer: someone else may still give the same one. */
export const STRANGER_CODES: ReadonlySet<string> = new Set([
  "wrong_person",
  "unconfirmed",
  "asker",
  "asker_unknown",
  "no_people",
  "unknown_terms",
  "no_one",
] satisfies readonly RefusalCode[]);

/** Whether it is a code that this version knows. */
export function isRefusalCode(code: unknown): code is RefusalCode {
  return typeof code === "string" && Object.hasOwn(TEXTS, code);
}

/** A clause that follows a colon. Never quotes the answer. */
export function explainRefusal(code: RefusalCode, whom: ForWhom = {}): string {
  const text = TEXTS[code];
  return typeof text === "string" ? text : text(whom);
}

const ADD_YOURSELF = "jp serve people add NAME --roles ROLE --os-user USER";
const ADD_KEY = "jp serve people key add NAME --new";
const DECIDE_ALONE = "jp config set --in user people.owner_alone true";

/** Options for the person at this machine if no people are known, one per line. No one can sign for others. */
export function noPeopleHint(whom: ForWhom): string {
  return isForSigners(whom)
    ? `To add yourself: ${ADD_YOURSELF}\nThen add a key:  ${ADD_KEY}`
    : `To add yourself: ${ADD_YOURSELF}\nTo decide alone: ${DECIDE_ALONE}`;
}

/** The same options for someone who may be elsewhere. */
export function describeWaysOut(whom: ForWhom): string {
  const other = isForSigners(whom)
    ? `with a key (${ADD_KEY})`
    : `or decide alone (${DECIDE_ALONE})`;
  return `Whoever uses the machine can add themselves (${ADD_YOURSELF}), ${other}.`;
}

const TEXTS: Readonly<Record<RefusalCode, string | ((whom: ForWhom) => string)>> = {
  before_request:
    "by the clock here, this is asked in the future; correct the clock, and answer again",
  misfit: "the answer does not fit the question",
  not_remembered: "this answer cannot be remembered",
  no_note: "this answer takes no note",
  no_grant: "no rule can be granted with this answer",
  not_editable: "arguments can only be edited where the tool runs",
  no_result: "only an edited result has a text",
  secret_elsewhere: "a secret can only be answered where the turn runs",
  secret_of_several: "a secret cannot be given by several people",
  not_secret: "this question does not ask for a secret",
  secret_not_asked:
    "the secret is not being asked for right now; continue the turn and answer it there",
  too_long: "it is too long",
  unreadable: "the process that runs the turn cannot read it",
  not_a_person: "only a person can answer this from elsewhere",
  wrong_person: (whom) => `only ${describeWhom(whom)} can answer this`,
  unconfirmed: "your account was not confirmed when this was asked",
  asker: "whoever started the turn cannot decide this",
  asker_unknown: "it is not known who started the turn, and whoever did cannot decide this",
  no_people: (whom) => `only ${describeWhom(whom)} can answer this, and no people are known`,
  directory_missing: "it takes people who are known, and they are not known here",
  unknown_terms: "a newer version of jp has asked this, and has to decide it",
  no_one: "no one can answer this, it can only be cancelled",
  unsigned: "this has to be signed",
  wrong_signature: "the signature is not of this answer",
};
