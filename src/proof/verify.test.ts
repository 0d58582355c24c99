import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { verify as verifyAlone } from "../../examples/evidence-verifier/verify.ts";
import {
  ChainBuilder,
  type ChainLine,
  hashLink,
  parseConversationId,
} from "../record/conversation/index.ts";
import { counters } from "../../test/security/threats.ts";
import { sha256 } from "../util/index.ts";
import { digestOfDocument, documentToText } from "./anchor.ts";
import { createAuthority, serveAuthority, useOpenssl } from "./authority.fixture.ts";
import { signLine } from "./dsse.ts";
import {
  anchorsOf,
  chainOf,
  ENTRIES,
  evidenceOf,
  GIT_PROOF,
  headOf,
  ID,
  SIGNER,
  WORKSPACE,
} from "./evidence.fixture.ts";
import { generateSigner } from "./machine-key.ts";
import { requestTimestamp } from "./timestamp.ts";
import { type EvidenceProblem, verifyEvidence, type VerifyOptions } from "./verify.ts";
import { parseCertificates } from "./verify-anchors.ts";

const OTHER = parseConversationId("jp-c17673230999");
const WHOLE = { id: ID, chain: chainOf(ID, ENTRIES), entries: ENTRIES };

/** Nine lines: the header, seven links and the end. */
async function genuine(): Promise<readonly string[]> {
  return (await evidenceOf([WHOLE])).lines;
}

/** What jp says, which the other verifier says too. */
async function problemsOf(
  lines: readonly string[],
  expectedKey?: string,
): Promise<readonly EvidenceProblem[]> {
  const bytes = Buffer.from(lines.join(""));
  const options = expectedKey === undefined ? {} : { expectedKey };
  const { problems } = await verifyEvidence([bytes], options);
  const codes = problems.map(({ code }) => code).toSorted();
  expect(verifyAlone(bytes, expectedKey).problems).toEqual(codes);
  return problems;
}

/** The same payloads, changed and signed by whoever has the key. */
function signedAgain(lines: readonly string[], change: (payload: string) => string) {
  return lines.map((line) => {
    const { payload } = JSON.parse(line) as { readonly payload: string };
    const text = Buffer.from(payload, "base64").toString("utf8");
    return signLine(Buffer.from(change(text)), SIGNER);
  });
}

describe("an export that no one has changed is verified", () => {
  test("with the expected key, and without one", async () => {
    const lines = await genuine();
    expect([await problemsOf(lines, SIGNER.key.id), await problemsOf(lines)]).toEqual([[], []]);
  });

  test("however it comes in pieces", async () => {
    const bytes = Buffer.from((await genuine()).join(""));
    const pieces = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
    expect((await verifyEvidence(pieces)).counts.links).toBe(7);
  });

  test("with its gaps, rebuilt links and findings, which are counted", async () => {
    const builder = new ChainBuilder(ID);
    const linked = ENTRIES.slice(2, 5).map((entry) => [entry] as const);
    const chain: ChainLine[] = [builder.start(), builder.gap("torn")];
    for (const [entry] of linked) chain.push(builder.event(entry, "salt", true));
    const { lines } = await evidenceOf([{ ...WHOLE, chain }], { hasContent: true });
    const { problems, counts } = await verifyEvidence([Buffer.from(lines.join(""))]);
    expect([problems, counts]).toEqual([
      [],
      {
        statements: 13,
        conversations: 1,
        links: 5,
        contents: 3,
        signed: 0,
        unchecked: 0,
        judged: 1,
        ownerStoodIn: 0,
        notJudged: new Map(),
        rebuilt: 3,
        anchored: 0,
        gaps: new Map([["torn", 1]]),
        findings: new Map([["link_pending", 3]]),
        unknown: 0,
      },
    ]);
  });

  test("with links of a newer version, which are counted", async () => {
    const [start] = WHOLE.chain as readonly [ChainLine];
    const link = { kind: "anchor", version: 3, seq: 1, prev: hashLink(start.link) };
    const chain = [start, { link: { ...link, json: link } }];
    const { lines } = await evidenceOf([{ ...WHOLE, chain, entries: [] }]);
    const { counts } = await verifyEvidence([Buffer.from(lines.join(""))]);
    expect([await problemsOf(lines), counts.unknown]).toEqual([[], 1]);
  });
});

describe("both verifiers refuse an export", () => {
  test("in which a field was changed: bad_signature", async () => {
    const lines = await genuine();
    const [forged = ""] = signedAgain([lines[3] ?? ""], (text) => text.replace("user", "nobody"));
    const { payload } = JSON.parse(forged) as { readonly payload: string };
    const line = `${JSON.stringify({ ...(JSON.parse(lines[3] ?? "") as object), payload })}\n`;
    expect(await problemsOf(lines.with(3, line))).toEqual([
      { code: "bad_signature", line: 4, count: 1 },
    ]);
  });

  test("in which lines are in another order: out_of_order", async () => {
    const lines = await genuine();
    const swapped = lines.with(3, lines[4] ?? "").with(4, lines[3] ?? "");
    expect(await problemsOf(swapped)).toEqual([{ code: "out_of_order", line: 5, count: 1 }]);
  });

  test("in which the second of three missing lines comes later: out_of_order, and missing for the two beside it", async () => {
    const lines = await genuine();
    const late = lines.toSpliced(2, 3).toSpliced(4, 0, lines[3] ?? "");
    expect(await problemsOf(late)).toEqual([
      { code: "missing", line: 3, count: 2 },
      { code: "out_of_order", line: 5, count: 1 },
    ]);
  });

  test("from which lines were removed: missing, truncated, no_header", async () => {
    const lines = await genuine();
    expect([
      await problemsOf(lines.toSpliced(3, 2)),
      await problemsOf(lines.slice(0, -2)),
      await problemsOf(lines.slice(1)),
      await problemsOf([]),
    ]).toEqual([
      [{ code: "missing", line: 4, count: 1 }],
      [{ code: "truncated", line: 7, count: 1 }],
      [{ code: "no_header", line: 1, count: 1 }],
      [{ code: "truncated", line: 0, count: 1 }],
    ]);
  });

  test("whose last line was cut, and be it by its newline: truncated", async () => {
    const lines = await genuine();
    const cut = (length: number) => problemsOf([lines.join("").slice(0, -length)]);
    const truncated = [{ code: "truncated", line: 9, count: 1 }];
    expect([await cut(1), await cut(20)]).toEqual([truncated, truncated]);
  });

  test("in which a line comes twice: repeated", async () => {
    const lines = await genuine();
    expect(await problemsOf(lines.toSpliced(5, 0, lines[2] ?? ""))).toEqual([
      { code: "repeated", line: 6, count: 1 },
    ]);
  });

  test("that was joined from two: foreign_export", async () => {
    const [lines, other] = [await genuine(), await genuine()];
    expect(await problemsOf([...lines.slice(0, 4), ...other.slice(4)])).toEqual([
      { code: "foreign_export", line: 5, count: 5 },
    ]);
  });

  test("in which a signature is used again: bad_signature", async () => {
    const lines = await genuine();
    const { signatures } = JSON.parse(lines[2] ?? "") as { readonly signatures: unknown };
    const line = `${JSON.stringify({ ...(JSON.parse(lines[3] ?? "") as object), signatures })}\n`;
    expect(await problemsOf(lines.with(3, line))).toEqual([
      { code: "bad_signature", line: 4, count: 1 },
    ]);
  });

  test("with a line that jp would not write: malformed", async () => {
    const lines = await genuine();
    const [line = ""] = lines.slice(3, 4);
    const unusual = [line.replace("{", "{ "), line.replace("\n", "\r\n"), "\n", "[]\n"];
    for (const each of unusual) {
      expect(await problemsOf(lines.with(3, each))).toEqual([
        { code: "malformed", line: 4, count: 1 },
      ]);
    }
  });

  test("in which one line is signed with another key, or names one: wrong_key", async () => {
    const lines = await genuine();
    const { payload } = JSON.parse(lines[3] ?? "") as { readonly payload: string };
    const other = generateSigner();
    const forged = signLine(Buffer.from(payload, "base64"), other);
    const renamed = (lines[3] ?? "").replace(SIGNER.key.id, other.key.id);
    for (const line of [forged, renamed]) {
      expect(await problemsOf(lines.with(3, line))).toEqual([
        { code: "wrong_key", line: 4, count: 1 },
      ]);
    }
  });

  test("that someone signed with a key of their own: wrong_key", async () => {
    const { lines } = await evidenceOf([WHOLE], { signer: generateSigner() });
    expect([await problemsOf(lines), await problemsOf(lines, SIGNER.key.id)]).toEqual([
      [],
      [{ code: "wrong_key", line: 1, count: 1 }],
    ]);
  });

  test("with something after its end: after_end", async () => {
    const lines = await genuine();
    const later = signedAgain(lines.slice(-2, -1), (text) =>
      text.replace('"index":7', '"index":9'),
    );
    expect(await problemsOf([...lines, ...later])).toEqual([
      { code: "after_end", line: 10, count: 1 },
    ]);
  });
});

/** Whoever has the key can sign anything. What they sign still has to make sense. */
describe("both verifiers refuse what was signed", () => {
  test("but is not a chain: broken_chain", async () => {
    const { lines } = await evidenceOf([{ ...WHOLE, chain: WHOLE.chain.toSpliced(2, 1) }]);
    expect(await problemsOf(lines)).toMatchObject([{ code: "broken_chain", line: 4 }]);
  });

  test("but is the chain of another conversation: broken_chain", async () => {
    const { lines } = await evidenceOf([WHOLE]);
    const renamed = signedAgain(lines, (text) =>
      text
        .replaceAll(`"conversation":"${ID}","link"`, '"conversation":"jp-c1","link"')
        .replaceAll(`"name":"${ID}/`, '"name":"jp-c1/'),
    );
    expect((await problemsOf(renamed)).map(({ code }) => code)).toEqual([
      "broken_chain",
      "wrong_total",
    ]);
  });

  test("with a subject of something else: bad_subject", async () => {
    const digest = sha256("something else");
    const lines = signedAgain(await genuine(), (text) =>
      text.replace(/"name":"[^"]*\/3","digest":\{"sha256":"[^"]*"/, (found) =>
        found.replace(/[0-9a-f]{64}/, digest),
      ),
    );
    expect((await problemsOf(lines)).map(({ code }) => code)).toContain("bad_subject");
  });

  test("with another event than its link commits to: commitment_mismatch", async () => {
    const { lines } = await evidenceOf([WHOLE], { hasContent: true });
    const changed = signedAgain(lines, (text) =>
      text.replace('"salt":"salt-2"', '"salt":"salt-x"'),
    );
    expect((await problemsOf(changed)).map(({ code }) => code)).toEqual([
      "commitment_mismatch",
      "wrong_total",
    ]);
  });

  test("with an event that no link commits to: unknown_link", async () => {
    const { lines } = await evidenceOf([WHOLE], { hasContent: true });
    const changed = signedAgain(lines, (text) =>
      text.replace('"seq":3,"salt"', '"seq":9,"salt"').replace("/3/event", "/9/event"),
    );
    expect((await problemsOf(changed)).map(({ code }) => code)).toEqual([
      "unknown_link",
      "wrong_total",
    ]);
  });

  test("with other totals: wrong_total", async () => {
    const lines = signedAgain(await genuine(), (text) => text.replace('"length":7', '"length":6'));
    expect(await problemsOf(lines)).toEqual([{ code: "wrong_total", line: 9, count: 1 }]);
  });

  test("but is not a statement that jp makes: malformed", async () => {
    const lines = await genuine();
    const [odd = ""] = signedAgain(lines.slice(3, 4), (text) =>
      text.replace('"link":{', '"links":{'),
    );
    expect(await problemsOf(lines.with(3, odd))).toEqual([
      { code: "malformed", line: 4, count: 1 },
    ]);
  });

  test("by a newer version: newer_version", async () => {
    const lines = signedAgain(await genuine(), (text) =>
      text.replace('"version":1,"tool"', '"version":2,"tool"'),
    );
    expect(await problemsOf(lines)).toEqual([{ code: "newer_version", line: 1, count: 1 }]);
  });
});

describe("an export with anchors", () => {
  const HEADS = [headOf(WHOLE, 2), headOf(WHOLE, 5)];
  const ANCHORED = anchorsOf([
    [headOf({ ...WHOLE, id: OTHER }, 3), ...HEADS.slice(0, 1)],
    HEADS.slice(1),
  ]);

  async function anchored(): Promise<readonly string[]> {
    return (await evidenceOf([WHOLE], { anchored: ANCHORED })).lines;
  }

  test("says which links were anchored, and where", async () => {
    const lines = await anchored();
    expect(await problemsOf(lines)).toEqual([]);
    const { counts, anchors } = await verifyEvidence([Buffer.from(lines.join(""))]);
    const [first, second] = ANCHORED.anchors.map(({ document }) => digestOfDocument(document));
    expect([counts.anchored, anchors]).toMatchObject([
      5,
      [
        { sha256: first, heads: 1, by: { ...GIT_PROOF, isFound: false } },
        { sha256: second, heads: 1, by: { ...GIT_PROOF, isFound: false } },
      ],
    ]);
    expect(verifyAlone(Buffer.from(lines.join(""))).anchors).toEqual([
      { sha256: first, proof: GIT_PROOF },
      { sha256: second, proof: GIT_PROOF },
    ]);
  });

  test("shows neither other conversations nor the workspace", async () => {
    counters("T-ANCHOR-4");
    const text = (await anchored())
      .map((line) => Buffer.from((JSON.parse(line) as { payload: string }).payload, "base64"))
      .join("");
    expect([text.includes(OTHER), text.includes(WORKSPACE)]).toEqual([false, false]);
  });

  test("is refused if the chain was rewritten and signed again", async () => {
    counters("T-ANCHOR-1");
    const chain = chainOf(ID, ENTRIES, () => true);
    const { lines: rewritten } = await evidenceOf([{ ...WHOLE, chain }]);
    const lines = await anchored();
    // The links of one, and the heads and anchors of the other.
    const spliced = [...rewritten.slice(0, 8), ...lines.slice(8)];
    const { export: id } = predicateOf(rewritten[0]);
    const { export: other } = predicateOf(lines[0]);
    const all = signedAgain(spliced, (text) => text.replaceAll(String(other), String(id)));
    expect(await codesOf(all)).toEqual(["anchor_mismatch", "wrong_total"]);
  });

  test("is refused if an anchor is one of something else", async () => {
    counters("T-ANCHOR-1");
    const [digest = ""] = ANCHORED.anchors[1]?.document.heads ?? [];
    const lines = await anchored();
    const other = anchorsOf([[{ ...headOf(WHOLE, 5), length: 6 }]]).anchors[0]?.document.heads[0];
    const replaced = signedAgain(lines, (text) =>
      text.includes(":anchor:") ? text.replace(digest, other ?? "") : text,
    );
    expect(await codesOf(replaced)).toEqual(["bad_subject"]);
    const without = lines.filter((line) => !isOf(line, "anchor"));
    const renumbered = without.map((line, index) =>
      signLine(
        Buffer.from(
          Buffer.from((JSON.parse(line) as { payload: string }).payload, "base64")
            .toString("utf8")
            .replace(/"index":\d+/, `"index":${index}`),
        ),
        SIGNER,
      ),
    );
    expect(await codesOf(renumbered)).toEqual(["wrong_total", "anchor_missing"]);
  });

  test.each([
    ["another length of a head", '"length":2,"head"', '"length":3,"head"', "bad_subject"],
    ["an unknown kind of anchor", '"kind":"git"', '"kind":"pigeon"', "malformed"],
    ["an option for git", '"commit":"0', '"commit":"--upload-pack=', "malformed"],
    ["another file", `"file":"${SIGNER.key.id}`, '"file":"../../config', "malformed"],
  ])("is refused if it has something else: %s", async (_name, from, to, code) => {
    counters("T-ANCHOR-1");
    const lines = signedAgain(await anchored(), (text) => text.replaceAll(from, to));
    const { problems } = await verifyEvidence([Buffer.from(lines.join(""))]);
    expect(problems[0]).toMatchObject({ code });
  });

  test("is refused if the repository does not have the commit", async () => {
    counters("T-ANCHOR-1");
    const bytes = Buffer.from((await anchored()).join(""));
    const check = async (isThere: boolean) => {
      const clone = { has: () => Promise.resolve(isThere) };
      const { problems, anchors } = await verifyEvidence([bytes], { clone });
      return [problems, anchors.map(({ by }) => by.kind === "git" && by.isFound)];
    };
    expect([await check(true), await check(false)]).toMatchObject([
      [[], [true, true]],
      [[{ code: "commit_missing", line: 11, count: 2 }], [false, false]],
    ]);
  });

  test("reports heads that the chain of this workspace does not have, and ignores others", async () => {
    const lost = { ...headOf(WHOLE, 3), head: sha256("lost") };
    const elsewhere = { ...lost, head: sha256("elsewhere"), workspace: "/elsewhere" };
    const { lines, summary } = await evidenceOf([WHOLE], {
      anchored: anchorsOf([
        [lost, elsewhere, headOf(WHOLE, 2), { ...headOf(WHOLE, 4), isRemoved: true }],
      ]),
    });
    expect([await problemsOf(lines), summary.findings, summary.anchors]).toEqual([
      [],
      { head_missing: 1 },
      1,
    ]);
  });
});

describe("an export with a time stamp", () => {
  useOpenssl();

  test("is verified with the certificate of its authority, and says so without", async () => {
    counters("T-ANCHOR-1");
    const { authority, lines } = await stamped();
    const by = { kind: "timestamp", authority: "CN=Authority" };
    expect([
      await stampsIn(lines, { authorities: certificatesIn(authority.root) }),
      await stampsIn(lines),
      await stampsIn(lines, { authorities: certificatesIn(createAuthority().root) }),
    ]).toMatchObject([
      [[], [{ ...by, isTrusted: true }]],
      [[], [{ ...by, isTrusted: false }]],
      [["untrusted_timestamp"], []],
    ]);
  });

  test("is refused if the time stamp is one of something else, or none", async () => {
    counters("T-ANCHOR-1");
    const { other } = await stamped();
    const withResponse = async (response: string) => {
      const anchored = anchorsOf([[headOf(WHOLE, 2)]], { ...other, response });
      return stampsIn((await evidenceOf([WHOLE], { anchored })).lines);
    };
    expect([await withResponse(other.response), await withResponse("AAAA")]).toEqual([
      [["bad_timestamp"], []],
      [["bad_timestamp"], []],
    ]);
  });
});

function predicateOf(line = ""): Record<string, unknown> {
  const { payload } = JSON.parse(line) as { payload: string };
  const { predicate } = JSON.parse(Buffer.from(payload, "base64").toString("utf8")) as {
    predicate: Record<string, unknown>;
  };
  return predicate;
}

function isOf(line: string, type: string): boolean {
  const { payload } = JSON.parse(line) as { payload: string };
  return Buffer.from(payload, "base64").includes(`:${type}:v1`);
}

async function codesOf(lines: readonly string[]): Promise<readonly string[]> {
  return (await problemsOf(lines)).map(({ code }) => code);
}

async function stamped() {
  const authority = createAuthority();
  const url = await serveAuthority((query) => ({ body: authority.reply(query) }));
  const heads = [[headOf(WHOLE, 2)]];
  const text = documentToText(anchorsOf(heads).anchors[0]?.document ?? { prev: "", heads: [] });
  const signal = new AbortController().signal;
  const proof = await requestTimestamp(url, Buffer.from(text), signal);
  const { lines } = await evidenceOf([WHOLE], { anchored: anchorsOf(heads, proof) });
  const other = await requestTimestamp(url, Buffer.from("other"), signal);
  return { authority, lines, other };
}

async function stampsIn(lines: readonly string[], options: VerifyOptions = {}) {
  const { problems, anchors } = await verifyEvidence([Buffer.from(lines.join(""))], options);
  return [problems.map(({ code }) => code), anchors.map(({ by }) => by)];
}

function certificatesIn(file: string) {
  return parseCertificates(readFileSync(file, "utf8"));
}
