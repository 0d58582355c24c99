import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { verify as verifyAlone } from "../../examples/evidence-verifier/verify.ts";
import { counters } from "../../test/security/threats.ts";
import {
  attemptStart,
  entriesOf,
  inquiry,
  permissionRequest,
  toolCall,
  toolResult,
  turnStart,
} from "../record/conversation/events.fixture.ts";
import {
  type AnswerEvent,
  type ConversationEvent,
  type InquiryId,
  StreamEntry,
  type Timestamp,
} from "../record/conversation/index.ts";
import { canonicalJson, type JsonObject, sha256 } from "../util/index.ts";
import { signLine } from "./dsse.ts";
import { chainOf, evidenceOf, ID, SIGNER } from "./evidence.fixture.ts";
import { DecisionSheet } from "./report.ts";
import { ed25519, passkey, type TestKey } from "./signing.fixture.ts";
import { verifyEvidence } from "./verify.ts";

const WHOM = { forAny: [{ role: "release" }], terms: { isSigned: true } } as const;
const SUBJECT = { subject: { digest: "d1", version: 1, parts: {} } };
const AT = "2026-01-02 03:04:06.0" as Timestamp;
const ADA = {
  kind: "user",
  channel: "desk",
  name: "ada",
  auth: "token",
  role: "release",
} as const;

const APPROVED: AnswerEvent = {
  type: "permission_decision",
  timestamp: AT,
  id: "a:run:1" as InquiryId,
  toolCallId: "a",
  tool: "a_tool",
  action: "run",
  decision: "approved",
  decidedBy: ADA,
  digest: "d1",
};
const ANSWERED: AnswerEvent = {
  type: "inquiry_response",
  timestamp: AT,
  id: "a.q.1" as InquiryId,
  outcome: "answered",
  answer: "blue",
  answeredBy: ADA,
  digest: "d1",
};

/** A call that was approved, and its question. */
function kept(approved: ConversationEvent, answered: ConversationEvent) {
  const entries = entriesOf(
    turnStart(),
    toolCall("a"),
    { ...permissionRequest("a"), ...WHOM, ...SUBJECT },
    approved,
    attemptStart("a"),
    { ...inquiry("a.q.1"), toolCallId: "a", ...WHOM, ...SUBJECT },
    answered,
    toolResult("a"),
  );
  return { id: ID, chain: chainOf(ID, entries), entries };
}

function signedBy({ sign: signWith }: Pick<TestKey, "sign">) {
  const [approved, answered] = [APPROVED, ANSWERED].map((event) => ({
    ...event,
    signature: signWith(event),
  }));
  if (approved === undefined || answered === undefined) throw new Error("nothing was signed");
  return kept(approved, answered);
}

async function check(lines: readonly string[]) {
  const bytes = Buffer.from(lines.join(""));
  const { problems, counts } = await verifyEvidence([bytes]);
  const codes = problems.map(({ code }) => code);
  expect(verifyAlone(bytes).problems).toEqual(codes.toSorted());
  const { signed, unchecked, findings, notJudged } = counts;
  const { rulings } = problems.find(({ code }) => code === "terms_not_met") ?? {};
  const judged = { ...(rulings && { rulings }), notJudged: Object.fromEntries(notJudged) };
  expect(verifyAlone(bytes)).toMatchObject({
    unmet: rulings ?? {},
    notJudged: judged.notJudged,
    judged: counts.judged,
  });
  return { codes, signed, unchecked, findings, ...judged };
}

/** What both say of a signature that was needed, and is not one. */
const BAD = ["terms_not_met", "bad_approval_signature"];

const KINDS = { ed25519, passkey };

const ALL = Object.keys(KINDS) as readonly (keyof typeof KINDS)[];
/** What a signature may be of instead. */
const OTHERS = [
  { id: "a:run:2" as InquiryId },
  { digest: "d2" },
  { decision: "edited", result: { content: "x", isError: false } },
  { timestamp: "2026-01-02 03:04:04.0" as Timestamp },
  { timestamp: "2026-01-02 03:04:07.0" as Timestamp },
] as const;

describe("signed approvals", () => {
  test.each(ALL)(
    "are verified, and their answers as far as those are in the export: %s",
    async (kind) => {
      const signer = KINDS[kind]();
      const keys = [{ person: "ada", key: signer.key }];
      const bare = await evidenceOf([signedBy(signer)], { keys });
      const full = await evidenceOf([signedBy(signer)], { keys, hasContent: true });
      expect([await check(bare.lines), await check(full.lines)]).toEqual([
        {
          codes: [],
          signed: 1,
          unchecked: 1,
          findings: new Map(),
          notJudged: { answer_missing: 1 },
        },
        { codes: [], signed: 2, unchecked: 0, findings: new Map(), notJudged: {} },
      ]);
    },
  );

  test.each(ALL)(
    "cannot be verified once their key is gone, which the export says: %s",
    async (kind) => {
      const { lines } = await evidenceOf([signedBy(KINDS[kind]())], { hasContent: true });
      const findings = new Map([["key_missing", 2]]);
      const notJudged = { signature_missing: 2 };
      expect(await check(lines)).toEqual({
        codes: [],
        signed: 0,
        unchecked: 0,
        findings,
        notJudged,
      });
    },
  );

  test.each(ALL)(
    "are rejected with the key of someone else, and in the name of someone else: %s",
    async (kind) => {
      counters("T-SIGN-2");
      const signer = KINDS[kind]();
      const other = { ...KINDS[kind]().key, id: signer.key.id };
      const others = await evidenceOf([signedBy(signer)], {
        keys: [{ person: "ada", key: other }],
      });
      expect((await check(others.lines)).codes).toEqual(BAD);
      const eve = { ...ADA, name: "eve" };
      const stolen = { ...APPROVED, signature: signer.sign(APPROVED), decidedBy: eve };
      const answered = { ...ANSWERED, signature: signer.sign(ANSWERED) };
      const keys = ["ada", "eve"].map((person) => ({ person, key: signer.key }));
      const { lines } = await evidenceOf([kept(stolen, answered)], { keys });
      expect((await check(lines)).codes).toEqual(BAD);
    },
  );

  test.each(ALL)("are rejected if they are of something else: %s", async (kind) => {
    counters("T-SIGN-2");
    const signer = KINDS[kind]();
    const answered = { ...ANSWERED, signature: signer.sign(ANSWERED) };
    const keys = [{ person: "ada", key: signer.key }];
    for (const changed of OTHERS) {
      const signature = signer.sign({ ...APPROVED, ...changed });
      const { lines } = await evidenceOf([kept({ ...APPROVED, signature }, answered)], { keys });
      expect((await check(lines)).codes).toEqual(BAD);
    }
  });

  test.each(ALL)(
    "are rejected if the answer that was signed is not the one that is shown: %s",
    async (kind) => {
      counters("T-SIGN-2");
      const signer = KINDS[kind]();
      const keys = [{ person: "ada", key: signer.key }];
      const signed = { ...ANSWERED, answer: "red" };
      const denied = { ...APPROVED, decision: "denied" } as const;
      const approved = { ...APPROVED, signature: signer.sign(APPROVED) };
      const answered = { ...ANSWERED, signature: signer.sign(ANSWERED) };
      const forgeries = [
        kept(approved, { ...ANSWERED, signature: signer.sign(signed) }),
        kept({ ...APPROVED, signature: signer.sign(denied) }, answered),
      ];
      for (const [index, forged] of forgeries.entries()) {
        const { lines } = await evidenceOf([forged], { keys, hasContent: index === 0 });
        const [from, to] = index === 0 ? ["blue", "red"] : [true, false];
        const shown = changeApproval(lines, (approval) =>
          approval["answer"] === from ? { ...approval, answer: to } : approval,
        );
        expect((await check(shown)).codes).toEqual(BAD);
      }
    },
  );

  test.each(ALL)(
    "are rejected if anything in them is changed, by whoever has the key of the export: %s",
    async (kind) => {
      counters("T-SIGN-2");
      const signer = KINDS[kind]();
      const keys = [{ person: "ada", key: signer.key }];
      const { lines } = await evidenceOf([signedBy(signer)], { keys, hasContent: true });
      const fields = kind === "passkey" ? ["authenticator_data", "client_data"] : [];
      for (const field of ["type", "key", "nonce", "sig", ...fields]) {
        const changed = changeApproval(lines, ({ signature, ...rest }) => {
          const json = signature as JsonObject;
          return { ...rest, signature: { ...json, [field]: flip(JSON.stringify(json[field])) } };
        });
        expect((await check(changed)).codes).toEqual(BAD);
      }
      const other = changeApproval(lines, (approval) => ({ ...approval, answer: "red" }));
      expect((await check(other)).codes).toEqual(BAD);
    },
  );
});

/** Another letter in the middle of what is written in quotes. */
function flip(quoted: string): string {
  const text = quoted.slice(1, -1);
  const middle = Math.floor(text.length / 2);
  const letter = text[middle] === "A" ? "B" : "A";
  return `${text.slice(0, middle)}${letter}${text.slice(middle + 1)}`;
}

/** All of them. The totals at the end are made to fit. */
function changeApproval(lines: readonly string[], change: (predicate: JsonObject) => JsonObject) {
  const payloads = createHash("sha256");
  return lines.map((line) => {
    const { payload } = JSON.parse(line) as { readonly payload: string };
    const json = JSON.parse(Buffer.from(payload, "base64").toString("utf8")) as JsonObject;
    const type = JSON.stringify(json["predicateType"]);
    let { predicate, subject } = json as Readonly<Record<string, JsonObject>>;
    if (type.includes(":approval:")) {
      predicate = change(predicate ?? {});
      const digest = sha256(canonicalJson(predicate["signature"] ?? null));
      const [{ name }] = subject as unknown as readonly [{ readonly name: string }];
      subject = [{ name, digest: { sha256: digest } }] as unknown as JsonObject;
    }
    if (type.includes(":end:")) {
      const total = payloads.copy().digest("hex");
      predicate = { ...predicate, payloads: total };
      subject = [{ name: "payloads", digest: { sha256: total } }] as unknown as JsonObject;
    }
    const bytes = Buffer.from(JSON.stringify({ ...json, predicate, subject }));
    payloads.update(createHash("sha256").update(bytes).digest("hex"));
    return signLine(bytes, SIGNER);
  });
}

test("an approval without the signature that it needed is found, unless it was made void before it was used", async () => {
  counters("T-SIGN-1");
  const unsigned = kept(APPROVED, ANSWERED);
  const bare = await evidenceOf([unsigned]);
  const full = await evidenceOf([unsigned], { hasContent: true });
  expect([await check(bare.lines), await check(full.lines)]).toMatchObject([
    { codes: ["terms_not_met"], rulings: { unsigned: 1 }, notJudged: { answer_missing: 1 } },
    { codes: ["terms_not_met"], rulings: { unsigned: 2 } },
  ]);
  const no = kept({ ...APPROVED, decision: "denied" }, { ...ANSWERED, answer: false });
  const refused = await evidenceOf([no], { hasContent: true });
  expect((await check(refused.lines)).codes).toEqual([]);
  const owner = { ...APPROVED, decidedBy: { ...ADA, auth: "owner" } };
  const owned = await evidenceOf([kept(owner, { ...ANSWERED, answer: false })]);
  expect(await check(owned.lines)).toMatchObject({ rulings: { no_people: 1 } });
  const madeVoid: ConversationEvent = {
    type: "decision_void",
    timestamp: AT,
    id: "a:run:1" as InquiryId,
    changed: ["person"],
  };
  const { entries } = kept(APPROVED, { ...ANSWERED, answer: false });
  const codesWith = async (position: number) => {
    const voided = entries.toSpliced(position, 0, StreamEntry.fromEvent(madeVoid));
    const other = { id: ID, chain: chainOf(ID, voided), entries: voided };
    return (await check((await evidenceOf([other])).lines)).codes;
  };
  expect([await codesWith(4), await codesWith(5)]).toEqual([[], ["terms_not_met"]]);
});

test("a link says that someone has signed, and with what", () => {
  const authentications = Object.values(KINDS).map((make) => {
    const sheet = new DecisionSheet(ID);
    const rows = signedBy(make()).chain.flatMap(({ link }) => sheet.read(link));
    return rows.map(({ authentication }) => authentication);
  });
  expect(authentications).toEqual([
    ["key", "key"],
    ["passkey", "passkey"],
  ]);
});
