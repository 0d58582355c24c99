import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { at, inquiry, permission, subjectOf } from "./events.fixture.ts";
import type { DecisionVote, InquiryId, PermissionDecision } from "./event.ts";
import { type AskedOnRecord, judge, type JudgedDecision, judgeUse } from "./judge.ts";
import type { Directory, KnownPeople, KnownPerson, UserDecider } from "./known-people.ts";
import type { ForWhom } from "./whom.ts";

const ASKED_AT = at(10);
const { digest } = subjectOf("shown");
const ID = "c:run:1" as InquiryId;
const ROLE = { forAny: [{ role: "finance" }] };

const ADA = { id: "p-ada", name: "ada", roles: ["finance"] };
const BO = { id: "p-bo", name: "bo", roles: ["finance"] };
const SAM = { id: "p-sam", name: "sam", roles: [] };
const LIST: readonly KnownPerson[] = [ADA, BO, SAM];
const NO_ONE: KnownPeople = { list: [], ownerAlone: false };

function by(person: KnownPerson, more: Partial<UserDecider> = {}): UserDecider {
  const { name, id: personId } = person;
  return {
    kind: "user",
    channel: "desk",
    name,
    auth: "token",
    ...(personId && { personId }),
    ...more,
  };
}

function asked(fields: Partial<JudgedDecision>): JudgedDecision {
  return { kind: "permission", id: ID, askedAt: ASKED_AT, digest, ...fields };
}

function said(decidedBy: UserDecider, more: Partial<PermissionDecision> = {}): PermissionDecision {
  return { ...permission("c"), id: ID, timestamp: at(20), decidedBy, digest, ...more };
}

function vote(who: UserDecider, more: Partial<DecisionVote> = {}): DecisionVote {
  const choice = { decision: "approved", toolCallId: "c", digest } as const;
  return { type: "decision_vote", timestamp: at(15), id: ID, by: who, ...choice, ...more };
}

function rule(
  whom: Partial<JudgedDecision>,
  event: PermissionDecision,
  people: KnownPeople | undefined = { list: LIST, ownerAlone: false },
): string {
  return judge(asked(whom), event, { people }).code;
}

function standsIn(person: KnownPerson, absent: KnownPerson): KnownPerson {
  return { ...person, standsInFor: [absent] };
}

/** The ruling on a yes whose nonce is of this second. */
function signedAt(second: number): string {
  const nonce = `${Date.UTC(2026, 0, 2, 3, 4, 5 + second)}.${"n".repeat(32)}`;
  const event = said(by(ADA), { signature: { type: "ed25519", key: "k", nonce, sig: "s" } });
  const signed = new Set([event]);
  const people = { list: LIST, ownerAlone: false };
  return judge(asked({ ...ROLE, terms: { isSigned: true } }), event, { people, signed }).code;
}

function directoryOf(list: readonly KnownPerson[]): Directory {
  return { list: () => list, findHere: () => undefined };
}

describe("a yes for some people", () => {
  test.each<[string, UserDecider, string]>([
    ["someone with the role", by(ADA), "decides"],
    ["someone without it", by(SAM), "wrong_person"],
    [
      "another program's form, under the name and id of someone",
      by(ADA, { auth: "client" }),
      "wrong_person",
    ],
    ["the owner, once people are known", by(ADA, { auth: "owner" }), "wrong_person"],
    [
      "a name that no id confirms",
      { ...by(ADA), personId: undefined } as unknown as UserDecider,
      "wrong_person",
    ],
    ["an id that no one has any more", by({ ...ADA, id: "p-old" }), "wrong_person"],
    [
      "someone for a person they do not stand in for",
      by(SAM, { onBehalfOf: "ada" }),
      "wrong_person",
    ],
  ])("counts from a known person who has the role: %s", (_who, who, code) => {
    counters("T-PEOPLE-1");
    expect(rule(ROLE, said(who))).toBe(code);
  });

  test("counts from whoever stands in for someone with the role", () => {
    const people = { list: [ADA, { ...SAM, standsInFor: [ADA] }], ownerAlone: false };
    expect(rule(ROLE, said(by(SAM, { onBehalfOf: "ada" })), people)).toBe("decides");
    expect(rule(ROLE, said(by(SAM)), people)).toBe("wrong_person");
  });

  test("does not count from the user of the machine if they are none of them, unlike their no", () => {
    const here = by(SAM, { auth: "os_user", channel: "terminal" });
    const decisions = [said(here), said(here, { decision: "denied" })];
    expect(decisions.map((event) => rule(ROLE, event))).toEqual(["wrong_person", "decides"]);
    expect(rule(ROLE, said(by(SAM), { decision: "denied" }))).toBe("wrong_person");
  });

  test("is not given through another program's form, whatever name is in it", () => {
    const form = said(by({ name: "ada", roles: [] }, { auth: "client" }));
    expect(rule({ for: "ada" }, form, NO_ONE)).toBe("wrong_person");
  });

  test("counts for the owner where none are known and the owner stands in, but never signed", () => {
    const owner = said(by({ name: "olga", roles: [] }, { auth: "owner" }));
    const alone = { list: [], ownerAlone: true };
    expect([
      rule(ROLE, owner, alone),
      rule(ROLE, owner, NO_ONE),
      rule({ terms: { quorum: 2 } }, owner, alone),
      rule({ ...ROLE, terms: { isSigned: true } }, owner, alone),
      judge(asked(ROLE), owner, { people: undefined }).code,
    ]).toEqual(["decides", "no_people", "decides", "no_people", "directory_missing"]);
  });

  test("is held to the name in a replay too, where a name is all there is", () => {
    const replay = { list: [], ownerAlone: false, isReplay: true };
    const names = ["ada", "sam"].map((name) => said(by({ name, roles: [] })));
    expect(names.map((event) => rule({ for: "ada" }, event, replay))).toEqual([
      "decides",
      "wrong_person",
    ]);
    expect(names.map((event) => rule(ROLE, event, replay))).toEqual(["decides", "decides"]);
  });

  test("of an account from the desk counts only if it was confirmed before this was asked", () => {
    const rules = [undefined, at(9), at(10), at(11), false as const].map((confirmed) =>
      rule(ROLE, said(by(ADA)), { list: [{ ...ADA, confirmed }], ownerAlone: false }),
    );
    expect(rules).toEqual(["decides", "decides", "unconfirmed", "unconfirmed", "unconfirmed"]);
  });

  test("does not count from whoever started the turn, nor for them, nor if that is unknown", () => {
    const people = { list: [standsIn(ADA, BO), standsIn(BO, ADA), SAM], ownerAlone: false };
    const notAda = { ...ROLE, terms: { notBy: { name: "ada" } } };
    const rules = [
      by(ADA),
      by(ADA, { onBehalfOf: "bo" }),
      by(BO, { onBehalfOf: "ada" }),
      by(BO),
    ].map((who) => rule(notAda, said(who), people));
    expect(rules).toEqual(["asker", "asker", "asker", "decides"]);
    expect(rule({ ...ROLE, terms: { notBy: {} } }, said(by(BO)), people)).toBe("asker_unknown");
  });
});

describe("a vote", () => {
  const TWO = { ...ROLE, terms: { quorum: 2 } };

  test("counts no more once its author has lost the role, and only as often as people have decided", () => {
    const votes = [vote(by(ADA))];
    const without = { list: [{ ...ADA, roles: [] }, BO], ownerAlone: false };
    expect([
      rule({ ...TWO, votes }, said(by(BO))),
      rule({ ...TWO, votes }, said(by(BO)), without),
      rule({ ...TWO, votes }, said(by(ADA))),
    ]).toEqual(["decides", "counts", "repeated"]);
  });

  test("against it ends the decision, unless the terms count refusals", () => {
    const no = said(by(BO), { decision: "denied" });
    const counted = { ...ROLE, terms: { quorum: 2, countsRefusals: true } } as const;
    expect([rule(TWO, no), rule(counted, no)]).toEqual(["decides", "counts"]);
  });

  test("for someone who is away fills their place, and no second one", () => {
    const people = { list: [ADA, BO, { ...SAM, standsInFor: [ADA, BO] }], ownerAlone: false };
    const votes = [vote(by(ADA))];
    const forAda = said(by(SAM, { onBehalfOf: "ada" }));
    const forBo = said(by(SAM, { onBehalfOf: "bo" }));
    expect([
      rule({ ...TWO, votes }, forAda, people),
      rule({ ...TWO, votes }, forBo, people),
    ]).toEqual(["counts", "decides"]);
  });
});

describe("a signature", () => {
  test("counts only with a nonce from between the request and the answer", () => {
    counters("T-SIGN-2");
    expect([9, 10, 20, 21].map(signedAt)).toEqual([
      "wrong_signature",
      "decides",
      "decides",
      "wrong_signature",
    ]);
  });
});

describe("a secret", () => {
  test("is never given by several people together", () => {
    const { question } = inquiry("c.ok.1", { answerType: { type: "secret" } });
    const event = {
      type: "inquiry_response",
      timestamp: at(20),
      id: "c.ok.1" as InquiryId,
      outcome: "redacted",
      answeredBy: by(ADA),
      digest,
    } as const;
    const people = { list: LIST, ownerAlone: false };
    const codes = [1, 2].map((quorum) => {
      const shown = asked({ kind: "question", ...ROLE, terms: { quorum }, question });
      return judge(shown, event, { people }).code;
    });
    expect(codes).toEqual(["decides", "secret_of_several"]);
  });
});

/** Whether a recorded yes can be used. */
function use(
  onRecord: Partial<AskedOnRecord>,
  inForce: ForWhom,
  event: PermissionDecision,
  { votes = [] as readonly DecisionVote[], list = LIST } = {},
) {
  return judgeUse({ kind: "permission", id: ID, timestamp: ASKED_AT, ...onRecord }, event, {
    turn: () => [...votes, event],
    directory: directoryOf(list),
    inForce,
  });
}

describe("a yes on record", () => {
  test("is used only while its author still may decide", () => {
    const lost = [{ ...ADA, roles: [] }, BO];
    const yes = said(by(ADA));
    expect([use(ROLE, ROLE, yes), use(ROLE, ROLE, yes, { list: lost })]).toEqual([
      "counts",
      "person",
    ]);
  });

  test("is used only if it meets the terms in force now too", () => {
    const two = { ...ROLE, terms: { quorum: 2 } };
    const yes = said(by(ADA));
    expect([
      use(ROLE, { forAny: [{ role: "ops" }] }, yes),
      use(ROLE, two, yes),
      use(ROLE, two, yes, { votes: [vote(by(BO))] }),
      use({}, two, yes, { votes: [vote(by(BO))] }),
    ]).toEqual(["terms", "terms", "counts", "counts"]);
  });

  test("is used with its own signature if only the terms in force now ask for one", () => {
    const nonce = `${Date.UTC(2026, 0, 2, 3, 4, 5 + 15)}.${"n".repeat(32)}`;
    const signed = said(by(ADA), { signature: { type: "ed25519", key: "k", nonce, sig: "s" } });
    const directory = { list: () => LIST, findHere: () => undefined, isSigned: () => true };
    const uses = [signed, said(by(ADA))].map((event) =>
      judgeUse({ kind: "permission", id: ID, timestamp: ASKED_AT }, event, {
        turn: () => [event],
        directory,
        inForce: { terms: { isSigned: true } },
      }),
    );
    expect(uses).toEqual(["counts", "terms"]);
  });

  test("from before people had ids is that of the person of this name, if it was for known people", () => {
    const { personId: _id, ...named } = by(ADA);
    expect([
      use(ROLE, ROLE, said(named)),
      use({ for: "ada" }, { for: "ada" }, said(named)),
    ]).toEqual(["counts", "person"]);
  });

  test.each<[string, Partial<AskedOnRecord>, ForWhom & { readonly isForModel?: boolean }, string]>([
    ["no one in particular", {}, {}, "counts"],
    ["some people now", {}, ROLE, "terms"],
    ["a model now, since the people did not answer", ROLE, { ...ROLE, isForModel: true }, "counts"],
    ["people under terms", { ...ROLE, terms: { quorum: 2 } }, { isForModel: true }, "terms"],
    ["people under terms now", {}, { terms: {}, isForModel: true }, "terms"],
  ])(
    "from a model is used only where no person has to decide: for %s",
    (_, onRecord, inForce, code) => {
      const yes = { ...said(by(ADA)), decidedBy: { kind: "assistant", model: "m" } } as const;
      expect(use(onRecord, inForce, yes)).toBe(code);
    },
  );
});
