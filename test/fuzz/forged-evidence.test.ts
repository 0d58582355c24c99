/**
 * Exports that whoever has the machine's key has forged: in the record, with a valid chain and valid signatures. Both verifiers
 * find them by judging the decisions again. `JP_FUZZ_TIMES=10` forges 5,000 exports of each form.
 */
import { describe, expect, test } from "vitest";
import { verify as verifyAlone } from "../../examples/evidence-verifier/verify.ts";
import {
  anchorsOf,
  evidenceOf,
  headOf,
  type Kept,
  SIGNER,
} from "../../src/proof/evidence.fixture.ts";
import { verifyEvidence } from "../../src/proof/index.ts";
import { counters } from "../security/threats.ts";
import {
  Draw,
  FORMS,
  genuine,
  keptStory,
  type Needs,
  type Story,
  UNDETECTABLE,
} from "./forgeries.ts";

/** `JP_FUZZ_TIMES` multiplies it. */
const SEEDS = 500 * Number(process.env["JP_FUZZ_TIMES"] ?? 1);
const TIMEOUT_MS = 60_000 + SEEDS * 100;

/** What both verifiers say of a story, which has to be the same. */
async function verdictOn(story: Story, kept: Kept = keptStory(story), isStrict = false) {
  const { hasContent, keys } = story;
  const { lines, summary } = await evidenceOf([kept], { hasContent, keys });
  const bytes = Buffer.from(lines.join(""));
  const expectedKey = SIGNER.key.id;
  const { problems, counts } = await verifyEvidence([bytes], { expectedKey, isStrict });
  const { rulings = {} } = problems.find(({ code }) => code === "terms_not_met") ?? {};
  const { judged, ownerStoodIn } = counts;
  const verdict = {
    problems: problems.map(({ code }) => code).toSorted(),
    unmet: rulings,
    notJudged: Object.fromEntries(counts.notJudged),
    judged,
    ownerStoodIn,
  };
  expect(verifyAlone(bytes, expectedKey, isStrict)).toMatchObject(verdict);
  return { ...verdict, findings: summary.findings };
}

/** A story for each seed. Fails with the seed of the first for which `check` does. */
async function forSeeds(
  needs: Needs | undefined,
  check: (story: Story, draw: Draw) => Promise<void>,
): Promise<void> {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const draw = new Draw(seed);
    try {
      await check(genuine(draw, needs), draw);
    } catch (cause) {
      throw new Error(`seed ${seed}`, { cause });
    }
  }
}

test(
  "both verifiers accept decisions of several people that meet their terms",
  { timeout: TIMEOUT_MS },
  async () => {
    await forSeeds(undefined, async (story) => {
      expect(await verdictOn(story)).toEqual({
        problems: [],
        unmet: {},
        notJudged: {},
        judged: 1,
        ownerStoodIn: 0,
        findings: {},
      });
    });
  },
);

test.each(Object.entries(FORMS))(
  "both verifiers find by judging, in an export signed with the machine's own key: %s",
  { timeout: TIMEOUT_MS },
  async (_name, { needs, rulings, problems = [], forge }) => {
    counters("T-PROOF-7");
    await forSeeds(needs, async (story, draw) => {
      const { unmet, problems: found } = await verdictOn(forge(story, draw));
      // A form without rulings is found by other problems, whatever else is found.
      const [ruling] = Object.keys(unmet);
      expect(rulings.length > 0 ? rulings : [ruling]).toContain(ruling);
      const expected = [...problems, ...(rulings.length > 0 ? ["terms_not_met"] : [])];
      expect(found).toEqual(expect.arrayContaining(expected));
    });
  },
);

test(
  "both verifiers count where the owner of the machine stood in, and fail only if they are strict",
  { timeout: TIMEOUT_MS },
  async () => {
    counters("T-PROOF-7");
    await forSeeds({ isSigned: false }, async (story) => {
      const by = { kind: "user", channel: "terminal", auth: "owner" } as const;
      const { answer } = story;
      const owned = {
        ...story,
        votes: [],
        answer:
          answer.type === "permission_decision"
            ? { ...answer, decidedBy: by }
            : { ...answer, answeredBy: by },
      } as Story;
      const met = { judged: 1, ownerStoodIn: 1, unmet: {} };
      expect(await verdictOn(owned)).toMatchObject({ problems: [], ...met });
      const strict = await verdictOn(owned, undefined, true);
      expect(strict).toMatchObject({ problems: ["owner_stood_in"], ...met });
    });
  },
);

describe("only an anchor from before shows, or the people's own signatures,", () => {
  test.each(Object.entries(UNDETECTABLE))(
    "a chain that was rewritten as a whole: %s",
    { timeout: TIMEOUT_MS },
    async (_name, { forge, isShownBySignatures }) => {
      counters("T-PROOF-7");
      await forSeeds({ isSigned: false }, async (story, draw) => {
        const before = keptStory(story);
        const forged = forge(story, draw);
        const kept = keptStory(forged);
        expect(await verdictOn(forged)).toMatchObject({ problems: [], judged: 1 });
        const anchored = anchorsOf([[headOf(before, before.chain.length)]]);
        const { summary } = await evidenceOf([kept], { anchored });
        expect(summary.findings).toEqual({ head_missing: 1 });
      });
      await forSeeds({ isSigned: true }, async (story, draw) => {
        const { problems } = await verdictOn(forge(story, draw));
        expect(problems.includes("terms_not_met")).toBe(isShownBySignatures);
      });
    },
  );
});
