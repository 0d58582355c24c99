/**
 * Decisions for tests of the judge: by people who decide together, as jp would record them, and by arbitrary people in
 * arbitrary order.
 */
import * as fc from "fast-check";
import {
  at,
  attemptStart,
  decisionVoid,
  entriesOf,
  inquiry,
  permissionRequest,
  toolCall,
  toolResult,
  turnStart,
} from "../record/conversation/events.fixture.ts";
import type {
  AnswerEvent,
  ConversationEvent,
  Decider,
  DecisionSubject,
  DecisionVote,
  ForWhom,
  Grant,
  InquiryId,
  PermissionAction,
  StreamEntry,
  Terms,
  ToolResult,
} from "../record/conversation/index.ts";
import type { Json } from "../util/index.ts";
import { chainOf, ID, type Kept } from "./evidence.fixture.ts";
import type { ExportOptions } from "./export.ts";
import { ed25519, type TestKey } from "./signing.fixture.ts";

export type UserDecider = Extract<Decider, { readonly kind: "user" }>;

/** People's keys by name. Generated once, because that takes longer than signing. */
export const KEYS: ReadonlyMap<string, TestKey> = new Map(
  ["ada", "bo", "cy", "di", "eve"].map((name) => [name, ed25519()] as const),
);

/** In an export's format. */
export function keysOf(names: Iterable<string> = KEYS.keys()): NonNullable<ExportOptions["keys"]> {
  return [...names].flatMap((person) => {
    const key = KEYS.get(person)?.key;
    return key === undefined ? [] : [{ person, key }];
  });
}

/** Adds the signature of this key's owner, by default the person named in the event. */
export function signed<Event extends AnswerEvent | DecisionVote>(
  event: Event,
  key?: string,
): Event {
  const by = event.type === "decision_vote" ? event.by : deciderIn(event);
  const name = by?.kind === "user" ? by.name : undefined;
  const signature = KEYS.get(key ?? name ?? "")?.sign(event);
  return signature === undefined ? event : { ...event, signature };
}

function deciderIn(event: AnswerEvent): Decider | undefined {
  if (event.type === "permission_decision") return event.decidedBy;
  return event.outcome === "cancelled" ? undefined : event.answeredBy;
}

/** The record and chain of a conversation with these events. */
export function keptOf(events: readonly ConversationEvent[]): Kept {
  const entries: readonly StreamEntry[] = entriesOf(turnStart(), toolCall("a"), ...events);
  return { id: ID, entries, chain: chainOf(ID, entries) };
}

const anyName = fc.constantFrom("ada", "Ada ", "bo", "cy", "eve");
const anyRole = fc.constantFrom("release", "Release", "ops");
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined });

/** Drops undefined members. */
function defined<Value extends object>(value: Value): Value {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members) as Value;
}

const anyUser: fc.Arbitrary<UserDecider> = fc
  .record({
    name: fc.oneof({ weight: 9, arbitrary: anyName }, fc.constant(undefined)),
    personId: fc.constantFrom(undefined, undefined, undefined, "p1", "p2", "p3"),
    auth: fc.constantFrom(
      ..."token token token token token os_user program client owner".split(" "),
      undefined,
    ),
    role: fc.constantFrom(undefined, "release", "release", "Release", "ops"),
    onBehalfOf: fc.constantFrom(undefined, undefined, undefined, undefined, "ada", "bo"),
    scope: fc.constantFrom(...Array<undefined>(9).fill(undefined), "turn" as const),
  })
  .map((by) => defined({ kind: "user", channel: "desk", ...by }) as UserDecider);

const anyDecider: fc.Arbitrary<Decider> = fc.oneof(
  { weight: 12, arbitrary: anyUser },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Decider>(
      { kind: "assistant", model: "a/b" },
      { kind: "policy", key: "run" },
      { kind: "config", key: "run" },
      { kind: "default" },
      { kind: "tool" },
      { kind: "remembered", from: "a:run:1" },
      { kind: "remembered", from: "a.q.1" },
      { kind: "unknown", raw: { kind: "oracle" } },
    ),
  },
);

const anyTerms: fc.Arbitrary<Terms> = fc
  .record({
    quorum: fc.constantFrom(undefined, 1, 2, 2, 3),
    countsRefusals: fc.constantFrom(undefined, true as const),
    notBy: fc.constantFrom(undefined, undefined, undefined, { name: "ada" }, { name: "bo" }, {}),
    isSigned: fc.constantFrom(undefined, undefined, true as const),
    isUnknown: fc.constantFrom(...Array<undefined>(19).fill(undefined), true as const),
  })
  .map((terms) => defined(terms) as Terms);

const anyWhom: fc.Arbitrary<ForWhom> = fc
  .record({
    for: maybe(anyName),
    forAny: fc.array(
      fc.oneof(
        anyName.map((user) => ({ user })),
        anyRole.map((role) => ({ role })),
      ),
      { maxLength: 3 },
    ),
    which: fc.constantFrom("none", "for", "any", "any"),
    terms: maybe(anyTerms),
    personIds: fc.option(
      fc.dictionary(fc.constantFrom("ada", "bo", "cy"), fc.constantFrom("p1", "p2", "p3")),
      { nil: undefined, freq: 3 },
    ),
  })
  .map(({ which, for: person, forAny, terms, personIds }) =>
    defined({
      for: which === "for" ? person : undefined,
      forAny: which === "any" ? forAny : undefined,
      terms,
      personIds,
    }),
  );

const anySubject: fc.Arbitrary<DecisionSubject> = fc
  .record({
    digest: fc.constantFrom("d1", "d1", "d1", "d1", "d1", "d2", undefined),
    takes: fc.constantFrom(
      undefined,
      {},
      { note: "any" as const },
      { turn: { code: "calls" as const } },
    ),
    deadline: fc.constantFrom(undefined, undefined, undefined, at(3)),
    whom: anyWhom,
  })
  .map(
    ({ digest, takes, deadline, whom }) =>
      defined({
        subject: digest === undefined ? undefined : { digest, version: 1, parts: {} },
        takes,
        deadline,
        ...whom,
      }) as DecisionSubject,
  );

const anyAction = fc.constantFrom<PermissionAction>("run", "run", "deliver", "rerun");
const RESULT = { content: "x", isError: false };

/** A person's reply to a call or a question. */
interface Said {
  readonly by: Decider;
  readonly user: UserDecider;
  readonly second: number;
  readonly digest: string | undefined;
  readonly decision: "approved" | "denied" | "edited";
  readonly outcome: "answered" | "redacted" | "cancelled";
  readonly answer: Json;
  readonly result: ToolResult | undefined;
  readonly note: string | undefined;
  readonly grant: Grant | undefined;
  readonly key: "own" | "eve" | undefined;
  readonly hasId: boolean;
}

const anySaid: fc.Arbitrary<Said> = fc.record({
  by: anyDecider,
  user: anyUser,
  second: fc.constantFrom(1, 1, 2, 3),
  digest: fc.constantFrom("d1", "d1", "d1", "d1", "d1", "d1", "d2", undefined),
  decision: fc.constantFrom("approved", "approved", "approved", "approved", "denied", "edited"),
  outcome: fc.constantFrom("answered", "answered", "answered", "answered", "redacted", "cancelled"),
  answer: fc.constantFrom<Json>(true, true, true, false, "blue"),
  result: fc.constantFrom(undefined, undefined, undefined, RESULT),
  note: fc.constantFrom(undefined, undefined, undefined, "why"),
  grant: fc.constantFrom(undefined, undefined, undefined, undefined, {
    rule: {},
    until: "turn" as const,
  }),
  key: fc.constantFrom("own" as const, "own" as const, "eve" as const, undefined),
  hasId: fc.constantFrom(true, true, true, false),
});

type Request = Extract<
  ConversationEvent,
  { readonly type: "inquiry_request" | "permission_request" }
>;

const anyRequest: fc.Arbitrary<Request> = fc
  .record({
    subject: anySubject,
    action: anyAction,
    id: fc.constantFrom("a.q.1", "a.q.2"),
    type: fc.constantFrom(undefined, undefined, "boolean", "text", "secret"),
    second: fc.constantFrom(0, 0, 0, 0, 2),
    allowsNote: fc.boolean(),
  })
  .map(({ subject, action, id, type, second, allowsNote }) => {
    const timestamp = at(second);
    if (type === undefined) return { ...permissionRequest("a", action), timestamp, ...subject };
    const question = { answerType: { type }, ...(allowsNote && { allowsNote }) } as const;
    return { ...inquiry(id, question), timestamp, toolCallId: "a", ...subject };
  });

function toAnswer(request: Request, said: Said): AnswerEvent {
  const { by, second, digest, decision, outcome, answer, result, note, grant, hasId } = said;
  const base = { timestamp: at(second), digest, grant };
  if (request.type === "permission_request") {
    const { action, id } = request;
    const about = { id: hasId ? id : undefined, toolCallId: "a", tool: "a_tool", action };
    const event = { ...base, ...about, decision, decidedBy: by, result, reason: note };
    return defined({ type: "permission_decision", ...event }) as AnswerEvent;
  }
  const outcomes = {
    answered: { answer, note, answeredBy: by },
    redacted: { answeredBy: by },
    cancelled: { reason: "user" },
  }[outcome];
  const { id } = request;
  return defined({ type: "inquiry_response", ...base, id, outcome, ...outcomes }) as AnswerEvent;
}

function toVote(request: Request, said: Said): DecisionVote {
  const { user: by, second, digest, decision, answer, result } = said;
  const base = { type: "decision_vote", timestamp: at(second), id: request.id, by, digest };
  const isCall = request.type === "permission_request";
  const chosen = isCall ? { toolCallId: "a", decision, result } : { answer };
  return defined({ ...base, ...chosen }) as DecisionVote;
}

/** Signed by the person it names, by another, or not at all. */
function perhapsSigned<Event extends AnswerEvent | DecisionVote>(event: Event, { key }: Said) {
  const by = event.type === "decision_vote" ? event.by : deciderIn(event);
  const isSignable = event.digest !== undefined && event.id !== undefined;
  const name = by?.kind === "user" ? by.name : undefined;
  if (key === undefined || !isSignable || name === undefined) return event;
  return signed(event, key === "own" ? name.trim().toLowerCase() : key);
}

/** A request, some votes, and a decision. */
const anyStory: fc.Arbitrary<readonly ConversationEvent[]> = fc
  .tuple(anyRequest, fc.array(anySaid, { maxLength: 3 }), anySaid, fc.nat(9))
  .map(([request, votes, said, chance]) => {
    // Rarely, if one person decides alone.
    const hasVotes = (request.terms?.quorum ?? 1) > 1 || chance === 0;
    return [
      request,
      ...(hasVotes ? votes : []).map((vote) => perhapsSigned(toVote(request, vote), vote)),
      perhapsSigned(toAnswer(request, said), said),
    ];
  });

/** Any other event in between. */
const anyStep: fc.Arbitrary<ConversationEvent> = fc.oneof(
  anyRequest,
  fc.tuple(anyRequest, anySaid).map(([request, said]) => toAnswer(request, said)),
  fc.constantFrom("a:run:1", "a.q.1").map((id) => decisionVoid(id, "terms")),
  maybe(fc.constant(at(9))).map((deadline): ConversationEvent => ({
    type: "inquiry_escalation",
    timestamp: at(0),
    id: "a.q.1" as InquiryId,
    outcome: "cancelled",
    reason: "timed_out",
    ...(deadline !== undefined && { deadline }),
  })),
  anyWhom.map((whom) => ({ ...attemptStart("a"), ...whom }) as ConversationEvent),
  fc.constant(toolResult("a")),
);

/** Decisions by the same few people. Most do not meet their terms. */
export const anyDecided: fc.Arbitrary<Kept> = fc
  .array(fc.tuple(anyStory, fc.array(fc.tuple(fc.nat(5), anyStep), { maxLength: 2 })), {
    minLength: 1,
    maxLength: 3,
  })
  .map((stories) =>
    keptOf(
      stories.flatMap(([events, steps]) => {
        let story = events;
        for (const [place, step] of steps) story = story.toSpliced(place, 0, step);
        return story;
      }),
    ),
  );
