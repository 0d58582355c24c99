/** Exports of any chains, whole and changed by someone without the key, before both verifiers. */
/* oxlint-disable vitest/no-standalone-expect -- `fuzz` makes a test of each property. */
import * as fc from "fast-check";
import { expect } from "vitest";
import { verify as verifyAlone } from "../../examples/evidence-verifier/verify.ts";
import { anyDecided, keysOf } from "../../src/proof/decided.fixture.ts";
import { anyEvidence, evidenceOf, SIGNER } from "../../src/proof/evidence.fixture.ts";
import { signLine } from "../../src/proof/dsse.ts";
import { generateSigner } from "../../src/proof/machine-key.ts";
import { verifyEvidence } from "../../src/proof/index.ts";
import { fuzz } from "./fuzz.ts";

/** What each of the two verifiers says: which problems there are, and what comes of judging. */
async function verdictsOn(text: string, expectedKey: string | undefined = SIGNER.key.id) {
  const bytes = Buffer.from(text, "latin1");
  const options = expectedKey === undefined ? {} : { expectedKey };
  const { problems, counts } = await verifyEvidence([bytes], options);
  const codes = problems.map(({ code }) => code).toSorted();
  const { rulings = {} } = problems.find(({ code }) => code === "terms_not_met") ?? {};
  const { judged, ownerStoodIn } = counts;
  const notJudged = Object.fromEntries(counts.notJudged);
  const alone = verifyAlone(bytes, expectedKey);
  return [
    { problems: codes, unmet: rulings, notJudged, judged, ownerStoodIn },
    {
      problems: alone.problems,
      unmet: alone.unmet,
      notJudged: alone.notJudged,
      judged: alone.judged,
      ownerStoodIn: alone.ownerStoodIn,
    },
  ] as const;
}

interface Changed {
  readonly text: string;
  /** One of them has to be among the reasons. */
  readonly reasons: readonly string[];
}

/** Draws what a change needs to know. */
interface Draw {
  /** From 0 to below `limit`. */
  readonly number: (limit: number) => number;
}

type Mutation = (lines: readonly string[], other: readonly string[], draw: Draw) => Changed;

const FORGER = generateSigner();

/** Each changes an export without the key. `other` is another export with the same key. */
const MUTATIONS: Readonly<Record<string, Mutation>> = {
  field: (lines, _other, { number }) => {
    const place = number(lines.length);
    const payload = changedMember(payloadOf(lines[place]), number);
    const line = withMembers(lines[place], { payload: Buffer.from(payload).toString("base64") });
    const ofHeader = place === 0 ? ["malformed", "no_header", "wrong_key"] : [];
    return { text: joined(lines.with(place, line)), reasons: ["bad_signature", ...ofHeader] };
  },
  envelope: (lines, _other, { number }) => {
    const place = number(lines.length);
    const members = [
      { payloadType: "application/json" },
      { signatures: [] },
      { signatures: [{ keyid: FORGER.key.id, sig: Buffer.alloc(64).toString("base64") }] },
      { signatures: [{ keyid: SIGNER.key.id, sig: Buffer.alloc(64).toString("base64") }] },
      { note: "added" },
    ];
    const line = withMembers(lines[place], members[number(members.length)] ?? {});
    return {
      text: joined(lines.with(place, line)),
      reasons: ["malformed", "wrong_key", "bad_signature"],
    };
  },
  byte: (lines, _other, { number }) => {
    const text = joined(lines);
    const place = number(text.length);
    const code = (text.charCodeAt(place) + 1 + number(255)) % 256;
    const changed = text.slice(0, place) + String.fromCharCode(code) + text.slice(place + 1);
    const reasons = ["malformed", "bad_signature", "wrong_key", "no_header", "truncated"];
    return { text: changed, reasons };
  },
  order: (lines, _other, { number }) => {
    const from = number(lines.length);
    const to = (from + 1 + number(lines.length - 1)) % lines.length;
    const moved = lines.toSpliced(from, 1).toSpliced(to, 0, lines[from] ?? "");
    return { text: joined(moved), reasons: ["out_of_order", "no_header"] };
  },
  deletion: (lines, _other, { number }) => {
    const start = number(lines.length);
    const rest = lines.toSpliced(start, 1 + number(lines.length - start));
    return { text: joined(rest), reasons: ["missing", "truncated", "no_header"] };
  },
  repetition: (lines, _other, { number }) => {
    const again = lines[number(lines.length)] ?? "";
    return {
      text: joined(lines.toSpliced(1 + number(lines.length), 0, again)),
      reasons: ["repeated"],
    };
  },
  truncation: (lines, _other, { number }) => {
    const text = joined(lines);
    return { text: text.slice(0, number(text.length)), reasons: ["truncated"] };
  },
  splice: (lines, other, { number }) => {
    const text = joined([
      ...lines.slice(0, 1 + number(lines.length - 1)),
      ...other.slice(number(other.length)),
    ]);
    return { text, reasons: ["foreign_export"] };
  },
  insertion: (lines, other, { number }) => {
    const foreign = other[number(other.length)] ?? "";
    const text = joined(lines.toSpliced(1 + number(lines.length), 0, foreign));
    return { text, reasons: ["foreign_export"] };
  },
  exchange: (lines, other, { number }) => {
    const place = number(lines.length);
    const text = joined(lines.with(place, other[Math.min(place, other.length - 1)] ?? ""));
    return { text, reasons: ["foreign_export", "no_header"] };
  },
  replay: (lines, other, { number }) => {
    const place = number(lines.length);
    const donors = [...lines.toSpliced(place, 1), ...other];
    const { signatures } = JSON.parse(donors[number(donors.length)] ?? "") as {
      signatures: unknown;
    };
    const line = withMembers(lines[place], { signatures });
    return { text: joined(lines.with(place, line)), reasons: ["bad_signature"] };
  },
  forgery: (lines, _other, { number }) => {
    const place = number(lines.length);
    const line = signLine(Buffer.from(payloadOf(lines[place])), FORGER);
    return { text: joined(lines.with(place, line)), reasons: ["wrong_key"] };
  },
  "other key": (lines) => {
    const payloads = lines.map((line) =>
      payloadOf(line).replaceAll(SIGNER.key.text, FORGER.key.text),
    );
    const text = joined(payloads.map((payload) => signLine(Buffer.from(payload), FORGER)));
    return { text, reasons: ["wrong_key"] };
  },
};

function joined(lines: readonly string[]): string {
  return lines.join("");
}

function payloadOf(line = ""): string {
  const { payload } = JSON.parse(line) as { payload: string };
  return Buffer.from(payload, "base64").toString("utf8");
}

function withMembers(line = "", members: object): string {
  return `${JSON.stringify({ ...(JSON.parse(line) as object), ...members })}\n`;
}

/** Another value in place of one that is neither an object nor an array. */
function changedMember(text: string, number: Draw["number"]): string {
  const leaves: { readonly parent: Record<string, unknown>; readonly key: string }[] = [];
  const collect = (parent: Record<string, unknown>) => {
    for (const [key, value] of Object.entries(parent)) {
      if (typeof value === "object" && value !== null) collect(value as Record<string, unknown>);
      else leaves.push({ parent, key });
    }
  };
  const json = JSON.parse(text) as Record<string, unknown>;
  collect(json);
  const leaf = leaves[number(leaves.length)];
  if (leaf === undefined) throw new Error("a statement without members");
  const { parent, key } = leaf;
  const value = parent[key];
  parent[key] =
    typeof value === "number"
      ? value === 0 // A large number plus one is the same number.
        ? 1
        : -value
      : typeof value === "boolean"
        ? !value
        : `${String(value)}x`;
  return JSON.stringify(json);
}

fuzz(
  "every export is whole for jp and for the verifier without any code of jp, and both judge it alike",
  100,
  fc.asyncProperty(anyEvidence, fc.boolean(), async (make, isExpected) => {
    const { lines } = await make();
    const [own, other] = await verdictsOn(joined(lines), isExpected ? SIGNER.key.id : undefined);
    expect(other).toEqual(own);
    expect(own.problems.filter((code) => code !== "terms_not_met")).toEqual([]);
  }),
);

fuzz(
  "both verifiers judge decisions alike, whoever has made them and in whatever order",
  500,
  fc.asyncProperty(anyDecided, fc.boolean(), async (kept, hasContent) => {
    const { lines } = await evidenceOf([kept], { hasContent, keys: keysOf() });
    const [own, other] = await verdictsOn(joined(lines));
    expect(other).toEqual(own);
  }),
);

/** Of each pair of exports, which take longer to make than to change. */
const CHANGES = 8;

for (const [kind, mutate] of Object.entries(MUTATIONS)) {
  fuzz(
    `both verifiers reject an export that was changed without the key, and say why: ${kind}`,
    10,
    fc.asyncProperty(
      fc.tuple(anyEvidence, anyEvidence),
      fc.array(fc.array(fc.nat(), { minLength: 4, maxLength: 4 }), {
        minLength: CHANGES,
        maxLength: CHANGES,
      }),
      async ([make, makeOther], draws) => {
        const { lines } = await make();
        const { lines: other } = await makeOther();
        for (const drawn of draws) {
          let used = 0;
          const number = (limit: number) => (drawn[used++ % drawn.length] ?? 0) % limit;
          const { text, reasons } = mutate(lines, other, { number });
          const [{ problems: codes }, { problems: others }] = await verdictsOn(text);
          const isOne = expect.arrayContaining([expect.toBeOneOf([...reasons])]) as unknown;
          expect([codes, others]).toEqual([isOne, isOne]);
          // Of a first line that was changed, they look at different parts before its signature.
          if (text.startsWith(lines[0] ?? "")) expect(others).toEqual(codes);
        }
      },
    ),
  );
}
