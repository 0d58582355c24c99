import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import {
  at,
  attemptStart,
  decisionVoid,
  entriesOf,
  permission,
  permissionRequest,
  subjectOf,
  toolCall,
  toolResult,
  turnStart,
} from "../record/conversation/events.fixture.ts";
import type { ConversationEvent } from "../record/conversation/index.ts";
import { chainOf, ID } from "./evidence.fixture.ts";
import {
  type DecisionRow,
  DecisionSheet,
  reportToCsv,
  reportToMarkdown,
  Sample,
} from "./report.ts";

function rowsOf(...events: readonly ConversationEvent[]): readonly DecisionRow[] {
  const sheet = new DecisionSheet(ID);
  const links = chainOf(ID, entriesOf(turnStart(), toolCall("a"), ...events));
  return [...links.flatMap(({ link }) => sheet.read(link)), ...sheet.end()];
}

const SHOWN = subjectOf("the call");
const BY_ANA = { kind: "user", channel: "desk", name: "Ana", auth: "token" } as const;
const ASKED = { ...permissionRequest("a"), subject: SHOWN };
const APPROVED = {
  ...permission("a"),
  id: ASKED.id,
  timestamp: at(1),
  digest: SHOWN.digest,
  decidedBy: BY_ANA,
};

function resultOf(...events: readonly ConversationEvent[]): string | undefined {
  return rowsOf(...events)[0]?.result;
}

describe("a decision in a report", () => {
  test("says who, how they were authenticated, what was shown, when, and what came of it", () => {
    expect(rowsOf(ASKED, APPROVED, attemptStart("a"), toolResult("a"))).toEqual([
      {
        conversation: ID,
        seq: 2,
        link: expect.stringMatching(/^[0-9a-f]{64}$/),
        about: "run",
        tool: "a_tool",
        decision: "approved",
        kind: "user",
        name: "Ana",
        surface: "desk",
        authentication: "token",
        shown: SHOWN.digest,
        decided: SHOWN.digest,
        policy: "",
        askedAt: at(0),
        decidedAt: at(1),
        result: "succeeded",
        isRebuilt: false,
      },
    ]);
  });

  test("names the policy that decided unasked, with the digests of its rules and of their files", () => {
    const file = "f".repeat(64);
    const rules = [{ from: "user", key: "policy.run[0]", file, rule: { tool: "a_tool" } }];
    const decidedBy = { kind: "policy", key: "conversation.tools.a_tool.run", rules } as const;
    const [row] = rowsOf({ ...permission("a"), decidedBy });
    expect(row).toMatchObject({
      kind: "policy",
      authentication: "",
      shown: "",
      policy: expect.stringMatching(
        /^conversation\.tools\.a_tool\.run; user policy\.run\[0\] [0-9a-f]{64} f{64}$/,
      ),
    });
  });

  test("has the result of its call", () => {
    const delivered = { ...permission("a"), action: "deliver" } as const;
    expect([
      resultOf(APPROVED),
      resultOf(APPROVED, attemptStart("a")),
      resultOf(APPROVED, attemptStart("a"), { ...toolResult("a"), isError: true }),
      resultOf({ ...APPROVED, decision: "denied" }, toolResult("a")),
      resultOf(delivered, toolResult("a")),
      resultOf({ ...delivered, decision: "denied" }, toolResult("a")),
      resultOf(APPROVED, decisionVoid(ASKED.id, "arguments")),
    ]).toEqual(["open", "started", "failed", "not_run", "delivered", "withheld", "void"]);
  });
});

describe("a sample", () => {
  const rows = rowsOf(APPROVED).flatMap((row) =>
    Array.from({ length: 50 }, (_, seq) => ({ ...row, seq, link: `link ${seq}` })),
  );

  function seqsOf(size: number, seed: string, pieces = 1): readonly number[] {
    const sample = new Sample(size, seed);
    const length = Math.ceil(rows.length / pieces);
    for (let from = 0; from < rows.length; from += length)
      sample.add(rows.slice(from, from + length));
    expect(sample.total).toBe(50);
    return sample.rows.map(({ seq }) => seq);
  }

  test("has as many as wanted, in order, the same for the same seed and others for another", () => {
    const chosen = seqsOf(20, "by the auditor");
    expect(chosen).toHaveLength(20);
    expect(chosen).toEqual(chosen.toSorted((left, right) => left - right));
    expect(seqsOf(20, "by the auditor", 50)).toEqual(chosen);
    expect(seqsOf(20, "another")).not.toEqual(chosen);
  });

  test("has all decisions if there are fewer", () => {
    expect(seqsOf(80, "")).toHaveLength(50);
  });
});

describe("a name in a report", () => {
  const rows = rowsOf({ ...APPROVED, tool: '=1+1|[x](http://e)\u001b[2J,"', id: ASKED.id });

  test("is no formula and no other cell in CSV", () => {
    counters("T-PROOF-5");
    const [, line] = reportToCsv(rows);
    expect(line).toContain(`/1,run,"'=1+1|[x](http://e)␛[2J,""",approved,`);
  });

  test("is neither a link nor another cell in Markdown", () => {
    counters("T-PROOF-5");
    const text = reportToMarkdown(rows, { total: 1, seed: "" }).join("\n");
    expect(text).toContain(String.raw`| =1\+1\|\[x\]\(http://e\)␛\[2J," |`);
    expect(text).toContain("1 of 1 decisions");
  });
});
