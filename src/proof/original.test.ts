/** Evidence of records that the Rust original has saved since: it drops fields from the events that it knows. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  answered,
  attemptStart,
  decisionVoid,
  inquiry,
  permission,
  permissionRequest,
  subjectOf,
  toolResult,
  toolStep,
  turnUndo,
} from "../record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type InquiryId,
  StreamEntry,
} from "../record/conversation/index.ts";
import {
  forkedByOriginal,
  savedByOriginal,
} from "../record/conversation/original-record.fixture.ts";
import type { JsonObject } from "../util/index.ts";
import { anyDecided, keptOf, keysOf, signed, type UserDecider } from "./decided.fixture.ts";
import { evidenceOf, type Kept } from "./evidence.fixture.ts";
import { verifyEvidence } from "./verify.ts";

const ADA: UserDecider = { kind: "user", channel: "desk", name: "ada", auth: "token" };
const BO: UserDecider = { ...ADA, name: "bo" };
const SUBJECT = subjectOf("a");
const { digest } = SUBJECT;

/** A call that two people sign for, a step, and a signed answer to a question that was asked again. */
const EVENTS: readonly ConversationEvent[] = [
  { ...permissionRequest("a"), subject: SUBJECT, terms: { quorum: 2, isSigned: true } },
  signed({
    type: "decision_vote",
    timestamp: permission("a").timestamp,
    id: "a:run:1" as InquiryId,
    toolCallId: "a",
    by: ADA,
    decision: "approved",
    digest,
  }),
  signed({ ...permission("a"), id: "a:run:1" as InquiryId, decidedBy: BO, digest }),
  attemptStart("a"),
  toolStep("a", "upload", { bytes: 3 }),
  { ...inquiry("a.q.1"), toolCallId: "a", subject: SUBJECT },
  answered("a.q.1"),
  decisionVoid("a.q.1", "file"),
  { ...inquiry("a.q.2"), toolCallId: "a", subject: SUBJECT, replaces: "a.q.1" as InquiryId },
  signed({ ...answered("a.q.2"), answeredBy: BO, digest } as ConversationEvent & {
    type: "inquiry_response";
  }),
  toolResult("a"),
  turnUndo(0),
];

/** Has the original write the record, which leaves the chain as it is. */
function after(
  { entries, ...kept }: Kept,
  write: (elements: readonly JsonObject[]) => readonly JsonObject[],
): Kept {
  return {
    ...kept,
    entries: write(entries.map(({ raw }) => raw)).map((element) => StreamEntry.fromJson(element)),
  };
}

async function verified(kept: Kept) {
  const { lines, summary } = await evidenceOf([kept], { keys: keysOf(), hasContent: true });
  const { problems, ...found } = await verifyEvidence([Buffer.from(lines.join(""))]);
  return { ...found, codes: problems.map(({ code }) => code), found: summary.findings };
}

describe("evidence of a record that the Rust original has saved", () => {
  test("still has votes, voids and signatures on calls, and names the answers that were rewritten", async () => {
    const kept = keptOf(EVENTS);
    const before = await verified(kept);
    const saved = await verified(after(kept, savedByOriginal));
    expect([before.codes, before.found, before.counts.signed]).toEqual([[], {}, 3]);
    // Two questions, two answers and a result: their links lost the events as they were.
    expect([saved.codes, saved.found]).toEqual([[], { event_missing: 5, link_missing: 5 }]);
    expect(saved.counts).toMatchObject({ links: 11, judged: 2, signed: 2 });
  });

  test("has no chain in a fork by the original, which takes over answers but no decisions about calls", async () => {
    const fork = after(keptOf(EVENTS), forkedByOriginal);
    const { codes, found } = await verified({ ...fork, chain: [] });
    expect([codes, found]).toEqual([[], { no_chain: 4 }]);
  });

  test("accuses no one of anything that the record before did not show", async () => {
    await fc.assert(
      fc.asyncProperty(anyDecided, async (kept) => {
        const isReadable = kept.entries.every(
          ({ raw }) => !JSON.stringify(raw).includes('"secret"'),
        );
        fc.pre(isReadable);
        const before = await verified(kept);
        const { codes } = await verified(after(kept, savedByOriginal));
        expect(codes.filter((code) => !before.codes.includes(code))).toEqual([]);
      }),
    );
  });
});
