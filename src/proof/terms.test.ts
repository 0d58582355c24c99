import { describe, expect, test } from "vitest";
import { verify as verifyAlone } from "../../examples/evidence-verifier/verify.ts";
import {
  at,
  attemptStart,
  decisionVoid,
  inquiry,
  permission,
  permissionRequest,
  toolResult,
} from "../record/conversation/events.fixture.ts";
import {
  type AnswerEvent,
  type ChainLine,
  type ConversationEvent,
  type DecisionVote,
  hashLink,
  type InquiryId,
  type PermissionDecision,
  parseLink,
  type Timestamp,
} from "../record/conversation/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { keptOf, keysOf, signed, type UserDecider } from "./decided.fixture.ts";
import { evidenceOf, type Kept } from "./evidence.fixture.ts";
import { verifyEvidence, type VerifyOptions } from "./verify.ts";

const SUBJECT = { subject: { digest: "d1", version: 1, parts: {} } };
const TWO = { forAny: [{ role: "release" }], terms: { quorum: 2 } } as const;
const ASKED = { ...permissionRequest("a"), ...TWO, ...SUBJECT };
const START = attemptStart("a");

function by(name: string, more: Partial<UserDecider> = {}): UserDecider {
  const id = `p-${name}`;
  return {
    kind: "user",
    channel: "desk",
    name,
    personId: id,
    auth: "token",
    role: "release",
    ...more,
  };
}

function vote(who: UserDecider, more: Partial<DecisionVote> = {}): DecisionVote {
  const said = { toolCallId: "a", decision: "approved" } as const;
  return {
    type: "decision_vote",
    timestamp: at(1),
    id: ASKED.id,
    by: who,
    digest: "d1",
    ...said,
    ...more,
  };
}

function approved(who: PermissionDecision["decidedBy"], more: Partial<PermissionDecision> = {}) {
  const { id } = ASKED;
  return { ...permission("a"), id, timestamp: at(2), digest: "d1", decidedBy: who, ...more };
}

interface Shown extends Pick<VerifyOptions, "isStrict"> {
  readonly hasContent?: boolean;
}

/** What jp says, which the other verifier says too. */
async function judgedOf(kept: Kept, { hasContent = false, isStrict = false }: Shown = {}) {
  const { lines } = await evidenceOf([kept], { hasContent, keys: keysOf() });
  const bytes = Buffer.from(lines.join(""));
  const { problems, counts } = await verifyEvidence([bytes], { isStrict });
  const { rulings = {} } = problems.find(({ code }) => code === "terms_not_met") ?? {};
  const { judged, ownerStoodIn } = counts;
  const open = Object.fromEntries(counts.notJudged);
  const found = { unmet: rulings, notJudged: open, judged, ownerStoodIn };
  const codes = problems.map(({ code }) => code).toSorted();
  expect(verifyAlone(bytes, undefined, isStrict)).toMatchObject({ problems: codes, ...found });
  return { ...found, problems: codes };
}

function judge(events: readonly ConversationEvent[], shown?: Shown) {
  return judgedOf(keptOf(events), shown);
}

const MET = { problems: [], unmet: {}, notJudged: {}, judged: 1, ownerStoodIn: 0 };

function unmet(code: string) {
  return { ...MET, problems: ["terms_not_met"], unmet: { [code]: 1 }, judged: 0 };
}

function notJudged(reason: string) {
  return { ...MET, judged: 0, notJudged: { [reason]: 1 } };
}

describe("a decision that takes two people", () => {
  test("meets its terms by two of them", async () => {
    expect(await judge([ASKED, vote(by("ada")), approved(by("bo")), START])).toEqual(MET);
  });

  test.each<[string, readonly DecisionVote[], UserDecider, string]>([
    ["one person", [], by("bo"), "counts"],
    ["the same person twice", [vote(by("bo"))], by("bo"), "repeated"],
    [
      "the same person under another name",
      [vote(by("ada", { personId: "p-bo" }))],
      by("bo"),
      "repeated",
    ],
    ["two people of one name", [vote(by("bo", { personId: "p-1" }))], by(" BO "), "counts"],
    [
      "someone, and whoever stands in for them",
      [vote(by("ada"))],
      by("bo", { onBehalfOf: "ada" }),
      "counts",
    ],
    ["someone in another role", [vote(by("ada"))], by("bo", { role: "ops" }), "wrong_person"],
    [
      "someone in another program's form",
      [vote(by("ada"))],
      by("bo", { auth: "client" }),
      "wrong_person",
    ],
  ])("does not by fewer: %s", async (_name, votes, who, code) => {
    expect(await judge([ASKED, ...votes, approved(who)])).toEqual(unmet(code));
  });

  test("does not if what they were shown, or chose, is not the same", async () => {
    const other = vote(by("ada"), { digest: "d2" });
    expect(await judge([ASKED, other, approved(by("bo"))])).toEqual(unmet("changed"));
    const [same, different] = [answeredByTwo("red", "red"), answeredByTwo("red", "blue")];
    expect([await judge(same), await judge(different)]).toEqual([MET, unmet("counts")]);
  });

  test("takes the last vote of someone who has voted twice", async () => {
    const asked = { ...permissionRequest("a", "deliver"), ...TWO, ...SUBJECT };
    const { id, action } = asked;
    const edited = { id, decision: "edited", result: { content: "x", isError: false } } as const;
    const plain = vote(by("ada"), { id });
    const other = vote(by("ada"), { ...edited, timestamp: at(2) });
    const yes = approved(by("bo"), { id, action, timestamp: at(3) });
    expect([
      await judge([asked, other, { ...plain, timestamp: at(2) }, yes]),
      await judge([asked, plain, other, yes]),
    ]).toEqual([MET, unmet("counts")]);
  });

  test("is not judged if it was made void before anything came of it", async () => {
    const events = [ASKED, approved(by("bo")), decisionVoid(ASKED.id, "terms"), START];
    expect(await judge(events)).toEqual({ ...MET, judged: 0 });
    const late = [ASKED, approved(by("bo")), START, decisionVoid(ASKED.id, "terms")];
    expect(await judge(late)).toEqual(unmet("counts"));
  });

  test("ends with the first no, which only its event shows of an answer", async () => {
    const question = { ...inquiry("a.q.1"), ...TWO, ...SUBJECT };
    const events = [question, answer(by("bo"), false)];
    expect([await judge(events), await judge(events, { hasContent: true })]).toEqual([
      notJudged("answer_missing"),
      MET,
    ]);
    const yes = [question, answer(by("bo"), true)];
    expect(await judge(yes, { hasContent: true })).toEqual(unmet("counts"));
  });

  test("waits for them again if its call is in doubt, even before anyone was asked", async () => {
    const ran = [ASKED, vote(by("ada")), approved(by("bo")), START];
    const rerun = { id: "a:rerun:1" as InquiryId, action: "rerun", timestamp: at(4) } as const;
    const again = approved(by("bo"), rerun);
    const before = vote(by("ada"), { id: rerun.id, timestamp: at(3) });
    expect([await judge([...ran, before, again]), await judge([...ran, again])]).toEqual([
      { ...MET, judged: 2 },
      { ...unmet("counts"), judged: 1 },
    ]);
  });
});

function answer(
  who: UserDecider,
  value: Json,
  words: { readonly note?: string } = {},
): AnswerEvent {
  const id = "a.q.1" as InquiryId;
  const said = { outcome: "answered", answer: value, answeredBy: who, ...words } as const;
  return { type: "inquiry_response", timestamp: at(2), id, digest: "d1", ...said };
}

function answeredByTwo(chosen: Json, last: Json): readonly ConversationEvent[] {
  const question = { ...inquiry("a.q.1", { answerType: { type: "text" } }), ...TWO, ...SUBJECT };
  const { id } = question;
  const said = { timestamp: at(1), by: by("ada"), answer: chosen, digest: "d1" };
  return [question, { type: "decision_vote", id, ...said }, answer(by("bo"), last)];
}

/** Both give the model another result. */
function editedByTwo(): readonly ConversationEvent[] {
  const asked = { ...permissionRequest("a", "deliver"), ...TWO, ...SUBJECT };
  const { id, action } = asked;
  const edited = { id, decision: "edited", result: { content: "x", isError: false } } as const;
  return [asked, vote(by("ada"), edited), approved(by("bo"), { ...edited, action })];
}

/** Links before the last one, where someone votes and someone decides: the start, the request and the vote. */
const BEFORE_LAST = 3;

describe("an answer", () => {
  test("that nothing waits for does not count, unless links are missing before it", async () => {
    const late = [ASKED, vote(by("ada")), approved(by("bo")), approved(by("cy")), START];
    expect(await judge(late)).toEqual({ ...unmet("not_pending"), judged: 1 });
    expect(await judge([approved(by("bo"))])).toEqual(unmet("not_pending"));
    const kept = keptOf([approved(by("bo"))]);
    const chain = relinked(kept.chain, (json) =>
      json["kind"] === "start" ? [json, { kind: "gap", version: 2, reason: "torn" }] : [json],
    );
    expect(await judgedOf({ ...kept, chain })).toEqual(notJudged("request_missing"));
  });

  test("before its request, by a clock that was set back, does not count", async () => {
    const asked = { ...permissionRequest("a"), ...SUBJECT, timestamp: at(3), deadline: at(4) };
    expect(await judge([asked, approved(by("ada"))])).toEqual(unmet("before_request"));
  });

  test("after the deadline, or for the turn where that is not offered, does not count", async () => {
    const timed = { ...permissionRequest("a"), ...SUBJECT, deadline: at(2) };
    expect(await judge([timed, approved(by("ada"))])).toEqual(unmet("overdue"));
    const remembered = approved(by("ada", { scope: "turn" }));
    const asked = { ...permissionRequest("a"), ...SUBJECT };
    const offering = { ...asked, takes: { turn: { code: "calls" } } } as const;
    expect([await judge([asked, remembered]), await judge([offering, remembered])]).toEqual([
      unmet("not_remembered"),
      MET,
    ]);
  });

  test("to a question that was passed on to people is held to their deadline", async () => {
    const asked = { ...inquiry("a.q.1"), ...SUBJECT, deadline: at(1) };
    const { id } = asked;
    const passedOn = (deadline?: Timestamp): ConversationEvent => ({
      type: "inquiry_escalation",
      timestamp: at(1),
      id,
      outcome: "cancelled",
      reason: "backend_error",
      ...(deadline !== undefined && { deadline }),
    });
    const shown = { hasContent: true };
    const said = answer(by("ada"), true);
    expect([
      await judge([asked, said], shown),
      await judge([asked, passedOn(at(3)), said], shown),
      await judge([asked, passedOn(at(2)), said], shown),
      await judge([asked, passedOn(), said], shown),
    ]).toEqual([unmet("overdue"), MET, unmet("overdue"), MET]);
  });

  test("with a note counts where the question takes one", async () => {
    const notes = [true, false].map((allowsNote) => {
      const asked = { ...inquiry("a.q.1", { allowsNote }), ...SUBJECT };
      return judge([asked, answer(by("ada"), true, { note: "go" })], { hasContent: true });
    });
    expect(await Promise.all(notes)).toEqual([MET, unmet("no_note")]);
  });

  test("that denies without a person has no effect, so it is not judged", async () => {
    const late = { decision: "denied", cause: "timed_out" } as const;
    const events = [ASKED, approved({ kind: "policy", key: "timeout" }, late)];
    expect(await judge(events)).toEqual({ ...MET, judged: 0 });
  });

  test("after a vote is not met where one person was to decide", async () => {
    const alone = { ...ASKED, terms: {} };
    expect(await judge([alone, approved(by("bo"))])).toEqual(MET);
    expect(await judge([alone, vote(by("ada")), approved(by("bo"))])).toEqual(unmet("decides"));
  });

  test("in a link of a newer version is not judged", async () => {
    const kept = keptOf([ASKED, vote(by("ada")), approved(by("bo"))]);
    const chain = relinked(kept.chain, (json) => [
      json["type"] === "permission_decision" ? { ...json, version: 3 } : json,
    ]);
    expect(await judgedOf({ ...kept, chain })).toEqual(notJudged("newer_version"));
  });

  test("of a model or a rule does not meet terms, and is not judged where it is only for someone", async () => {
    const ruled = approved({ kind: "policy", key: "run" });
    const named = { ...permissionRequest("a"), ...SUBJECT, for: "ada" };
    expect([await judge([ASKED, ruled]), await judge([named, ruled])]).toEqual([
      unmet("not_a_person"),
      notJudged("rules_in_force"),
    ]);
  });

  test("under terms of a newer version is not judged", async () => {
    const newer = { ...ASKED, terms: { isUnknown: true } as const };
    expect(await judge([newer, approved(by("ada"))])).toEqual(notJudged("unknown_terms"));
  });

  test("of the owner in the place of people is counted, and a problem only for whoever is strict", async () => {
    const owner = { kind: "user", channel: "terminal", auth: "owner" } as const;
    const events = [ASKED, approved(owner), START];
    expect([await judge(events), await judge(events, { isStrict: true })]).toEqual([
      { ...MET, ownerStoodIn: 1 },
      { ...MET, ownerStoodIn: 1, problems: ["owner_stood_in"] },
    ]);
  });
});

/** The links with other contents, each with the digest of the one before. */
function relinked(
  chain: Kept["chain"],
  change: (json: JsonObject) => readonly JsonObject[],
): readonly ChainLine[] {
  let [prev, seq] = ["", 0];
  return chain.flatMap((line) => {
    if (!("link" in line)) return [];
    return change(line.link.json).map((json) => {
      const link = parseLink({ ...json, seq, prev });
      seq += 1;
      prev = hashLink(link);
      return { ...line, link };
    });
  });
}

const SINCE_2 = [
  "person_ids",
  "takes",
  "deadline",
  "answer_type",
  "allows_note",
  "choice",
  "signature",
  "result",
  "note",
  "grant",
];

/** As the first version made it: how jp knew who it was is guessed, or says how they have signed. */
function asVersion1(json: JsonObject): JsonObject {
  const { version: _, ...old } = json;
  for (const name of SINCE_2) delete (old as Record<string, unknown>)[name];
  if (json["kind"] === "start") return { ...old, version: 1 };
  const { person_id: _id, ...who } = (json["by"] ?? {}) as JsonObject;
  if (who["kind"] !== "user") return old;
  const { type } = (json["signature"] ?? {}) as JsonObject;
  return { ...old, by: { ...who, auth: type === undefined ? (who["auth"] ?? "none") : "key" } };
}

function oldChain(events: readonly ConversationEvent[], length = Number.POSITIVE_INFINITY): Kept {
  const kept = keptOf(events);
  let count = 0;
  const chain = relinked(kept.chain, (json) => {
    count += 1;
    return [count <= length ? asVersion1(json) : json];
  });
  return { ...kept, chain };
}

describe("a chain of version 1", () => {
  test("is verified, and what its links do not hold is reported as not judged", async () => {
    const events = [ASKED, vote(by("ada")), approved(by("bo")), START, toolResult("a")];
    expect(await judgedOf(oldChain(events))).toEqual(notJudged("version_1"));
  });

  test("counts the owner who stood in", async () => {
    const owner = { kind: "user", channel: "terminal", auth: "owner" } as const;
    const found = await judgedOf(oldChain([ASKED, approved(owner), START]));
    expect(found).toEqual({ ...notJudged("version_1"), ownerStoodIn: 1 });
  });

  test.each<[string, readonly ConversationEvent[], string]>([
    ["a vote that counts twice", [ASKED, vote(by("bo")), approved(by("bo"))], "repeated"],
    ["too few votes", [ASKED, approved(by("bo"))], "counts"],
    [
      "someone in another role",
      [ASKED, vote(by("ada", { role: "ops" })), approved(by("bo"))],
      "wrong_person",
    ],
    ["no signature", [{ ...ASKED, terms: { isSigned: true } }, approved(by("bo"))], "unsigned"],
  ])("is judged by what its links hold: %s", async (_name, events, code) => {
    expect(await judgedOf(oldChain(events))).toEqual(unmet(code));
  });

  test("has the signatures of people, which are checked", async () => {
    const asked = { ...ASKED, terms: { isSigned: true } } as const;
    const found = await judgedOf(oldChain([asked, signed(approved(by("bo")))]));
    expect(found).toEqual(notJudged("version_1"));
  });

  test.each<[string, readonly ConversationEvent[]]>([
    ["an answer", answeredByTwo("red", "red")],
    ["a result", editedByTwo()],
  ])("has votes that are completed in version 1 or 2: %s", async (_name, events) => {
    const chains = [oldChain(events), oldChain(events, BEFORE_LAST)];
    const found = await Promise.all(chains.map((kept) => judgedOf(kept)));
    expect(found).toEqual([notJudged("version_1"), notJudged("version_1")]);
    const alone = events.filter(({ type }) => type !== "decision_vote");
    const shown = { hasContent: true }; // An answer may be a no.
    expect(await judgedOf(oldChain(alone, BEFORE_LAST - 1), shown)).toEqual(unmet("counts"));
  });

  test("may go on with links of version 2, and not the other way round", async () => {
    const first = [ASKED, vote(by("ada")), approved(by("bo")), START, toolResult("a")];
    const again = [ASKED, vote(by("ada")), approved(by("cy")), START];
    const kept = oldChain([...first, ...again], first.length + 1);
    expect(await judgedOf(kept)).toEqual({ ...notJudged("version_1"), judged: 1 });
    const mixed = relinked(keptOf(first).chain, (json) => [
      json["type"] === "attempt_start" ? asVersion1(json) : json,
    ]);
    const { problems } = await judgedOf({ ...keptOf(first), chain: mixed });
    expect(problems).toEqual(["broken_chain"]);
  });
});

test("a link that says something else than its event is found if the export has both", async () => {
  const kept = keptOf([ASKED, approved(by("bo"))]);
  const chain = relinked(kept.chain, (json) => [
    json["type"] === "permission_request" ? { ...json, terms: {} } : json,
  ]);
  expect([
    await judgedOf({ ...kept, chain }),
    await judgedOf({ ...kept, chain }, { hasContent: true }),
  ]).toEqual([MET, { ...MET, problems: ["link_mismatch"] }]);
});
