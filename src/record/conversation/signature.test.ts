import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { AnswerEvent } from "./decision.ts";
import type { DecisionVote, InquiryId } from "./event.ts";
import { judge, type JudgedDecision, knowledgeFor } from "./judge.ts";
import type { Directory } from "./known-people.ts";
import { answerToSign, hashToSign, newNonce, nonceTime } from "./signature.ts";
import type { Timestamp } from "./timestamp.ts";
import type { ForWhom } from "./whom.ts";

const AT = "2026-01-02 03:04:05.0" as Timestamp;
const SIGNED = { terms: { isSigned: true } } as const;
const ADA = { kind: "user", channel: "desk", name: "ada", auth: "token" } as const;
const NONCE = newNonce(Date.parse("2026-01-02T03:04:05Z"));
const SIGNATURE = { type: "ed25519", key: "k", nonce: NONCE, sig: "s" } as const;
const YES: AnswerEvent = {
  type: "permission_decision",
  timestamp: AT,
  id: "call_1.run" as InquiryId,
  toolCallId: "call_1",
  tool: "deploy",
  action: "run",
  decision: "approved",
  decidedBy: ADA,
  digest: "d1",
};
const ANSWER: AnswerEvent = {
  type: "inquiry_response",
  timestamp: AT,
  id: "call_1.sure" as InquiryId,
  outcome: "answered",
  answer: ["a", 1],
  answeredBy: ADA,
  digest: "d1",
};
const VOTE: DecisionVote = {
  type: "decision_vote",
  timestamp: AT,
  id: "call_1.run" as InquiryId,
  by: ADA,
  decision: "approved",
};

test("what is signed is SHA-256 over canonical JSON", () => {
  const toSign = { person: "ada", nonce: "n", id: "i", digest: "d", answer: { b: 1, a: true } };
  const text = '{"answer":{"a":true,"b":1},"digest":"d","id":"i","nonce":"n","person":"ada"}';
  expect(hashToSign(toSign)).toBe(createHash("sha256").update(text).digest("hex"));
});

test("the answer that is signed is what was decided, without the words that came with it", () => {
  const result = { content: "Ok.", isError: false };
  expect(
    [
      { ...YES, reason: "because" },
      { ...YES, decision: "denied" } as const,
      { ...YES, decision: "edited", arguments: { to: "test" } } as const,
      { ...YES, decision: "edited", result } as const,
      ANSWER,
      { ...ANSWER, outcome: "redacted" } as const,
      VOTE,
      { ...VOTE, decision: "edited", result } as const,
      { ...VOTE, decision: undefined, answer: "b" } as unknown as DecisionVote,
    ].map((event) => answerToSign(event)),
  ).toEqual([
    true,
    false,
    { arguments: { to: "test" } },
    { result: "Ok." },
    ["a", 1],
    { outcome: "redacted" },
    true,
    { result: "Ok." },
    "b",
  ]);
});

/** What the judge says of an answer of Ada's. `isGood`: a key of hers has signed it. */
function codeOf(asked: ForWhom & { askedAt?: string }, event: AnswerEvent, isGood = true): string {
  const directory: Directory = {
    list: () => [{ name: "ada", roles: [] }],
    findHere: () => undefined,
    isSigned: () => isGood,
  };
  const judged = {
    kind: event.type === "inquiry_response" ? "question" : "permission",
    id: event.id ?? ("" as InquiryId),
    digest: "d1",
    ...asked,
  } as JudgedDecision;
  return judge(judged, event, knowledgeFor(judged, event, directory)).code;
}

test("only a person's yes needs a signature, and only where one is asked for", () => {
  const policy = { ...YES, decidedBy: { kind: "policy", key: "run" } } as const;
  expect([
    codeOf({}, YES),
    codeOf(SIGNED, { ...YES, decision: "denied" }),
    codeOf(SIGNED, policy),
    codeOf(SIGNED, { ...YES, signature: SIGNATURE }),
    codeOf(SIGNED, YES),
    codeOf(SIGNED, { ...YES, decision: "edited", arguments: { to: "test" } }),
    codeOf(SIGNED, ANSWER),
  ]).toEqual(["decides", "decides", "decides", "decides", "unsigned", "unsigned", "unsigned"]);
});

test("no owner of the machine stands in for a signature", () => {
  const directory = { list: () => [], findHere: () => undefined, ownerAlone: true };
  const owner: AnswerEvent = { ...YES, decidedBy: { ...ADA, auth: "owner" } };
  const asked = { kind: "permission", id: "c" as InquiryId, digest: "d1", ...SIGNED } as const;
  expect(judge(asked, owner, knowledgeFor(asked, owner, directory)).code).toBe("no_people");
});

function codeAt(askedAt: string, timestamp = AT) {
  return codeOf({ ...SIGNED, askedAt }, { ...YES, timestamp, signature: SIGNATURE });
}

test("a signature that was made before the question does not count, and neither does one from later", () => {
  expect([
    codeAt("2026-01-02 03:04:05.0"),
    codeAt("2026-01-02 03:04:05.001", "2026-01-02 03:04:05.002" as Timestamp),
    codeAt("2026-01-02 03:04:04.0", "2026-01-02 03:04:04.999" as Timestamp),
  ]).toEqual(["decides", "wrong_signature", "wrong_signature"]);
});

test.each([
  "",
  "abc",
  "1.short",
  `-1.${"a".repeat(32)}`,
  `1.${"a".repeat(65)}`,
  `1e3.${"a".repeat(32)}`,
])("a nonce that jp cannot have made does not count: %j", (nonce) => {
  expect(nonceTime(nonce)).toBeUndefined();
  const signature = { ...SIGNATURE, nonce };
  expect(codeOf(SIGNED, { ...YES, signature })).toBe("wrong_signature");
});

test("a signature counts only if a key of the person has made it, and that can be checked", () => {
  const signed = { ...YES, signature: SIGNATURE };
  const newer = { ...YES, signature: { unknown: 1 } };
  expect([codeOf(SIGNED, signed), codeOf(SIGNED, signed, false), codeOf(SIGNED, newer)]).toEqual([
    "decides",
    "wrong_signature",
    "wrong_signature",
  ]);
});
