/**
 * The part of the verifier that judges decisions again, by the rules in docs/proof.md: from links, the signatures that were
 * checked, and what answers and votes say of people. Also without any code of jp.
 */
type Json = Readonly<Record<string, unknown>>;

/** What else an export says of the link at this position. */
export interface Known {
  /** Undefined if there is no signature. `open`: it cannot be checked. `lost`: it is gone. */
  readonly signatureOf: (seq: number) => "good" | "bad" | "open" | "lost" | undefined;
  /** Undefined if the answer is not in the export. */
  readonly isNo: (seq: number) => boolean | undefined;
}

interface Asked extends Json {
  readonly votes?: readonly Json[];
}

interface Answer {
  readonly said: Json;
  readonly asked: Asked | undefined;
  readonly given: Json | undefined;
  readonly isAfterGap: boolean;
}

/** A person, as far as links say. `away`: the roles of those in whose place they decide, by name. */
interface Person {
  readonly id: unknown;
  readonly name: string;
  readonly roles: Set<string>;
  readonly away: Map<string, Set<string>>;
}

/** An answer, or a vote before it, with one way to read what an export does not show. */
interface Reading extends Known {
  readonly asked: Asked;
  /** The answer that is judged. */
  readonly final: Json;
  readonly isRefused: boolean;
  readonly isOpenGood: boolean;
}

/** Counts by code. */
export type Counts = Record<string, number>;

export class Terms {
  judged = 0;
  ownerStoodIn = 0;
  readonly unmet: Counts = {};
  readonly notJudged: Counts = {};
  #open = new Map<unknown, Asked>();
  #calls = new Map<unknown, Json>();
  #given = new Map<unknown, Json>();
  #answers = new Set<Answer>();
  #unused = new Map<Answer, unknown>();
  #hasGap = false;

  /** Takes the links of a conversation, in order. */
  read(link: Json): void {
    const { kind, type, id, call, action } = link;
    if (kind === "gap") this.#hasGap = true;
    if (by(link)["auth"] === "owner") this.ownerStoodIn += 1;
    switch (type) {
      case "permission_request":
      case "inquiry_request":
        this.#open.set(text(id), link);
        if (action === "run") this.#note(call, { request: link });
        break;
      case "inquiry_escalation": {
        const asked = this.#open.get(text(id));
        if (asked) this.#open.set(text(id), { ...asked, deadline: link["deadline"] });
        break;
      }
      case "decision_vote": {
        const asked = this.#open.get(text(id)) ?? this.#doubt(call);
        if (asked) this.#open.set(text(id), { ...asked, votes: [...(asked.votes ?? []), link] });
        break;
      }
      case "permission_decision":
      case "inquiry_response":
        this.#answer(link);
        break;
      case "decision_void":
        this.#void(id);
        break;
      case "attempt_start":
        this.#use(call);
        this.#note(call, { start: link, shown: this.#calls.get(text(call))?.["permitted"] });
        break;
      case "tool_call_response":
        this.#use(call);
        this.#calls.delete(text(call));
        break;
      default:
    }
  }

  /** At the end of each conversation. */
  leave(known: Known): void {
    for (const answer of this.#answers) {
      const [type, code = ""] = judge(answer, known);
      if (type === "met") this.judged += 1;
      if (type === "unmet") this.unmet[code] = (this.unmet[code] ?? 0) + 1;
      if (type === "not_judged") this.notJudged[code] = (this.notJudged[code] ?? 0) + 1;
    }
    for (const each of [this.#open, this.#calls, this.#given, this.#answers, this.#unused]) {
      each.clear();
    }
    this.#hasGap = false;
  }

  #answer(said: Json): void {
    const { id, call, action, decision, decided } = said;
    const isAbout = (each: Json) => each["call"] === call && each["action"] === action;
    const last = [...this.#open].findLast(([, each]) => typeof id !== "string" && isAbout(each));
    const name = last?.[0] ?? text(id);
    const asked = this.#open.get(name) ?? (action === "rerun" ? this.#doubt(call) : undefined);
    this.#open.delete(name);
    const from = by(said)["from"];
    const given = typeof from === "string" ? this.#given.get(from) : undefined;
    const answer = { said, asked, given, isAfterGap: this.#hasGap };
    this.#answers.add(answer);
    this.#unused.set(answer, text(asked?.["call"] ?? call));
    this.#given.set(name, said);
    const isPermitting = action === "run" || action === "rerun";
    if (isPermitting && decision !== "denied") this.#note(call, { permitted: decided });
  }

  #void(id: unknown): void {
    this.#open.delete(text(id));
    for (const answer of this.#unused.keys()) {
      if (answer.said["id"] === id && this.#unused.delete(answer)) this.#answers.delete(answer);
    }
    for (const [call, { request }] of this.#calls) {
      if ((request as Json | undefined)?.["id"] === id) this.#note(call, { request: undefined });
    }
  }

  #use(call: unknown): void {
    for (const [answer, of] of this.#unused) if (of === text(call)) this.#unused.delete(answer);
  }

  #note(call: unknown, more: Json): void {
    this.#calls.set(text(call), { ...this.#calls.get(text(call)), ...more });
  }

  #doubt(call: unknown): Asked | undefined {
    const { request, start, shown } = this.#calls.get(text(call)) ?? {};
    if (start === undefined) return undefined;
    const whom = (request ?? start) as Json;
    const { version } = start as Json;
    const { for: person, for_any, person_ids } = whom;
    const all = { for: person, for_any, terms: whom["terms"], person_ids };
    return { version, call, action: "rerun", ...all, shown };
  }
}

type Result = readonly [
  type: "met" | "unmet" | "not_judged" | "nothing",
  code?: string | undefined,
];

function judge({ said, asked, given, isAfterGap }: Answer, known: Known): Result {
  const { decision, cause } = said;
  const { kind } = by(said);
  const versions = [versionOf(said), versionOf(asked ?? said)];
  if (Math.max(...versions) > 2) return ["not_judged", "newer_version"];
  const isOld = versions.includes(1);
  const isUser = kind === "user";
  const isIdleNo = decision === "denied" && (!isUser || cause !== undefined);
  if (isIdleNo || decision === "cancelled") return ["nothing"];
  if (kind === "tool" && decision === "edited") return ["nothing"];
  if (asked === undefined) {
    if (!isUser) return ["nothing"];
    if (isOld) return ["not_judged", "version_1"];
    return isAfterGap ? ["not_judged", "request_missing"] : ["unmet", "not_pending"];
  }
  if (!isReadable(asked)) return ["not_judged", "unreadable_link"];
  if (hasUnknownTerms(asked)) return ["not_judged", "unknown_terms"];
  if (!isUser && !isForSome(asked)) return ["nothing"];
  if (isOld && !(isUser && isForKnown(asked) && decision !== "denied")) {
    return ["not_judged", "version_1"];
  }
  if (!isUser) return judgeUnasked(said, asked, given);
  const result = judgeUser(said, asked, known);
  return isOld && result[0] === "met" ? ["not_judged", "version_1"] : result;
}

const UNASKED = new Set(["config", "default", "answers_file", "tool", "remembered"]);

function judgeUnasked(said: Json, asked: Asked, given: Json | undefined): Result {
  const { kind } = by(said);
  if (kind === "remembered" && given !== undefined && by(given)["kind"] === "user") {
    const link = { ...said, by: by(given), version: given["version"], signature: undefined };
    const none = { signatureOf: () => undefined, isNo: () => false };
    const alone = { asked: { ...asked, votes: [] }, final: link };
    const reading = { ...none, ...alone, isRefused: false, isOpenGood: true };
    if (!isReadableAnswer(link, asked)) return ["not_judged", "unreadable_link"];
    const people = peopleOf(asked, [link]);
    const code =
      findStranger(link, asked, people) ??
      findUnsigned(link, reading) ??
      (count(link, people, reading) === undefined ? undefined : "wrong_person");
    return code === undefined ? ["met"] : ["unmet", code];
  }
  if (asked["terms"] != null) return ["unmet", "not_a_person"];
  if (kind === "policy" || kind === "assistant") return ["not_judged", "rules_in_force"];
  return UNASKED.has(String(kind)) ? ["met"] : ["unmet", "not_a_person"];
}

function judgeUser(said: Json, asked: Asked, known: Known): Result {
  const { votes = [] } = asked;
  for (const [index, vote] of votes.entries()) {
    if (quorumOf(asked) === 1) return ["unmet", "decides"];
    const codes = read(vote, { ...asked, votes: votes.slice(0, index) }, known);
    if (codes.includes("unreadable")) return ["not_judged", "unreadable_link"];
    const isFine = codes.some((code) => /^(?:counts|repeated|decides)$/.test(code));
    if (!isFine) return ["unmet", codes[0]];
  }
  const codes = read(said, asked, known);
  if (codes.includes("unreadable")) return ["not_judged", "unreadable_link"];
  if (codes.every((code) => code === "decides")) return ["met"];
  if (!codes.includes("decides")) return ["unmet", codes[0]];
  const states = [said, ...votes].map(({ seq }) => known.signatureOf(Number(seq)));
  const isLost = terms(asked)["proof"] !== undefined && states.includes("lost");
  return ["not_judged", isLost ? "signature_missing" : "answer_missing"];
}

/** What comes of it in each way to read it. */
function read(link: Json, asked: Asked, known: Known): readonly string[] {
  const said = agreeing(link, link, asked);
  const votes = (asked.votes ?? []).map((vote) => agreeing(vote, said, asked));
  const all = [said, ...votes];
  if (!all.every((each) => isReadableAnswer(each, asked))) return ["unreadable"];
  const refused = asked["action"] === undefined ? known.isNo(Number(said["seq"])) : false;
  const noes = refused === undefined && canBeNo(asked) ? [false, true] : [refused === true];
  const isOpen = all.some(({ seq }) => /open|lost/.test(known.signatureOf(Number(seq)) ?? ""));
  return noes.flatMap((isRefused) =>
    (isOpen ? [true, false] : [true]).map((isOpenGood) =>
      ruleOn({ ...known, asked: { ...asked, votes }, final: said, isRefused, isOpenGood }),
    ),
  );
}

/** The code of the first rule that it does not meet, or `decides`. */
function ruleOn(reading: Reading): string {
  const { asked, final: said } = reading;
  const { at, decided, decision } = said;
  const { deadline, shown, action } = asked;
  const isRefusal = isNo(said, reading);
  const isOld = versionOf(said) === 1 || versionOf(asked) === 1;
  if (timeOf(at) < timeOf(asked["at"])) return "before_request";
  if (!isOld && typeof deadline === "string" && !(timeOf(at) < timeOf(deadline))) return "overdue";
  const isEdit = action === "run" && decision === "edited";
  const isHeld = !isEdit && (!isRefusal || typeof decided === "string");
  if (isHeld && str(decided) !== str(shown)) return "changed";
  const people = peopleOf(asked, [said, ...(asked.votes ?? []).toReversed()]);
  const stranger = findStranger(said, asked, people);
  const isOwnNo = stranger !== undefined && isRefusal && authOf(said) === "os_user";
  if (stranger !== undefined && !isOwnNo) return stranger;
  const misfit = findMisfit(said, asked, isRefusal);
  if (misfit !== undefined || isOwnNo) return misfit ?? "decides";
  return findUnsigned(said, reading) ?? count(said, people, reading) ?? "decides";
}

function findStranger(said: Json, asked: Asked, people: readonly Person[]): string | undefined {
  if (!isForSome(asked)) return undefined;
  const { for_any: any, person_ids: ids } = asked;
  const { name } = by(said);
  const absent = str(by(said)["on_behalf_of"]);
  if (Array.isArray(any) && any.length === 0) return "no_one";
  if (authOf(said) === "client") return "wrong_person";
  if (people.length > 0) return findUnknown(said, asked, people);
  if (!isForKnown(asked) && typeof ids !== "object" && absent === undefined) {
    return typeof name === "string" && names(asked, "user").has(fold(name))
      ? undefined
      : "wrong_person";
  }
  const standsIn =
    authOf(said) === "owner" && isForKnown(asked) && terms(asked)["proof"] === undefined;
  return standsIn ? undefined : "no_people";
}

function findUnknown(said: Json, asked: Asked, people: readonly Person[]): string | undefined {
  const { not_by: notBy, asker } = terms(asked);
  if (notBy !== undefined && typeof asker !== "string") return "asker_unknown";
  const person = personOf(said, people);
  if (person === undefined) return "wrong_person";
  const absent = str(by(said)["on_behalf_of"]);
  const roles = absent === undefined ? person.roles : person.away.get(fold(absent));
  if (roles === undefined) return "wrong_person";
  const id = absent === undefined ? person.id : (idFor(absent, asked) ?? fold(absent));
  const seat = { id, name: absent ?? person.name };
  const isAsker = (each: { readonly id: unknown; readonly name: string }) =>
    notBy !== undefined &&
    (idFor(String(asker), asked) === undefined
      ? fold(each.name) === fold(String(asker))
      : each.id === idFor(String(asker), asked));
  if (isAsker(person) || isAsker(seat)) return "asker";
  if (str(asked["for"]) === undefined && !Array.isArray(asked["for_any"])) return undefined;
  const isMeant =
    names(asked, "user").has(fold(seat.name)) &&
    [undefined, seat.id].includes(idFor(seat.name, asked));
  return isMeant || [...roles].some((role) => names(asked, "role").has(role))
    ? undefined
    : "wrong_person";
}

function findMisfit(said: Json, asked: Asked, isRefusal: boolean): string | undefined {
  const { decision, result, note, grant } = said;
  const { action, answer_type: type } = asked;
  const takes = (asked["takes"] ?? {}) as Json;
  const isOld = versionOf(asked) === 1;
  if (by(said)["scope"] === "turn" && !isOld && !isTurn(takes["turn"])) return "not_remembered";
  if (grant === true && isForSome(asked)) return "no_grant";
  const isNoted = isRefusal || isOld || takes["note"] === "any" || asked["allows_note"] === true;
  if (note === true && !isNoted) return "no_note";
  if (action !== undefined) {
    return (result === true) === (decision === "edited" && action !== "run")
      ? undefined
      : "no_result";
  }
  if (typeof type !== "string") return undefined;
  if ((type === "secret") !== (decision === "redacted")) {
    return type === "secret" ? "secret_elsewhere" : "not_secret";
  }
  return type === "secret" && quorumOf(asked) > 1 ? "secret_of_several" : undefined;
}

function findUnsigned(said: Json, reading: Reading): string | undefined {
  if (terms(reading.asked)["proof"] === undefined || isNo(said, reading)) return undefined;
  const state = reading.signatureOf(Number(said["seq"]));
  if (state === undefined) return said["signature"] === undefined ? "unsigned" : "wrong_signature";
  return state === "good" || (state !== "bad" && reading.isOpenGood)
    ? undefined
    : "wrong_signature";
}

/** Undefined if there are enough. */
function count(said: Json, people: readonly Person[], reading: Reading): string | undefined {
  const { asked } = reading;
  const quorum = quorumOf(asked);
  if (quorum === 1 || authOf(said) === "owner") return undefined;
  if (isNo(said, reading) && terms(asked)["refusal"] !== "counts") return undefined;
  const standing = new Map<unknown, Json>();
  for (const vote of asked.votes ?? []) {
    const isUnsigned = findUnsigned(vote, reading) !== undefined;
    const voter = voterOf(vote, people);
    if (voter === undefined || isUnsigned || findStranger(vote, asked, people)) continue;
    standing.delete(voter);
    standing.set(voter, vote);
  }
  const same = [...standing].filter(([, vote]) => isSame(vote, said));
  if (same.some(([voter]) => voter === voterOf(said, people))) return "repeated";
  const seats = new Set(
    [said, ...same.map(([, vote]) => vote)].map((each) => seatOf(each, people)),
  );
  return seats.size >= quorum ? undefined : "counts";
}

function isSame(left: Json, right: Json): boolean {
  const [one, other] = [left, right].map((each) =>
    JSON.stringify([each["decision"], choiceOf(each), str(each["decided"])]),
  );
  return one === other;
}

/** Of a result or an answer. One that lacks it is like no other. */
function choiceOf(link: Json): string | undefined {
  if (link["result"] !== true && link["decision"] !== "answered") return undefined;
  return str(link["choice"]) ?? String(link["seq"]);
}

/** Links of version 1 have neither `choice` nor `result`: as if they agreed with the answer that is judged. */
function agreeing(link: Json, said: Json, { action = "run" }: Asked): Json {
  if (versionOf(link) > 1) return link;
  const hasResult = action !== "run" && link["decision"] === "edited";
  return { ...link, choice: str(said["choice"]) ?? "", ...(hasResult && { result: true }) };
}

/** Whether it is a no, if the answer that is judged is read in this way. */
function isNo(link: Json, { asked, final, isRefused }: Reading): boolean {
  if (link["decision"] === "denied") return true;
  if (asked["action"] !== undefined || link["decision"] !== "answered") return false;
  return canBeNo(asked) && (choiceOf(link) === choiceOf(final)) === isRefused;
}

function canBeNo({ answer_type: type }: Json): boolean {
  return type !== "text" && type !== "secret";
}

/** The latest first. */
function peopleOf(asked: Asked, saying: readonly Json[]): readonly Person[] {
  const people: Person[] = [];
  if (saying[0] !== undefined && authOf(saying[0]) === "owner") return people;
  for (const said of saying) {
    const { person_id: personId, role, on_behalf_of: absent } = by(said);
    const name = str(by(said)["name"]);
    const isKnown = ![undefined, "owner", "client"].includes(authOf(said));
    if (!isKnown || (str(personId) ?? (isForKnown(asked) ? name : undefined)) === undefined)
      continue;
    const own = name ?? String(personId);
    const id = str(personId) ?? fold(own);
    const namesake = people.find((each) => fold(each.name) === fold(own));
    if (namesake !== undefined && namesake.id !== id) continue;
    let person = people.find((each) => each.id === id);
    if (person === undefined) {
      person = { id, name: own, roles: new Set(), away: new Map() };
      people.push(person);
    }
    let { roles } = person;
    if (typeof absent === "string") {
      roles = person.away.get(fold(absent)) ?? new Set();
      person.away.set(fold(absent), roles);
    }
    if (typeof role === "string") roles.add(fold(role));
  }
  return people;
}

function personOf(said: Json, people: readonly Person[]): Person | undefined {
  const { person_id: id, name } = by(said);
  if ([undefined, "owner"].includes(authOf(said))) return undefined;
  if (typeof id === "string") return people.find((each) => each.id === id);
  return people.find((each) => typeof name === "string" && fold(each.name) === fold(name));
}

function voterOf(said: Json, people: readonly Person[]): unknown {
  const name = str(by(said)["name"]);
  return personOf(said, people)?.id ?? (name === undefined ? undefined : fold(name));
}

function seatOf(said: Json, people: readonly Person[]): unknown {
  const absent = str(by(said)["on_behalf_of"]);
  if (absent === undefined) return voterOf(said, people);
  return people.find(({ name }) => fold(name) === fold(absent))?.id ?? fold(absent);
}

function isForSome({ for: person, for_any: any, terms: all }: Json): boolean {
  return typeof person === "string" || Array.isArray(any) || all != null;
}

function isForKnown(asked: Json): boolean {
  return asked["terms"] != null || names(asked, "role").size > 0;
}

/** Whom it is for. */
function names({ for: person, for_any: any }: Json, kind: "user" | "role"): ReadonlySet<string> {
  const all = typeof person === "string" ? [{ user: person }] : Array.isArray(any) ? any : [];
  const found = all.map((each: Json) => each[kind]).filter((each) => typeof each === "string");
  return new Set(found.map(fold));
}

/** The id that a name had when it was asked. */
function idFor(name: string, { person_ids: ids }: Json): unknown {
  return Object.entries((ids ?? {}) as Json).find(([each]) => fold(each) === fold(name))?.[1];
}

function terms(asked: Json): Json {
  return (asked["terms"] ?? {}) as Json;
}

function quorumOf(asked: Json): number {
  return Number(terms(asked)["quorum"] ?? 1);
}

const KNOWN_TERMS: Readonly<Record<string, (value: unknown) => boolean>> = {
  quorum: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  refusal: (value) => value === "counts",
  not_by: (value) => value === "asker",
  asker: (value) => typeof value === "string",
  proof: (value) => value === "signed",
};

function hasUnknownTerms({ terms: all }: Json): boolean {
  if (all == null) return false;
  if (typeof all !== "object" || Array.isArray(all)) return true;
  return Object.entries(all).some(([name, value]) => KNOWN_TERMS[name]?.(value) !== true);
}

function isTurn(turn: unknown): boolean {
  const { code } = (turn ?? {}) as Json;
  return code === "calls" || code === "label" || code === "question";
}

function isReadable({ for: person, for_any: any, deadline, action }: Asked): boolean {
  const isAction = action === undefined || /^(?:run|deliver|rerun)$/.test(text(action));
  const isTime = deadline == null || !Number.isNaN(timeOf(deadline));
  return (
    isAction &&
    isTime &&
    (person == null || typeof person === "string") &&
    (any == null || Array.isArray(any))
  );
}

function isReadableAnswer(said: Json, { action }: Asked): boolean {
  const outcomes =
    action === undefined ? /^(?:answered|redacted)$/ : /^(?:approved|denied|edited)$/;
  const isUser = by(said)["kind"] === "user";
  return isUser && !Number.isNaN(timeOf(said["at"])) && outcomes.test(String(said["decision"]));
}

function versionOf({ version }: Json): number {
  return typeof version === "number" ? version : 1;
}

/** Who decided. What lacks a part that it needs is of an unknown kind. */
function by(link: Json): Json {
  const found = (link["by"] ?? {}) as Json;
  const kind = str(found["kind"]) ?? "";
  const needs = PARTS[kind];
  return needs !== undefined && typeof found[needs] !== "string" ? { kind: "unknown" } : found;
}

const PARTS: Readonly<Record<string, string>> = {
  config: "key",
  policy: "key",
  assistant: "model",
  remembered: "from",
  answers_file: "entry",
};

/** How jp knew. Of version 1, only whether the owner stood in can be told. */
function authOf(link: Json): string | undefined {
  const auth = str(by(link)["auth"]);
  return versionOf(link) > 1 ? auth : auth === "owner" ? auth : "token";
}

/** Of `2026-01-02 03:04:05.678`, in UTC unless it has a zone. */
export function timeOf(at: unknown): number {
  const [, day, time, digits = "", zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?$/i.exec(String(at)) ?? [];
  return Date.parse(`${day}T${time}.${digits.slice(0, 3).padEnd(3, "0")}${zone}`);
}

/** Names that are the same have the same form. */
export function fold(name: string): string {
  const folded = name.normalize("NFKC").toLowerCase().toUpperCase().toLowerCase();
  return folded.replaceAll(/\s+/g, " ").trim();
}

function str(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Ids that are missing are all the same. */
function text(value: unknown): string {
  return str(value) ?? "";
}
