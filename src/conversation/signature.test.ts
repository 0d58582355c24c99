import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { AnswerEvent } from "./decision.ts";
import type { DecisionVote, InquiryId } from "./event.ts";
import { answerToSign, explainUnsigned, hashToSign, newNonce, nonceTime } from "./signature.ts";
import type { Timestamp } from "./timestamp.ts";

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

test("only a person's yes needs a signature, and only where one is asked for", () => {
  const owner = { ...YES, decidedBy: { ...ADA, auth: "owner" } };
  const policy = { ...YES, decidedBy: { kind: "policy", key: "run" } } as const;
  expect([
    explainUnsigned({}, YES),
    explainUnsigned(SIGNED, { ...YES, decision: "denied" }),
    explainUnsigned(SIGNED, owner),
    explainUnsigned(SIGNED, policy),
    explainUnsigned(SIGNED, { ...YES, signature: SIGNATURE }),
    explainUnsigned(SIGNED, YES),
    explainUnsigned(SIGNED, VOTE),
  ]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    "this has to be signed",
    "this has to be signed",
  ]);
});

function explainAt(askedAt: string, timestamp = AT) {
  return explainUnsigned(
    { ...SIGNED, askedAt: askedAt as Timestamp },
    { ...YES, timestamp, signature: SIGNATURE },
  );
}

test("a signature that was made before the question does not count, and neither does one from later", () => {
  const other = "the signature is not of this answer";
  expect([
    explainAt("2026-01-02 03:04:05.0"),
    explainAt("2026-01-02 03:04:05.001"),
    explainAt("2026-01-02 03:04:04.0", "2026-01-02 03:04:04.999" as Timestamp),
  ]).toEqual([undefined, other, other]);
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
  expect(explainUnsigned(SIGNED, { ...YES, signature })).toBeDefined();
});

test("a signature counts for no one who is not in the directory, or if it cannot be checked there", () => {
  const directory = { list: () => [{ name: "ada", roles: [] }], findHere: () => undefined };
  const signed = { ...YES, signature: SIGNATURE };
  const isSigned = (is: boolean) => ({ ...directory, isSigned: () => is });
  expect([
    explainUnsigned(SIGNED, signed, directory),
    explainUnsigned(SIGNED, signed, isSigned(false)),
    explainUnsigned(SIGNED, signed, isSigned(true)),
  ]).toEqual([
    "signatures cannot be checked here",
    "the signature is not of this answer",
    undefined,
  ]);
});
