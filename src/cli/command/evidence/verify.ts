/** `jp evidence verify`: checks whether an evidence file is intact, and says what that proves. */
import { createReadStream, readFileSync } from "node:fs";
import path from "node:path";
import {
  digestOfPlace,
  type EvidenceProblem,
  JUDGED_CODES,
  keyIdOfPem,
  openClone,
  parseCertificates,
  type UnmetCode,
  type Verification,
  type VerifiedAnchor,
  verifyEvidence,
  type VerifyOptions,
} from "../../../proof/index.ts";
import { findWorkspace } from "../../../assemble/index.ts";
import { headsFileIn, listSeen, seenStatesBeside, userDataFolder } from "../../../stores/index.ts";
import { wrapProse } from "../../../surfaces/render/index.ts";
import { JpError, jsonLine, oneLine, systemErrorCode } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { ExitStatus, usageError } from "../../exit-status.ts";
import {
  counted,
  describeFindings,
  describeGaps,
  describeNotJudged,
  describeRuling,
  PROBLEMS,
} from "./wording.ts";
import type { VERIFY } from "./options.ts";
import type { FlagsOf } from "../../options.ts";

export async function verifyFile({ args, options, context }: Call<typeof VERIFY>): Promise<void> {
  const [name = ""] = args;
  const expectedKey = options.key === undefined ? undefined : expectedKeyOf(options.key, context);
  const expectations = await anchorExpectations(options, context);
  const verification = await verifyIn(name, context, {
    ...(expectedKey && { expectedKey }),
    ...expectations,
    isStrict: options.strict === true,
    ...(options.seen === true && { findSeen: seenStates(context) }),
  });
  const isExpected = expectedKey !== undefined;
  if (options.format === "json") {
    context.output.print(jsonLine(verificationToJson(verification, isExpected)));
  } else {
    for (const line of describe(verification, isExpected)) printWrapped(line, context);
  }
  if (verification.problems.length > 0) throw new ExitStatus(1);
}

/** Throws `usage`, `file_not_read`, `git_not_found`, `not_a_repository`. */
async function anchorExpectations(
  { tsaCert, git }: FlagsOf<typeof VERIFY>,
  context: CommandContext,
): Promise<Pick<VerifyOptions, "authorities" | "clone">> {
  const { cwd, environment } = context;
  const root = findWorkspace(context)?.root ?? cwd;
  return {
    ...(tsaCert !== undefined && { authorities: readAuthorities(path.resolve(cwd, tsaCert)) }),
    ...(git !== undefined && {
      clone: await openClone(path.resolve(cwd, git), { root, variables: environment.variables }),
    }),
  };
}

/** The states that this machine has seen, by place. */
function seenStates({ environment }: CommandContext): NonNullable<VerifyOptions["findSeen"]> {
  const folder = seenStatesBeside(headsFileIn(userDataFolder(environment)));
  const seen = new Map([...listSeen(folder)].map((state) => [digestOfPlace(state), state]));
  return (place) => seen.get(place);
}

function readAuthorities(file: string): NonNullable<VerifyOptions["authorities"]> {
  let pem: string;
  try {
    pem = readFileSync(file, "utf8");
  } catch (cause) {
    throw notRead(file, cause);
  }
  try {
    return parseCertificates(pem);
  } catch {
    throw usageError(`${oneLine(file)} has no certificates in PEM.`);
  }
}

/** Throws `file_not_read`. */
export async function verifyIn(
  name: string,
  { cwd }: CommandContext,
  options: VerifyOptions,
): Promise<Verification> {
  try {
    return await verifyEvidence(createReadStream(path.resolve(cwd, name)), options);
  } catch (cause) {
    throw notRead(name, cause);
  }
}

/** The ID of the key. Throws `usage`, `file_not_read`. */
export function expectedKeyOf(text: string, { cwd }: CommandContext): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  let pem: string;
  try {
    pem = readFileSync(path.resolve(cwd, text), "utf8");
  } catch (cause) {
    if (systemErrorCode(cause) !== "ENOENT") throw notRead(text, cause);
    throw usageError(
      `Not a key: ${oneLine(text)}`,
      "Pass the ID of a key, which has 64 digits, or the name of a PEM file.",
    );
  }
  try {
    return keyIdOfPem(pem);
  } catch {
    throw usageError(`${oneLine(text)} has no Ed25519 key in PEM.`);
  }
}

function notRead(name: string, cause: unknown): unknown {
  const reason = systemErrorCode(cause);
  if (reason === undefined) return cause;
  return new JpError("file_not_read", `${name} could not be read: ${reason}.`, { cause });
}

function printWrapped(line: string, { output }: CommandContext): void {
  const indent = line.startsWith("- ") ? "  " : "";
  const rows = wrapProse(line, output.lineWidth - indent.length);
  for (const [index, row] of rows.entries()) output.print(index === 0 ? row : indent + row);
}

function describe(verification: Verification, isExpected: boolean): readonly string[] {
  const { problems } = verification;
  if (problems.length > 0) {
    const isWhole = problems.every(({ code }) => JUDGED_CODES.has(code));
    return [
      isWhole
        ? "Not verified. The file is whole, but not every decision in it meets its terms."
        : "Not verified. It proves nothing.",
      ...problems.flatMap(describeProblem),
    ];
  }
  const { header, keyId = "", counts } = verification;
  const { statements, conversations, links } = counts;
  const made = header === undefined ? "" : ` at ${oneLine(header.at)} by ${oneLine(header.tool)}`;
  return [
    `Verified: ${counted(statements, "statement")} with ${counted(links, "link")} of ${counted(conversations, "conversation")}, made${made}.`,
    isExpected ? `Signed with the expected key, ${keyId}.` : `Self-signed, with key ${keyId}.`,
    "",
    "It proves:",
    ...proven(verification),
    ...anchored(verification),
    "",
    "It does not prove:",
    ...unproven(verification, isExpected),
    ...known(verification),
  ];
}

function describeProblem({ code, line, count, rulings = {} }: EvidenceProblem): readonly string[] {
  const others = count > 1 ? `, and ${counted(count - 1, "other")}` : "";
  const codes = Object.entries(rulings) as readonly (readonly [UnmetCode, number])[];
  return [
    `- line ${line}${others}: ${PROBLEMS[code]} (${code})`,
    ...codes.map(
      ([ruling, ruled]) => `- ${counted(ruled, "decision")}: ${describeRuling(ruling)} (${ruling})`,
    ),
  ];
}

function proven({ counts }: Verification): readonly string[] {
  const { contents, signed, unchecked, judged } = counts;
  return [
    "- Whoever has this key has signed these statements. Since then, none was changed, left out, added or moved.",
    "- The links of each conversation make a chain: each has the digest of the one before.",
    contents > 0
      ? `- ${counted(contents, "event")} with contents: as the chain has committed to them.`
      : "- Contents are not in it. An event that someone shows you later, with its salt, can be compared with its link.",
    ...(judged > 0
      ? [
          `- ${counted(judged, "decision")}: judged again. The people named in the links were those it took.`,
        ]
      : []),
    ...(signed > 0
      ? [
          `- ${counted(signed, "approval")}: signed with a key of the person named. Whose key it is, the export says.`,
        ]
      : []),
    ...(unchecked > 0
      ? [`- ${counted(unchecked, "signed answer")}: not checked, since the answer is not in it.`]
      : []),
  ];
}

const MAX_ANCHORS = 10;

function anchored({ anchors, counts }: Verification): readonly string[] {
  if (anchors.length === 0) return [];
  const more = anchors.length - MAX_ANCHORS;
  return [
    "",
    `Anchored: ${counts.anchored} of ${counted(counts.links, "link")}.`,
    ...anchors.slice(-MAX_ANCHORS).map((anchor) => `- ${describeAnchor(anchor)}`),
    ...(more > 0 ? [`- ${more} earlier: see --format json.`] : []),
  ];
}

function describeAnchor({ sha256, by }: VerifiedAnchor): string {
  if (by.kind === "timestamp") {
    const { time, authority, isTrusted } = by;
    const checked = isTrusted
      ? "from an authority that you trust"
      : "the authority was not checked, pass its certificate with --tsa-cert";
    return `Before ${time}, says ${authority}: ${checked}.`;
  }
  const { remote, branch, commit, isFound } = by;
  const place = `commit ${commit} on ${oneLine(branch)} of ${oneLine(remote)}`;
  return isFound
    ? `In ${place}: found. When it was pushed, only that repository can say.`
    : `In ${place}: not looked up, pass a clone with --git. Its file must have the digest ${sha256}.`;
}

function unproven({ anchors }: Verification, isExpected: boolean): readonly string[] {
  const isAnchored = anchors.some(({ by }) =>
    by.kind === "timestamp" ? by.isTrusted : by.isFound,
  );
  return [
    ...(isExpected
      ? []
      : [
          "- Whose key it is: the file names it itself. Get the ID of the key from its owner, and pass it with --key.",
        ]),
    "- Who decided: it proves a key, not a person. An answer on a terminal proves this machine's key, and a name is what the config said.",
    isAnchored
      ? "- When: times are those of the machine's clock. An anchor only says before when."
      : "- When: times are those of the machine's clock.",
    isAnchored
      ? "- That nothing was rewritten before it was anchored. Whoever can write the files and has the key could do that."
      : "- That nothing was rewritten before the export. Whoever can write the files and has the key can rewrite everything that is not anchored elsewhere.",
    "- That these are all conversations: some may have been left out or deleted.",
  ];
}

/** Gaps that the export itself reports. */
function known({ counts }: Verification): readonly string[] {
  const { gaps, rebuilt, findings, unknown, ownerStoodIn, notJudged } = counts;
  const stoodIn = counted(ownerStoodIn, "decision");
  const judgedLines = [
    ...(ownerStoodIn > 0
      ? [`${stoodIn}: the owner of the machine stood in for people (owner_stood_in)`]
      : []),
    ...describeNotJudged(notJudged),
  ];
  const lines = [
    ...describeGaps(gaps),
    ...(rebuilt > 0 ? [`links rebuilt from the record: ${rebuilt}`] : []),
    ...describeFindings(findings),
    ...(unknown > 0
      ? [`of a kind that this version does not know, and did not check: ${unknown}`]
      : []),
  ];
  return [
    ...section("Not judged, or decided by the owner alone:", judgedLines),
    ...section("Reported in the export:", lines),
  ];
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ["", title, ...lines.map((line) => `- ${line}`)];
}

function verificationToJson(verification: Verification, isExpected: boolean) {
  const { problems, keyId, header, counts, anchors } = verification;
  const { gaps, findings, ownerStoodIn, notJudged, ...rest } = counts;
  return {
    verified: problems.length === 0,
    problems,
    ...(keyId !== undefined && { key_id: keyId, key: isExpected ? "expected" : "self_signed" }),
    ...(header !== undefined && {
      made_at: header.at,
      tool: header.tool,
      content: header.hasContent,
      filters: header.filters,
    }),
    ...rest,
    owner_stood_in: ownerStoodIn,
    not_judged: Object.fromEntries(notJudged),
    gaps: Object.fromEntries(gaps),
    findings: Object.fromEntries(findings),
    anchors: anchors.map(anchorToJson),
  };
}

function anchorToJson({ sha256, at, heads, by }: VerifiedAnchor) {
  if (by.kind === "git") {
    const { kind, remote, branch, commit, file, isFound } = by;
    return { sha256, at, heads, kind, remote, branch, commit, file, found: isFound };
  }
  const { kind, url, time, authority, isTrusted } = by;
  return { sha256, at, heads, kind, url, time, authority, trusted: isTrusted };
}
