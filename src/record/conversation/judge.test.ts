import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import type { InquiryQuestion } from "../tool/index.ts";
import type { Json } from "../../util/index.ts";
import { judge, type JudgedDecision, judgeOffered, judgeUse } from "./judge.ts";
import type { KnownPeople } from "./known-people.ts";
import { SecretAnswer } from "./secret-answer.ts";
import { isSameName } from "./whom.ts";
import type { AnswerEvent } from "./decision.ts";
import type {
  ConversationEvent,
  DecisionVote,
  InquiryId,
  PermissionDecision,
  PermissionRequestEvent,
} from "./event.ts";
import {
  at,
  attemptStart,
  cancelled,
  closed,
  decisionVoid,
  inquiry,
  permission,
  permissionRequest,
  subjectOf,
  toolCall,
  turnStart,
} from "./events.fixture.ts";

test("an answer comes too late once others are asked in the place of whoever gives it", () => {
  const request = { ...permissionRequest("c"), deadline: at(20) };
  const id = request.id;
  const passedOn = { ...decisionVoid(id, "deadline"), timestamp: at(30) };
  const next = { ...permissionRequest("c"), id: "c:run:2" as typeof id, replaces: id, rung: 1 };
  const turn = [turnStart(), toolCall("c"), request, passedOn, next];
  const event = { ...permission("c"), id, timestamp: at(40) };
  expect(judgeOffered(turn, { event }, false)).toEqual({ type: "overdue", deadline: at(20) });
});

test("an answer from elsewhere counts only before the deadline", () => {
  const question = { ...inquiry("c.ok.1"), toolCallId: "c", deadline: at(20) };
  const turn = [turnStart(), toolCall("c"), attemptStart("c"), question];
  const answeredBy = { kind: "user", channel: "cli", auth: "os_user" } as const;
  const answer = closed("c.ok.1", { outcome: "answered", answer: true, answeredBy });
  const judged = [19, 20, 21].map((second) =>
    judgeOffered(turn, { event: { ...answer, timestamp: at(second) } }, false),
  );
  expect(judged.map(({ type }) => type)).toEqual(["fits", "overdue", "overdue"]);
});

test("an answer by a clock that was set back before the request does not count, but can cancel it", () => {
  const asked = { timestamp: at(10), deadline: at(20) };
  const question = { ...inquiry("c.ok.1"), toolCallId: "c", ...asked };
  const turn = [turnStart(), toolCall("c"), attemptStart("c"), question];
  const answeredBy = { kind: "user", channel: "desk" } as const;
  const answer = closed("c.ok.1", { outcome: "answered", answer: true, answeredBy });
  const events = [9, 10].map((second) => ({ ...answer, timestamp: at(second) }));
  const cancelling = { ...cancelled("c.ok.1", "user"), timestamp: at(9) };
  const judged = [...events, cancelling].map((event) => judgeOffered(turn, { event }, false));
  expect(judged).toMatchObject([
    { type: "refused", code: "before_request" },
    { type: "fits" },
    { type: "fits" },
  ]);
});

test("an answer to a question for one person counts only from that person", () => {
  const question = { ...inquiry("c.ok.1"), toolCallId: "c", for: "Ada" };
  const turn = [turnStart(), toolCall("c"), attemptStart("c"), question];
  const judgeFrom = (name?: string) => {
    const answeredBy = {
      kind: "user",
      channel: "desk",
      ...(name !== undefined && { name }),
    } as const;
    const answer = { outcome: "answered", answer: true, answeredBy } as const;
    return judgeOffered(turn, { event: closed("c.ok.1", answer) }, false);
  };
  const refused = {
    type: "refused",
    code: "wrong_person",
    reason: "only Ada can answer this",
  };
  expect([judgeFrom("sam"), judgeFrom("adam"), judgeFrom("")]).toEqual([refused, refused, refused]);
  expect(judgeFrom()).toEqual(refused);
  expect([judgeFrom("Ada").type, judgeFrom("ADA").type, judgeFrom("ada ").type]).toEqual(
    Array(3).fill("fits"),
  );
  expect(judgeOffered(turn, { event: cancelled("c.ok.1", "user") }, false).type).toBe("fits");
});

test.each([
  ["Gro\u00df", "Gro\u1e9e"],
  ["Gro\u00df", "GROSS"],
  ["zo\u00eb", "Zoe\u0308"],
  ["Ada Lovelace", " ada\u00a0 lovelace"],
])("a name is the same however it is written: %j and %j", (left, right) => {
  expect([isSameName(left, right), isSameName(right, left)]).toEqual([true, true]);
});

describe("an answer from elsewhere", () => {
  const subject = subjectOf("shown");
  const by = { kind: "user", channel: "desk" } as const;
  const result = { content: "done", isError: false };
  const question = { ...inquiry("c.ok.1"), toolCallId: "c", subject };
  const open = { ...question, ...inquiry("c.ok.1", { answerType: { type: "text" } }) };
  const run = { ...permissionRequest("c"), subject };
  const deliver = { ...permissionRequest("c", "deliver"), result, subject };
  const rerun = { ...permissionRequest("c", "rerun"), subject };

  const answer = (given: Json) =>
    closed("c.ok.1", { outcome: "answered", answer: given, answeredBy: by });
  const decide = (
    { id, action }: PermissionRequestEvent,
    decision: PermissionDecision["decision"],
    fields: Partial<PermissionDecision> = {},
  ) => ({ ...permission("c"), id, action, decision, decidedBy: by, ...fields });

  /** The result of answering with the request's digest, with another, and without one. */
  function judgeDigests(request: ConversationEvent, event: AnswerEvent): readonly string[] {
    const started = request === run ? [] : [attemptStart("c")];
    const turn = [turnStart(), toolCall("c"), ...started, request];
    const digests = [{ digest: subject.digest }, { digest: subjectOf("other").digest }, {}];
    return digests.map(
      (digest) => judgeOffered(turn, { event: { ...event, ...digest } }, false).type,
    );
  }

  test.each<[string, ConversationEvent, AnswerEvent]>([
    ["a yes", question, answer(true)],
    ["a text", open, answer("b")],
    ["a permission", run, decide(run, "approved")],
    ["a result that the model may see", deliver, decide(deliver, "approved")],
    ["a result that was edited", deliver, decide(deliver, "edited", { result })],
    ["a call that is run again", rerun, decide(rerun, "approved")],
    ["a result in its place", rerun, decide(rerun, "edited", { result })],
  ])("counts only with the digest of what is asked: %s", (_, request, event) => {
    expect(judgeDigests(request, event)).toEqual(["fits", "changed", "changed"]);
  });

  test.each<[string, ConversationEvent, AnswerEvent]>([
    ["a no", question, answer(false)],
    ["a cancelled question", question, cancelled("c.ok.1", "user")],
    ["a denied permission", run, decide(run, "denied")],
    ["a withheld result", deliver, decide(deliver, "denied")],
    ["a call that is not run again", rerun, decide(rerun, "denied")],
  ])("needs no digest if nothing happens by it: %s", (_, request, event) => {
    expect(judgeDigests(request, event)).toEqual(["fits", "changed", "fits"]);
  });

  test("does not count if it is for a request that was made void, whether or not it was asked again", () => {
    const again = { ...run, id: "c:run:2" as InquiryId };
    const decided = decide(run, "approved", { digest: subject.digest });
    const before = [turnStart(), toolCall("c"), run];
    const madeVoid = decisionVoid("c:run:1", "file");
    expect([
      judgeOffered([...before, decided, madeVoid, again], { event: decided }, false),
      judgeOffered([...before, madeVoid, again], { event: decided }, false),
      judgeOffered([...before, madeVoid], { event: decided }, false),
    ]).toEqual([{ type: "changed" }, { type: "changed" }, { type: "changed" }]);
  });

  test("without an id, as earlier versions have sent it, is for whatever is asked about the call", () => {
    const { id: _id, ...decided } = decide(run, "denied");
    const turn = [turnStart(), toolCall("c"), run];
    expect([
      judgeOffered(turn, { event: decided }, false),
      judgeOffered([...turn, decided], { event: decide(run, "approved") }, false),
    ]).toMatchObject([
      { type: "fits", item: { id: "c:run:1" } },
      { type: "taken", event: decided },
    ]);
  });
});

/** A turn that waits for a secret. */
function askedForSecret(fields: Partial<InquiryQuestion> = {}): readonly ConversationEvent[] {
  const question = inquiry("c.ok.1", { answerType: { type: "secret" }, ...fields });
  return [turnStart(), toolCall("c"), attemptStart("c"), { ...question, toolCallId: "c" }];
}

describe("an offered secret", () => {
  const answeredBy = { kind: "user", channel: "cli", auth: "os_user" } as const;
  const event = closed("c.ok.1", { outcome: "redacted", answeredBy });
  const codeOf = (turn: readonly ConversationEvent[], secret?: SecretAnswer) => {
    const judged = judgeOffered(turn, { event, ...(secret !== undefined && { secret }) }, false);
    return judged.type === "refused" ? judged.code : judged.type;
  };

  test("counts if its text is there", () => {
    counters("T-SEC-10");
    expect([
      codeOf(askedForSecret(), new SecretAnswer("s3cret")),
      codeOf(askedForSecret()),
    ]).toEqual(["fits", "secret_elsewhere"]);
  });

  test("brings a note only where the question takes one", () => {
    const noted = new SecretAnswer("s3cret", "mine");
    expect([
      codeOf(askedForSecret(), noted),
      codeOf(askedForSecret({ allowsNote: true }), noted),
    ]).toEqual(["no_note", "fits"]);
  });
});

test("a decision about a call is for the tool that it names, whether or not it has an id", () => {
  const request = permissionRequest("c");
  const turn = [turnStart(), toolCall("c"), request];
  const decidedBy = { kind: "user", channel: "desk", auth: "os_user" } as const;
  const judged = [request.id, undefined].flatMap((id) =>
    ["a_tool", "another_tool"].map((tool) => {
      const event = { ...permission("c"), tool, decidedBy, ...(id !== undefined && { id }) };
      return judgeOffered(turn, { event }, false).type;
    }),
  );
  expect(judged).toEqual(["fits", "not_pending", "fits", "not_pending"]);
});

function inFinance(name: string) {
  return { kind: "user", channel: "desk", name, auth: "token", role: "finance" } as const;
}

describe("a decision for a role", () => {
  const { digest } = subjectOf("shown");
  const ROLE = { forAny: [{ role: "finance" }] };
  const SIGNED_BY_TWO = { ...ROLE, terms: { quorum: 2, isSigned: true } } as const;
  const result = { content: "paid 400", isError: false };
  const list = ["ada", "bo"].map((name) => ({ name, roles: ["finance"] }));
  const people: KnownPeople = { list, ownerAlone: false };
  const nonce = `${Date.UTC(2026, 0, 2, 3, 4, 5)}.${"n".repeat(32)}`;
  const signature = { type: "ed25519", key: "k", nonce, sig: "s" } as const;

  const asked = (fields: Partial<JudgedDecision>): JudgedDecision => ({
    kind: "permission",
    id: "c:run:1" as InquiryId,
    askedAt: at(0),
    digest,
    ...fields,
  });
  const decided = (name: string, fields: Partial<PermissionDecision> = {}): PermissionDecision => ({
    ...permission("c"),
    id: "c:run:1" as InquiryId,
    decidedBy: inFinance(name),
    digest,
    ...fields,
  });
  const vote = (name: string, fields: Partial<DecisionVote> = {}): DecisionVote => ({
    type: "decision_vote",
    timestamp: at(0),
    id: "c:run:1" as InquiryId,
    by: inFinance(name),
    decision: "approved",
    digest,
    ...fields,
  });

  test("is not made by votes on different digests together", () => {
    const whom = { ...ROLE, terms: { quorum: 2 } };
    const rule = (voted: string) => {
      const votes = [vote("ada", { digest: voted })];
      return judge(asked({ ...whom, votes }), decided("bo"), { people }).code;
    };
    expect([rule(subjectOf("other").digest), rule(digest)]).toEqual(["counts", "decides"]);
  });

  test("does not count an unsigned vote with an edit", () => {
    const edit = { decision: "edited", result, action: "deliver" } as const;
    const said = decided("bo", { ...edit, signature });
    const rule = (voted: DecisionVote) => {
      const shown = asked({ kind: "delivery", ...SIGNED_BY_TWO, votes: [voted] });
      return judge(shown, said, { people, signed: new Set([said, voted]) }).code;
    };
    const { action: _action, ...edited } = edit;
    const unsigned = vote("ada", edited);
    expect([rule(unsigned), rule({ ...unsigned, signature })]).toEqual(["counts", "decides"]);
  });

  test.each([
    ["of the arguments", "permission", { action: "run", arguments: { amount: 400 } }],
    ["of the result", "delivery", { action: "deliver", result }],
    ["of what a call in doubt has done", "in_doubt", { action: "rerun", result }],
  ] as const)("does not count an edited yes without a signature: %s", (_what, kind, edit) => {
    const whom = { ...ROLE, terms: { isSigned: true } } as const;
    const rule = (event: PermissionDecision) =>
      judge(asked({ kind, ...whom }), event, { people, signed: new Set([event]) }).code;
    const unsigned = decided("ada", { decision: "edited", ...edit });
    expect([rule(unsigned), rule({ ...unsigned, signature })]).toEqual(["unsigned", "decides"]);
    const directory = { list: () => list, findHere: () => undefined, isSigned: () => true };
    const use = (event: PermissionDecision) =>
      judgeUse({ kind, ...whom }, event, { turn: () => [], directory, inForce: whom });
    expect([use(unsigned), use({ ...unsigned, signature })]).toEqual(["person", "counts"]);
  });

  test("does not let a yes without `auth` be used where people are named, whoever is known", () => {
    const named = { for: "ada" };
    const uses = [useUnproven({}, {}), useUnproven(named, named), useUnproven({}, named)];
    expect(uses).toEqual(["counts", "person", "terms"]);
    expect(useUnproven(named, named, true)).toBe("counts");
  });

  test("refuses a yes that grants a rule", () => {
    const grant = { rule: { arg: "/amount" }, until: "turn" } as const;
    const rule = (fields: Partial<JudgedDecision>) =>
      judge(asked(fields), decided("ada", { grant }), { people }).code;
    const named = [ROLE, { for: "ada" }, { terms: { quorum: 2 } }];
    expect([...named, {}].map(rule)).toEqual(["no_grant", "no_grant", "no_grant", "decides"]);
  });
});

/** Ada has said yes, as earlier versions recorded it. No people are known. */
function useUnproven(asked: Named, inForce: Named, isReplay = false) {
  const directory = { list: () => [], findHere: () => undefined, isReplay };
  const decidedBy = { kind: "user", channel: "terminal", name: "ada" } as const;
  const event = { ...permission("c"), decidedBy };
  const using = { turn: () => [], directory, inForce };
  return judgeUse({ kind: "permission", ...asked }, event, using);
}

type Named = { readonly for?: string };

test("an answer to a question that was asked anew does not count, although the old request has none", () => {
  const subject = subjectOf("shown");
  const asked = { ...inquiry("c.ok.1"), toolCallId: "c", subject };
  const again = { ...asked, id: "c.ok.2" as InquiryId, replaces: asked.id };
  const madeVoid = decisionVoid(asked.id, "arguments");
  const turn = [turnStart(), toolCall("c"), attemptStart("c"), asked, madeVoid, again];
  const answeredBy = { kind: "user", channel: "desk", auth: "token" } as const;
  const judged = [asked.id, again.id].map((id) => {
    const answer = closed(id, { outcome: "answered", answer: true, answeredBy });
    return judgeOffered(turn, { event: { ...answer, digest: subject.digest } }, false).type;
  });
  expect(judged).toEqual(["changed", "fits"]);
});

test("a secret does not show when it is printed, cloned or turned into JSON", () => {
  counters("T-SEC-10");
  const secret = new SecretAnswer("s3cret", "s3cret");
  const error = new Error("It failed.", { cause: { secret } });
  const printed = [secret, { secret }, error].flatMap((value) => [
    inspect(value, { showHidden: true, depth: null }),
    JSON.stringify(value),
    inspect(structuredClone(value)),
  ]);
  expect(printed.filter((text) => text.includes("s3cret"))).toEqual([]);
  expect(secret.reveal()).toEqual({ answer: "s3cret", note: "s3cret" });
});
