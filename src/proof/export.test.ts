import { describe, expect, test } from "vitest";
import {
  ChainBuilder,
  type ChainLine,
  hashLink,
  StreamEntry,
} from "../record/conversation/index.ts";
import { StorageError } from "../stores/index.ts";
import { FakeClock } from "../testing/index.ts";
import type { JsonObject } from "../util/index.ts";
import { chainOf, ENTRIES, evidenceOf, ID, type Kept, SIGNER } from "./evidence.fixture.ts";
import { exportEvidence } from "./export.ts";
import { verifyEvidence } from "./verify.ts";

const WHOLE: Kept = { id: ID, chain: chainOf(ID, ENTRIES), entries: ENTRIES };

interface Payload {
  readonly predicateType: string;
  readonly subject: readonly JsonObject[];
  readonly predicate: JsonObject;
}

function payloadsOf(lines: readonly string[]): readonly Payload[] {
  return lines.map((line) => {
    const { payload } = JSON.parse(line) as { readonly payload: string };
    return JSON.parse(Buffer.from(payload, "base64").toString("utf8")) as Payload;
  });
}

/** What was found, in order, with the code first. */
async function findingsIn(kept: Kept): Promise<readonly unknown[]> {
  const { lines, summary } = await evidenceOf([kept]);
  const found = payloadsOf(lines).filter(({ predicateType }) =>
    predicateType.includes(":finding:"),
  );
  const total = Object.values(summary.findings).reduce((sum, count) => sum + count, 0);
  expect(total).toBe(found.length);
  return found.map(({ predicate: { code, about } }) => [code, about]);
}

describe("an export", () => {
  test("has a statement for each link, between one that names the key and one that counts", async () => {
    const { lines } = await evidenceOf([WHOLE], { filters: { since: "today" } });
    const payloads = payloadsOf(lines);
    expect(payloads.map(({ predicateType }) => predicateType.split(":").at(-2))).toEqual([
      "export",
      ...WHOLE.chain.map(() => "link"),
      "end",
    ]);
    const last = WHOLE.chain.at(-1) as ChainLine;
    expect([payloads[0], payloads.at(-2), payloads.at(-1)]).toMatchObject([
      {
        _type: "https://in-toto.io/Statement/v1",
        subject: [{ name: "machine key", digest: { sha256: SIGNER.key.id } }],
        predicate: { index: 0, key: SIGNER.key.text, content: false, filters: { since: "today" } },
      },
      {
        subject: [{ name: `${ID}/6`, digest: { sha256: hashLink(last.link) } }],
        predicate: { index: 7, conversation: ID, link: last.link.json },
      },
      {
        predicate: {
          index: 8,
          count: 9,
          conversations: [{ conversation: ID, length: 7, head: hashLink(last.link) }],
        },
      },
    ]);
  });

  test("has neither events nor salts without contents", async () => {
    const { lines } = await evidenceOf([WHOLE]);
    const text = JSON.stringify(payloadsOf(lines));
    expect([text.includes("salt"), text.includes("Go on?")]).toEqual([false, false]);
  });

  test("has each event once with contents, beside the link that commits to it", async () => {
    const { lines, summary } = await evidenceOf([WHOLE], { hasContent: true });
    const contents = payloadsOf(lines).flatMap(({ predicateType, predicate }) =>
      predicateType.includes(":content:") ? [predicate] : [],
    );
    expect(contents.map(({ seq, event }) => [seq, (event as JsonObject)["type"]])).toEqual([
      [1, "permission_request"],
      [2, "permission_decision"],
      [3, "attempt_start"],
      [4, "inquiry_request"],
      [5, "inquiry_response"],
      [6, "tool_call_response"],
    ]);
    expect(summary.contents).toBe(6);
  });

  test("leaves out conversations in which nothing was decided", async () => {
    const { summary } = await evidenceOf([{ id: ID, chain: [], entries: ENTRIES.slice(0, 2) }]);
    expect(summary.conversations).toEqual([]);
  });
});

describe("an export names", () => {
  test("links whose events are no longer in the record", async () => {
    const entries = ENTRIES.filter(({ eventType }) => eventType !== "inquiry_response");
    expect(await findingsIn({ ...WHOLE, entries })).toEqual([["event_missing", { seq: 5 }]]);
  });

  test("events that have changed since, as gone and as without a link", async () => {
    const entries = ENTRIES.map((entry) =>
      entry.eventType === "permission_decision"
        ? StreamEntry.fromJson({ ...entry.raw, decision: "denied" })
        : entry,
    );
    expect(await findingsIn({ ...WHOLE, entries })).toEqual([
      ["link_missing", expect.objectContaining({ type: "permission_decision", call: "a" })],
      ["event_missing", { seq: 2 }],
    ]);
  });

  test("events without a link by where they are in the record", async () => {
    const builder = new ChainBuilder(ID);
    const linked = [ENTRIES[3], ENTRIES[5]].flatMap((entry) => entry ?? []);
    const chain = [builder.start(), ...linked.map((entry) => builder.event(entry, "salt"))];
    const found = await findingsIn({ ...WHOLE, chain });
    expect(found.map((each) => (each as readonly unknown[])[0])).toEqual([
      "before_chain",
      "link_missing",
      "link_pending",
      "link_pending",
    ]);
  });

  test("events of a conversation that has no chain", async () => {
    const found = await findingsIn({ ...WHOLE, chain: [] });
    expect(found).toHaveLength(6);
    expect(found[0]).toEqual(["no_chain", expect.objectContaining({ id: "a:run:1" })]);
  });

  test("lines of the chain that cannot be read, and links without a salt", async () => {
    const [start, first, ...others] = chainOf(ID, ENTRIES);
    const chain = [
      ...(start === undefined || first === undefined ? [] : [start, { link: first.link }]),
      { line: 3, problem: "not JSON" },
      ...others,
    ];
    expect(await findingsIn({ ...WHOLE, chain })).toEqual([
      ["salt_missing", { seq: 1 }],
      ["unreadable_line", { line: 3 }],
      ["before_chain", expect.anything()],
    ]);
  });

  test.each(["read_failed", "conversation_not_found"] as const)(
    "a record that cannot be read, and goes on with the next conversation: %s",
    async (code) => {
      const lines: string[] = [];
      const store = {
        async *readChain() {
          yield* WHOLE.chain as readonly ChainLine[];
        },
        scan: () => {
          throw new StorageError(code, "no");
        },
      };
      const { findings } = await exportEvidence(
        { store, conversations: [ID], signer: SIGNER, clock: new FakeClock(), tool: "jp" },
        (line) => void lines.push(line),
      );
      expect(findings).toEqual({ unreadable_record: 1 });
      expect((await verifyEvidence([Buffer.from(lines.join(""))])).problems).toEqual([]);
    },
  );

  test("conversations whose chain is broken", async () => {
    const chain = WHOLE.chain.toSpliced(2, 1);
    const { summary } = await evidenceOf([{ ...WHOLE, chain }]);
    expect(summary.broken).toEqual([ID]);
  });
});
