/**
 * Decisions of several people as jp records them, made from a seed, and the forms in which whoever has the machine's key may
 * weaken them: each is made in the record, from which chain and export are built anew.
 */
import {
  at,
  attemptStart,
  decisionVoid,
  inquiry,
  permissionRequest,
} from "../../src/record/conversation/events.fixture.ts";
import {
  type AnswerEvent,
  ChainBuilder,
  type ChainLine,
  commitTo,
  type ConversationEvent,
  type Decider,
  type DecisionVote,
  hashLink,
  type InquiryId,
  parseLink,
  type PermissionAction,
  StreamEntry,
  type Terms,
} from "../../src/record/conversation/index.ts";
import { keptOf, keysOf, KEYS, signed, type UserDecider } from "../../src/proof/decided.fixture.ts";
import type { Kept } from "../../src/proof/evidence.fixture.ts";
import type { KeyStatement } from "../../src/proof/statement.ts";
import type { Json, JsonObject } from "../../src/util/index.ts";
import { Random } from "../torture/random.ts";

type Request = Extract<
  ConversationEvent,
  { readonly type: "inquiry_request" | "permission_request" }
>;

/** A decision that meets its terms, or no longer does. */
export interface Story {
  readonly request: Request;
  readonly votes: readonly DecisionVote[];
  readonly answer: AnswerEvent;
  /** Before the votes, and between the answer and what comes of it. */
  readonly before?: readonly ConversationEvent[];
  readonly after?: readonly ConversationEvent[];
  readonly isRequestLeftOut?: boolean;
  /** The call has been started. */
  readonly isStarted: boolean;
  readonly hasContent: boolean;
  readonly keys: readonly Omit<KeyStatement, "type">[];
  /** Changes what is in the record afterwards, or what its links say. */
  readonly rewrite?: (kept: Kept) => Kept;
}

/** What a story must have, to be forged in some way. */
export interface Needs {
  readonly isSigned?: boolean;
  readonly isQuestion?: boolean;
  readonly isNamed?: boolean;
  readonly isTimed?: boolean;
  readonly isSingle?: boolean;
  readonly hasAsker?: boolean;
}

/** Draws from a seed. */
export class Draw {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  chance(probability = 0.5): boolean {
    return this.#random.next() < probability;
  }

  one<Value>(...values: readonly [Value, ...Value[]]): Value {
    return values[Math.floor(this.#random.next() * values.length)] ?? values[0];
  }

  shuffled<Value>(values: readonly Value[]): readonly Value[] {
    return values
      .map((value) => [this.#random.next(), value] as const)
      .toSorted(([left], [right]) => left - right)
      .map(([, value]) => value);
  }
}

const PEOPLE = ["ada", "bo", "cy", "di"] as const;
/** Known, and for none of it. */
const STRANGER = "eve";

function idOf(name: string): string {
  return `p-${name}`;
}

/** Someone who is known, in a role or by name. */
function person(name: string, isNamed: boolean, auth = "token"): UserDecider {
  const role = isNamed ? {} : { role: "release" };
  return { kind: "user", channel: "desk", name, personId: idOf(name), auth, ...role };
}

/** Several people have decided, as they had to. */
export function genuine(draw: Draw, needs: Needs = {}): Story {
  const isNamed = needs.isNamed ?? draw.chance();
  const isSigned = needs.isSigned ?? draw.chance(0.3);
  const isQuestion = needs.isQuestion ?? draw.chance(0.4);
  const quorum = needs.isSingle === true ? 1 : draw.one(2, 2, 3);
  const asker = (needs.hasAsker ?? draw.chance()) ? draw.one(STRANGER, "zoe") : undefined;
  const names = draw.shuffled(PEOPLE);
  const terms: Terms = {
    ...(quorum > 1 && { quorum }),
    ...(draw.chance(0.3) && { countsRefusals: true }),
    ...(asker !== undefined && { notBy: { name: asker } }),
    ...(isSigned && { isSigned }),
  };
  const named = isNamed ? PEOPLE : [];
  const known = [...named, ...(asker === undefined ? [] : [asker])];
  const asked = {
    forAny: isNamed ? PEOPLE.map((user) => ({ user })) : [{ role: "release" }],
    terms,
    ...(known.length > 0 && {
      personIds: Object.fromEntries(known.map((each) => [each, idOf(each)])),
    }),
    subject: { digest: draw.one("d1", "d2"), version: 1, parts: {} },
    ...((needs.isTimed ?? draw.chance(0.3)) && { deadline: at(30) }),
    ...(draw.chance(0.3) && { takes: {} }),
  };
  const request = isQuestion
    ? { ...inquiry("a.q.1", questionOf(draw)), toolCallId: "a", ...asked }
    : { ...permissionRequest("a", draw.one<PermissionAction>("run", "deliver")), ...asked };
  const saying = names
    .slice(0, quorum)
    .map((name) => person(name, isNamed, draw.one("token", "os_user")));
  const isYesNo =
    request.type === "inquiry_request" && request.question.answerType.type === "boolean";
  const answer = isYesNo ? true : draw.one<Json>("blue", "green");
  const said = saying.map((by, index) => voteOf(request, by, { second: index + 1, answer }));
  const last = said.at(-1);
  if (last === undefined) throw new Error("no one has decided");
  return {
    request,
    votes: said.slice(0, -1).map((vote) => (isSigned ? signed(vote) : vote)),
    answer: isSigned ? signed(answerOf(request, last)) : answerOf(request, last),
    // Without contents, a yes cannot be told from a no, and only a yes can be checked that someone has signed.
    hasContent: isYesNo || (isQuestion && isSigned) || draw.chance(0.2),
    isStarted: draw.chance(0.3),
    keys: keysOf(),
  };
}

function questionOf(draw: Draw) {
  const type = draw.one("boolean", "text");
  return { answerType: { type } } as const;
}

function voteOf(
  request: Request,
  by: UserDecider,
  { second, answer }: { readonly second: number; readonly answer: Json },
): DecisionVote {
  const { id, subject } = request;
  const base = {
    type: "decision_vote",
    timestamp: at(second),
    id,
    by,
    ...(subject !== undefined && { digest: subject.digest }),
  } as const;
  if (request.type === "inquiry_request") return { ...base, answer };
  return { ...base, toolCallId: "a", decision: "approved" };
}

/** The last of them decides it. */
function answerOf(request: Request, vote: DecisionVote): AnswerEvent {
  const { timestamp, by, digest = "" } = vote;
  if (request.type === "permission_request") {
    const { id, toolCallId, tool, action } = request;
    const about = { id, toolCallId, tool, action, decision: "approved" } as const;
    return { type: "permission_decision", timestamp, ...about, decidedBy: by, digest };
  }
  const { id } = request;
  const said = { outcome: "answered", answer: vote.answer ?? null, answeredBy: by } as const;
  return { type: "inquiry_response", timestamp, id, digest, ...said };
}

/** Everything in the record. */
export function eventsOf(story: Story): readonly ConversationEvent[] {
  const { request, before = [], votes, answer, after = [], isRequestLeftOut, isStarted } = story;
  const isRun = request.type === "permission_request" && request.action === "run";
  const start = { ...attemptStart("a"), timestamp: at(isRun ? 40 : 0) };
  const opened = isRequestLeftOut === true ? [] : [request];
  const asked = [...opened, ...before, ...votes, answer, ...after];
  if (!isStarted) return asked;
  return isRun ? [...asked, start] : [start, ...asked];
}

export function keptStory(story: Story): Kept {
  const kept = keptOf(eventsOf(story));
  return story.rewrite === undefined ? kept : story.rewrite(kept);
}

/** The links with other contents, each with the digest of the one before. */
function chainedAgain(
  chain: Kept["chain"],
  change: (json: JsonObject, line: ChainLine) => JsonObject,
): readonly ChainLine[] {
  let prev = "";
  return chain.flatMap((line) => {
    if (!("link" in line)) return [];
    const json = { ...change(line.link.json, line), prev };
    const link = parseLink(json);
    prev = hashLink(link);
    return [{ ...line, link }];
  });
}

/** A way to weaken a decision. */
export interface Form {
  readonly needs?: Needs;
  /** What the judge says of it. One of them has to be among the reasons. */
  readonly rulings: readonly string[];
  /** Other problems that both verifiers must find with it. */
  readonly problems?: readonly string[];
  readonly forge: (story: Story, draw: Draw) => Story;
}

const UNSIGNED = { isSigned: false } as const;
const SIGNED = { isSigned: true } as const;

/** Found by judging what the links say. */
export const FORMS: Readonly<Record<string, Form>> = {
  "one person is counted twice": {
    needs: UNSIGNED,
    rulings: ["repeated", "counts", "wrong_person"],
    forge: (story, draw) => {
      const by = deciderOf(story.votes[0]);
      const again = draw.one<Partial<UserDecider>>(
        {},
        { name: ` ${by.name?.toUpperCase() ?? ""}` },
        { personId: "p-other" },
        { auth: "program", channel: "terminal" },
      );
      return { ...story, answer: answeredBy(story.answer, { ...by, ...again }) };
    },
  },
  "one person is counted for themself and through someone who stands in": {
    needs: { hasAsker: false, ...UNSIGNED },
    rulings: ["counts"],
    forge: (story) => {
      const { name = "", role } = deciderOf(story.votes[0]);
      const standIn = {
        ...person(STRANGER, true),
        onBehalfOf: name,
        ...(role !== undefined && { role }),
      };
      return { ...story, answer: answeredBy(story.answer, standIn) };
    },
  },
  "a vote is left out": {
    rulings: ["counts"],
    forge: (story) => ({ ...story, votes: story.votes.slice(1) }),
  },
  "a vote for another answer is counted": {
    needs: { isQuestion: true, ...UNSIGNED },
    rulings: ["counts"],
    forge: (story, draw) => {
      const place = draw.chance() ? 0 : story.votes.length - 1;
      return withVote(story, place, (vote) => ({
        ...vote,
        answer: vote.answer === true ? false : "red",
      }));
    },
  },
  "a vote about something else is counted": {
    rulings: ["changed"],
    forge: (story) => withVote(story, 0, (vote) => signedAgain(vote, { ...vote, digest: "d9" })),
  },
  "someone without the role decides": {
    needs: { isNamed: false, ...UNSIGNED },
    rulings: ["wrong_person"],
    forge: (story, draw) => {
      const { role: _, ...by } = deciderOf(story.answer);
      const other = draw.one<Partial<UserDecider>>({}, { role: "reader" }, { role: "releases" });
      return { ...story, answer: answeredBy(story.answer, { ...by, ...other }) };
    },
  },
  "someone who is not named decides": {
    needs: { isNamed: true, ...UNSIGNED },
    rulings: ["wrong_person", "asker"],
    forge: (story, draw) => {
      const by = { ...person(STRANGER, true), ...(draw.chance() && { role: "release" }) };
      return draw.chance()
        ? { ...story, answer: answeredBy(story.answer, by) }
        : withVote(story, 0, (vote) => ({ ...vote, by }));
    },
  },
  "someone else of the same name decides": {
    needs: { isNamed: true, ...UNSIGNED },
    rulings: ["wrong_person"],
    forge: (story, draw) => {
      const { personId: _, ...by } = deciderOf(story.answer);
      const other = draw.chance() ? { ...by, personId: "p-other" } : by;
      return { ...story, answer: answeredBy(story.answer, other) };
    },
  },
  "whoever started the turn decides": {
    needs: { hasAsker: true, ...UNSIGNED },
    rulings: ["asker"],
    forge: (story, draw) => {
      const { role, auth = "" } = deciderOf(story.answer);
      const { name: asker = "" } = story.request.terms?.notBy ?? {};
      const name = draw.one(asker, "someone");
      const by = { kind: "user", channel: "desk", name, personId: idOf(asker), auth } as const;
      const inRole = role === undefined ? by : { ...by, role };
      const known = askedFor(story, asker);
      return draw.chance()
        ? { ...known, answer: answeredBy(story.answer, inRole) }
        : withVote(known, 0, (vote) => ({ ...vote, by: inRole }));
    },
  },
  "whoever started the turn decides in the place of someone": {
    needs: { hasAsker: true, ...UNSIGNED },
    rulings: ["asker"],
    forge: (story) => {
      const { name: absent = "", role } = deciderOf(story.answer);
      const { name: asker = "" } = story.request.terms?.notBy ?? {};
      const by = {
        ...person(asker, true),
        onBehalfOf: absent,
        ...(role !== undefined && { role }),
      };
      return { ...story, answer: answeredBy(story.answer, by) };
    },
  },
  "nothing says who has decided but a form, or nothing": {
    needs: UNSIGNED,
    rulings: ["wrong_person", "no_people"],
    forge: (story, draw) => {
      const { auth: _, ...by } = deciderOf(story.answer);
      const claimed = draw.chance() ? { ...by, auth: "client" } : by;
      return draw.chance()
        ? { ...story, answer: answeredBy(story.answer, claimed) }
        : withVote(story, 0, (vote) => ({ ...vote, by: claimed }));
    },
  },
  "no person decides": {
    needs: UNSIGNED,
    rulings: ["not_a_person"],
    forge: (story, draw) => ({
      ...story,
      answer: answeredBy(
        story.answer,
        draw.one<Decider>(
          { kind: "policy", key: "conversation.tools.a_tool.run" },
          { kind: "assistant", model: "test/model" },
          { kind: "config", key: "conversation.tools.a_tool.questions.q.answer" },
          { kind: "answers_file", entry: "answers[0]" },
          { kind: "default" },
          { kind: "remembered", from: "b:run:1" },
        ),
      ),
    }),
  },
  "someone decides too late": {
    needs: { isTimed: true },
    rulings: ["overdue"],
    forge: (story, draw) => {
      const timestamp = at(30 + (draw.chance() ? 0 : 5));
      return draw.chance()
        ? { ...story, answer: signedAgain(story.answer, { ...story.answer, timestamp }) }
        : withVote(story, 0, (vote) => signedAgain(vote, { ...vote, timestamp }));
    },
  },
  "something else is decided than was shown": {
    rulings: ["changed"],
    forge: (story, draw) => {
      const { digest: _, ...bare } = story.answer;
      const answer = draw.chance() ? { ...bare, digest: "d9" } : bare;
      return { ...story, answer: signedAgain(story.answer, answer as AnswerEvent) };
    },
  },
  "a signature is missing": {
    needs: SIGNED,
    rulings: ["unsigned"],
    forge: (story, draw) =>
      draw.chance()
        ? { ...story, answer: without(story.answer) }
        : withVote(story, 0, (vote) => without(vote)),
  },
  "an edit has no signature, or that of what was asked": {
    needs: { isSigned: true, isQuestion: false, isSingle: true },
    rulings: ["unsigned", "wrong_signature"],
    forge: (story, draw) => {
      const { request, answer } = story;
      if (request.type !== "permission_request" || answer.type !== "permission_decision")
        return story;
      const edit =
        request.action === "run"
          ? { arguments: { path: "/" }, digest: "d9" }
          : { result: { content: "all is well", isError: false } };
      const edited = { ...answer, decision: "edited", ...edit } as const;
      const forged = draw.chance() ? edited : without(edited);
      return { ...story, answer: forged, hasContent: true };
    },
  },
  "one key signs for two people": {
    needs: SIGNED,
    rulings: ["wrong_signature"],
    problems: ["bad_approval_signature"],
    forge: (story) => {
      const [first] = story.votes;
      const [one = "", other = ""] = [deciderOf(first).name, deciderOf(story.answer).name];
      const key = KEYS.get(one)?.key;
      const keys = story.keys.filter(({ person: name }) => name !== other);
      return {
        ...story,
        answer: signed(without(story.answer), one),
        keys: key === undefined ? keys : [...keys, { person: other, key }],
        hasContent: true,
      };
    },
  },
  "a signature is one of something else": {
    needs: SIGNED,
    rulings: ["wrong_signature"],
    problems: ["bad_approval_signature"],
    forge: (story, draw) => {
      const { answer } = story;
      const other = draw.one<Partial<AnswerEvent>>(
        { digest: "d9" },
        { id: "b:run:1" as InquiryId },
        { timestamp: at(99) },
      );
      const { signature } = signed({ ...answer, ...other } as AnswerEvent);
      return { ...story, answer: { ...answer, ...(signature && { signature }) }, hasContent: true };
    },
  },
  "more comes with the answer than the request takes": {
    rulings: ["not_remembered", "no_grant", "no_note"],
    forge: (story, draw) => {
      const { answer } = story;
      const by = { ...deciderOf(answer), scope: "turn" } as const;
      const noted = answer.type === "permission_decision" ? { reason: "x" } : { note: "x" };
      return draw.one<() => Story>(
        () => ({ ...story, answer: answeredBy(answer, by) }),
        () => ({ ...story, answer: { ...answer, grant: { rule: {}, until: "turn" } } }),
        () => ({ ...story, answer: { ...answer, ...noted } as AnswerEvent }),
      )();
    },
  },
  "the terms ask for one person, and the votes of several are still there": {
    rulings: ["decides"],
    forge: (story, draw) => {
      const { quorum: _, ...terms } = story.request.terms ?? {};
      const lowered = draw.chance() ? { ...terms, quorum: 1 } : terms;
      return { ...story, request: { ...story.request, terms: lowered } };
    },
  },
  "the record has lower terms than the links, or the links than the record": {
    rulings: [],
    problems: ["link_mismatch"],
    forge: (story, draw) => {
      const { request } = story;
      const { quorum: _quorum, isSigned: _signed, ...terms } = request.terms ?? {};
      const lowered = { ...request, terms } as Request;
      const isRecord = draw.chance();
      return {
        ...story,
        hasContent: true,
        rewrite: (kept) => lowerIn(kept, { request, lowered, isRecord }),
      };
    },
  },
  "nothing waits for the answer": {
    rulings: ["not_pending"],
    forge: (story, draw) => {
      const { id } = story.request;
      const again = { ...story.answer, timestamp: at(35) };
      return draw.one<() => Story>(
        () => ({ ...story, isRequestLeftOut: true }),
        () => ({ ...story, after: [again] }),
        () => ({
          ...story,
          votes: [],
          answer: again,
          isRequestLeftOut: true,
          before: [story.request, decisionVoid(id, "terms")],
        }),
      )();
    },
  },
  "the owner of the machine stands in for a signature": {
    needs: SIGNED,
    rulings: ["no_people"],
    forge: (story) => {
      const by = { kind: "user", channel: "terminal", auth: "owner" } as const;
      return { ...story, answer: answeredBy(without(story.answer), by) };
    },
  },
};

export interface Undetectable extends Pick<Form, "forge"> {
  /** It is found where the people had to sign. */
  readonly isShownBySignatures: boolean;
}

/** Found neither by judging nor by chains: only an anchor from before shows it, or the people's own signatures. */
export const UNDETECTABLE: Readonly<Record<string, Undetectable>> = {
  "lower terms in request, votes and links alike": {
    isShownBySignatures: false,
    forge: (story) => {
      const { quorum: _, notBy: _notBy, ...terms } = story.request.terms ?? {};
      return { ...story, request: { ...story.request, terms }, votes: [] };
    },
  },
  "someone else of those who may decide": {
    isShownBySignatures: true,
    forge: (story) => {
      const saying = [...story.votes.map(deciderOf), deciderOf(story.answer)];
      const other = PEOPLE.find((name) => saying.every((by) => by.name !== name)) ?? "";
      const { role } = deciderOf(story.answer);
      const by = person(other, role === undefined);
      return { ...story, answer: answeredBy(story.answer, by) };
    },
  },
  "a role that someone did not have": {
    isShownBySignatures: true,
    forge: (story) => {
      const { terms: { notBy: _, ...terms } = {}, ...request } = story.request;
      const by = { ...person(STRANGER, true), role: "release" };
      const forAny = [{ role: "release" }, ...(request.forAny ?? [])];
      return {
        ...story,
        request: { ...request, forAny, terms },
        answer: answeredBy(story.answer, by),
      };
    },
  },
  "other times": {
    isShownBySignatures: false,
    forge: (story) => ({
      ...story,
      votes: story.votes.map((vote) => ({ ...vote, timestamp: at(9) })),
      answer: { ...story.answer, timestamp: at(10) },
    }),
  },
};

function deciderOf(event: AnswerEvent | DecisionVote | undefined): UserDecider {
  const by =
    event?.type === "decision_vote"
      ? event.by
      : event?.type === "permission_decision"
        ? event.decidedBy
        : event !== undefined && event.outcome !== "cancelled"
          ? event.answeredBy
          : undefined;
  if (by?.kind !== "user") throw new Error("no person");
  return by;
}

function answeredBy(event: AnswerEvent, by: Decider): AnswerEvent {
  if (event.type === "permission_decision") return { ...event, decidedBy: by };
  return event.outcome === "cancelled" ? event : { ...event, answeredBy: by };
}

function withVote(
  story: Story,
  place: number,
  change: (vote: DecisionVote) => DecisionVote,
): Story {
  return {
    ...story,
    votes: story.votes.map((vote, index) => (index === place ? change(vote) : vote)),
  };
}

/** The person may be one of those who forge it. */
function signedAgain<Event extends AnswerEvent | DecisionVote>(before: Event, event: Event): Event {
  const bare = without(event);
  return before.signature === undefined || bare.digest === undefined ? bare : signed(bare);
}

function without<Event extends AnswerEvent | DecisionVote>(event: Event): Event {
  const { signature: _, ...others } = event;
  return others as Event; // Without an optional member.
}

/** With the asker among those whom it is for. */
function askedFor(story: Story, name: string): Story {
  const { forAny = [] } = story.request;
  const isNamed = forAny.some((each) => "user" in each);
  return isNamed
    ? {
        ...story,
        request: { ...story.request, forAny: [...forAny, { user: name }, { user: "someone" }] },
      }
    : story;
}

interface Lowered {
  readonly request: Request;
  readonly lowered: Request;
  readonly isRecord: boolean;
}

/** Either the event of the record is exchanged, and the link commits to it, or the link says what the lowered event would. */
function lowerIn(kept: Kept, { request, lowered, isRecord }: Lowered): Kept {
  const isMeant = ({ raw }: StreamEntry) =>
    raw["id"] === request.id && raw["type"] === request.type;
  const weak = StreamEntry.fromEvent(lowered);
  const link = new ChainBuilder(kept.id).event(weak, "").link.json;
  const chain = chainedAgain(kept.chain, (json, { salt = "" }) => {
    if (json["id"] !== request.id || json["type"] !== request.type) return json;
    if (isRecord) return { ...json, event: commitTo(weak.raw, salt) };
    return { ...json, terms: link["terms"] ?? {} };
  });
  const entries = isRecord
    ? kept.entries.map((entry) => (isMeant(entry) ? weak : entry))
    : kept.entries;
  return { ...kept, chain, entries };
}
