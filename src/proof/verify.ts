/**
 * Checks evidence line by line: one key must have signed every statement, all statements of one export must be present
 * and in order, and the links must form chains. None of this shows who holds the key.
 */
import { createHash } from "node:crypto";
import { type ChainLink, commitTo, hashLink, versionOf } from "../record/conversation/index.ts";
import type { SeenState } from "../stores/index.ts";
import { canonicalJson } from "../util/index.ts";
import { ApprovalCheck } from "./approvals.ts";
import {
  digestOf,
  type Envelope,
  findEnvelope,
  findPublicKey,
  isSignedBy,
  type PublicKey,
} from "./dsse.ts";
import { LinkComparison } from "./link-comparison.ts";
import {
  commitmentOf,
  type Content,
  type ConversationEnd,
  type End,
  EXPORT_VERSION,
  findText,
  type Header,
  type LinkStatement,
  parseStatement,
  type Statement,
} from "./statement.ts";
import type { NotJudgedReason, UnmetCode } from "./judge-links.ts";
import { TermsCheck } from "./terms.ts";
import {
  AnchorCheck,
  type AnchorExpectations,
  type AnchorProblemCode,
  type VerifiedAnchor,
} from "./verify-anchors.ts";

export type EvidenceProblemCode =
  /** A line is not an envelope, or its statement is malformed. */
  | "malformed"
  /** The file does not start with the statement that has the key. Nothing else can be checked. */
  | "no_header"
  /** The export is from a newer version. Nothing else can be checked. */
  | "newer_version"
  /** Not signed with the key that the first statement names, or with the expected one. */
  | "wrong_key"
  /** The signature does not match the statement. */
  | "bad_signature"
  /** A statement from another export. */
  | "foreign_export"
  /** A statement between two others is missing. */
  | "missing"
  | "out_of_order"
  | "repeated"
  /** Something follows the last statement. */
  | "after_end"
  /** The last statement is missing or incomplete. */
  | "truncated"
  /** A statement's subject does not match its content. */
  | "bad_subject"
  /** A link does not reference the previous one. */
  | "broken_chain"
  /** An event does not match its link's commitment. */
  | "commitment_mismatch"
  /** An event without a link. */
  | "unknown_link"
  /** The last statement's totals are wrong. */
  | "wrong_total"
  | AnchorProblemCode
  /** A person's signature does not cover its decision, or was not made with one of their keys. */
  | "bad_approval_signature"
  /** A link contradicts the event that it commits to. */
  | "link_mismatch"
  /** A decision does not meet its terms. */
  | "terms_not_met"
  /** The machine's owner stood in for people. Only with `isStrict`. */
  | "owner_stood_in";

/** Problems with the decisions rather than with the file. */
export const JUDGED_CODES: ReadonlySet<EvidenceProblemCode> = new Set([
  "terms_not_met",
  "owner_stood_in",
]);

export interface EvidenceProblem {
  readonly code: EvidenceProblemCode;
  /** The first affected line, starting at 1. */
  readonly line: number;
  /** The number of occurrences. */
  readonly count: number;
  /** For `terms_not_met`: the number per reason. */
  readonly rulings?: Readonly<Partial<Record<UnmetCode, number>>>;
}

export interface VerifyOptions extends AnchorExpectations {
  /** The id of the key that must have signed. Without it, any key is accepted. */
  readonly expectedKey?: string;
  /** Reports a problem if the machine's owner stood in for people. */
  readonly isStrict?: boolean;
  /** The newest state that a machine has seen of the conversation at this place: see `digestOfPlace`. */
  readonly findSeen?: (place: string) => SeenState | undefined;
  /** Receives each correctly placed link, before the rest of the file is checked. */
  readonly onLink?: (statement: LinkStatement) => void;
}

export interface Verification {
  /** Empty if the evidence is valid. */
  readonly problems: readonly EvidenceProblem[];
  /** The id of the key that the export names. Absent if there is none. */
  readonly keyId?: string;
  readonly header?: Header;
  readonly counts: EvidenceCounts;
  /** Empty unless the evidence is otherwise valid. */
  readonly anchors: readonly VerifiedAnchor[];
}

/** Counts of what was checked. */
export interface EvidenceCounts {
  readonly statements: number;
  readonly conversations: number;
  readonly links: number;
  /** Events included with their link. */
  readonly contents: number;
  /** Approvals with the person's own signature, and those left unchecked because the export omits the answer. */
  readonly signed: number;
  readonly unchecked: number;
  /** Decisions that meet their terms. */
  readonly judged: number;
  /** Answers by the machine's owner, standing in for people. */
  readonly ownerStoodIn: number;
  /** Decisions that were not judged, or only in part, by reason. */
  readonly notJudged: ReadonlyMap<NotJudgedReason, number>;
  /** Links that were rebuilt later from the record. */
  readonly rebuilt: number;
  /** Links covered by an anchored head. */
  readonly anchored: number;
  /** Keyed by reason. */
  readonly gaps: ReadonlyMap<string, number>;
  /** Keyed by code. */
  readonly findings: ReadonlyMap<string, number>;
  /** Statements and links of kinds unknown to this version. */
  readonly unknown: number;
}

/** Never throws for the file's content. Throws what reading throws. */
export async function verifyEvidence(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: VerifyOptions = {},
): Promise<Verification> {
  const check = new Check(options);
  for await (const { text, isWhole } of linesOf(pieces)) {
    check.read(text, isWhole);
    if (check.isOver) break;
  }
  return check.end();
}

/** More than any event that jp records. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;
const NEWLINE = 0x0a;

interface Line {
  /** One character per byte. */
  readonly text: string;
  /** It ends with a newline and is not too long. */
  readonly isWhole: boolean;
}

async function* linesOf(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Line> {
  let parts: string[] = [];
  let length = 0;
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      yield { text: parts.join("") + bytes.toString("latin1", start, end), isWhole: true };
      parts = [];
      length = 0;
      start = end + 1;
    }
    length += bytes.length - start;
    if (length > MAX_LINE_BYTES) break; // No one can have written such a line, so it counts as cut off.
    if (start < bytes.length) parts.push(bytes.toString("latin1", start));
  }
  if (length > 0) yield { text: parts.join(""), isWhole: false };
}

interface Gap {
  readonly from: number;
  readonly to: number;
  readonly line: number;
}

class Check {
  readonly #options: VerifyOptions;
  readonly #problems = new Map<EvidenceProblemCode, EvidenceProblem>();
  readonly #contents: ContentCheck;
  #line = 0;
  #header: Header | undefined;
  #key: PublicKey | undefined;
  #export = "";
  /** The next expected index. */
  #next = 0;
  /** Skipped indices that have not appeared later. */
  #gaps: Gap[] = [];
  /** Lines since the last valid one. Each may be a missing one. */
  #unread = 0;
  #hasEnd = false;
  /** All statements so far are signed, present and in order. */
  #isSound = true;
  isOver = false;

  constructor(options: VerifyOptions) {
    this.#options = options;
    const report: Report = (code, line, ruling) => this.#note(code, line, ruling);
    this.#contents = new ContentCheck(report, options);
  }

  read(text: string, isWhole: boolean): void {
    this.#line += 1;
    if (!isWhole) {
      this.#report("truncated");
      this.isOver = true;
      return;
    }
    if (this.#line === 1) return this.#begin(text);
    const payload = this.#open(text);
    if (payload === undefined) this.#unread += 1;
    else this.#place(payload);
  }

  async end(): Promise<Verification> {
    for (const { line } of this.#gaps) this.#report("missing", line);
    const isCut = !this.isOver && !this.#hasEnd && this.#unread === 0;
    if (isCut) this.#report("truncated");
    const isWhole = [...this.#problems.keys()].every((code) => JUDGED_CODES.has(code));
    const anchors = isWhole ? await this.#contents.anchors.checkProofs(this.#options) : [];
    return {
      problems: [...this.#problems.values()].toSorted((left, right) => left.line - right.line),
      ...(this.#key !== undefined && { keyId: this.#key.id }),
      ...(this.#header !== undefined && { header: this.#header }),
      counts: this.#contents.counts,
      anchors,
    };
  }

  /** Stops checking the statements' content, which may make no sense without the missing parts. */
  #report(code: EvidenceProblemCode, line = this.#line): void {
    this.#isSound = false;
    this.#note(code, line);
  }

  #note(code: EvidenceProblemCode, line = this.#line, ruling?: UnmetCode): void {
    const { line: first = line, count = 0, rulings = {} } = this.#problems.get(code) ?? {};
    const ruled = ruling && { rulings: { ...rulings, [ruling]: (rulings[ruling] ?? 0) + 1 } };
    this.#problems.set(code, { code, line: Math.min(first, line), count: count + 1, ...ruled });
  }

  /** The first statement contains the key that it is signed with. */
  #begin(text: string): void {
    const problem = this.#findHeader(text);
    if (problem === undefined) return;
    this.#report(problem);
    this.isOver = true;
  }

  #findHeader(text: string): EvidenceProblemCode | undefined {
    const envelope = findEnvelope(text);
    if (envelope === undefined) return "malformed";
    const parsed = findStatement(envelope.payload);
    if (parsed === undefined) return "malformed";
    const { statement, isAbout } = parsed;
    if (statement.type !== "export" || statement.index !== 0) return "no_header";
    const key = findPublicKey(statement.key);
    if (key === undefined) return "malformed";
    const { expectedKey = key.id } = this.#options;
    if (envelope.keyId !== key.id || key.id !== expectedKey) return "wrong_key";
    if (!isSignedBy(envelope, key)) return "bad_signature";
    if (!isAbout) return "bad_subject";
    if (statement.version !== EXPORT_VERSION) return "newer_version";
    this.#header = statement;
    this.#key = key;
    this.#export = statement.export;
    this.#next = 1;
    this.#contents.read(statement, envelope.payload, this.#line);
    return undefined;
  }

  /** The line's statement, if the key has signed it for this export. */
  #open(text: string): { readonly statement: Statement; readonly payload: Buffer } | undefined {
    const envelope = findEnvelope(text);
    const problem = this.#problemOf(envelope);
    const parsed = envelope && problem === undefined ? findStatement(envelope.payload) : undefined;
    if (envelope === undefined || parsed === undefined) {
      this.#report(problem ?? "malformed");
      return undefined;
    }
    const { statement, isAbout } = parsed;
    if (statement.export !== this.#export) {
      this.#report("foreign_export");
      return undefined;
    }
    if (!isAbout) this.#report("bad_subject");
    return { statement, payload: envelope.payload };
  }

  #problemOf(envelope: Envelope | undefined): EvidenceProblemCode | undefined {
    if (envelope === undefined || this.#key === undefined) return "malformed";
    if (envelope.keyId !== this.#key.id) return "wrong_key";
    return isSignedBy(envelope, this.#key) ? undefined : "bad_signature";
  }

  #place({
    statement,
    payload,
  }: {
    readonly statement: Statement;
    readonly payload: Buffer;
  }): void {
    const { index } = statement;
    if (index < this.#next) return this.#placeLate(index);
    if (this.#hasEnd) this.#report("after_end");
    const from = Math.min(index, this.#next + this.#unread);
    if (from < index) this.#gaps.push({ from, to: index, line: this.#line });
    this.#next = index + 1;
    this.#unread = 0;
    this.#hasEnd ||= statement.type === "end";
    if (!this.#isSound || this.#gaps.length > 0) return;
    this.#contents.read(statement, payload, this.#line);
    if (statement.type === "link") this.#options.onLink?.(statement);
  }

  #placeLate(index: number): void {
    const gap = this.#gaps.find(({ from, to }) => from <= index && index < to);
    this.#report(gap === undefined ? "repeated" : "out_of_order");
    if (gap === undefined) return;
    const { from, to, line } = gap;
    const rest = [
      { from, to: index, line },
      { from: index + 1, to, line },
    ];
    this.#gaps = [
      ...this.#gaps.filter((each) => each !== gap),
      ...rest.filter((each) => each.from < each.to),
    ];
  }
}

function findStatement(payload: Buffer) {
  try {
    return parseStatement(payload);
  } catch {
    return undefined;
  }
}

type Report = (code: EvidenceProblemCode, line?: number, ruling?: UnmetCode) => void;

/** Checks the content of statements that are signed, complete and in order. */
class ContentCheck {
  readonly #report: Report;
  readonly anchors: AnchorCheck;
  readonly #findSeen: VerifyOptions["findSeen"];
  /** When the export was made. */
  #exportedAt = "";
  readonly #approvals: ApprovalCheck;
  readonly #terms: TermsCheck;
  readonly #payloads = createHash("sha256");
  readonly #ends: ConversationEnd[] = [];
  /** The last conversation's links that commit to an event. */
  #committed = new Map<number, ChainLink>();
  #comparison = new LinkComparison();
  #version = 1;
  /** The heads of its chain, by length. */
  #heads = new Map<number, string>();
  /** To check that conversations come one after the other. */
  readonly #seen = new Set<string>();
  readonly #gaps = new Map<string, number>();
  readonly #findings = new Map<string, number>();
  #statements = 0;
  #links = 0;
  #contents = 0;
  #rebuilt = 0;
  #unknown = 0;

  constructor(report: Report, { isStrict = false, findSeen }: VerifyOptions) {
    this.#report = report;
    this.#findSeen = findSeen;
    this.anchors = new AnchorCheck(report);
    this.#approvals = new ApprovalCheck(report);
    this.#terms = new TermsCheck(this.#approvals, {
      onUnmet: (ruling, line) => report("terms_not_met", line, ruling),
      onOwner: (line) => isStrict && report("owner_stood_in", line),
    });
  }

  get counts(): EvidenceCounts {
    return {
      statements: this.#statements,
      conversations: this.#ends.length,
      links: this.#links,
      contents: this.#contents,
      signed: this.#approvals.signed,
      unchecked: this.#approvals.unchecked,
      judged: this.#terms.judged,
      ownerStoodIn: this.#terms.ownerStoodIn,
      notJudged: this.#terms.notJudged,
      rebuilt: this.#rebuilt,
      anchored: this.anchors.links,
      gaps: this.#gaps,
      findings: this.#findings,
      unknown: this.#unknown,
    };
  }

  read(statement: Statement, payload: Buffer, line: number): void {
    this.#statements += 1;
    switch (statement.type) {
      case "link":
        this.#readLink(statement, line);
        break;
      case "content":
        this.#readContent(statement);
        break;
      case "head":
        this.#enter(statement.conversation);
        this.anchors.readHead(statement, this.#heads.get(statement.length));
        break;
      case "state": {
        this.#enter(statement.conversation);
        const seen = this.#findSeen?.(statement.place);
        // What was seen later, the export could not have.
        const isBefore = seen !== undefined && Date.parse(seen.at) <= Date.parse(this.#exportedAt);
        this.anchors.readState(statement, isBefore ? seen : undefined);
        break;
      }
      case "anchor":
        this.anchors.readAnchor(statement, line);
        break;
      case "finding":
        this.#enter(statement.conversation);
        increase(this.#findings, statement.code);
        this.#approvals.readFinding(statement);
        break;
      case "key":
        this.#approvals.readKey(statement);
        break;
      case "approval":
        this.#enter(statement.conversation);
        this.#approvals.readApproval(statement);
        break;
      case "end":
        this.#readEnd(statement);
        break;
      case "unknown":
        this.#unknown += 1;
        break;
      case "export":
        this.#exportedAt = statement.at;
        break;
    }
    this.#payloads.update(digestOf(payload));
  }

  /** The current end of this conversation's chain. */
  #enter(conversation: string): ConversationEnd {
    const last = this.#ends.at(-1);
    if (last?.conversation === conversation) return last;
    this.#leave();
    if (this.#seen.has(conversation)) this.#report("broken_chain");
    this.#seen.add(conversation);
    this.#committed = new Map();
    this.#comparison = new LinkComparison();
    this.#version = 1;
    this.#heads = new Map();
    const end = { conversation, length: 0, head: "" };
    this.#ends.push(end);
    return end;
  }

  /** Judges the conversation's decisions, once all of it has been read. */
  #leave(): void {
    this.#terms.leave();
    this.#approvals.leave();
  }

  #readLink({ conversation, link }: LinkStatement, line: number): void {
    const { length, head } = this.#enter(conversation);
    const version = versionOf(link);
    const isBroken = !follows(link, { conversation, length, head }) || version < this.#version;
    if (isBroken) this.#report("broken_chain");
    this.#version = Math.max(version, this.#version);
    const end = { conversation, length: length + 1, head: hashLink(link) };
    this.#ends[this.#ends.length - 1] = end;
    this.#heads.set(end.length, end.head);
    this.#links += 1;
    if (link.json["rebuilt"] === true) this.#rebuilt += 1;
    if (link.kind === "gap") increase(this.#gaps, findText(link.json, "reason") ?? "");
    if (!KINDS.has(link.kind)) this.#unknown += 1;
    if (commitmentOf(link) !== undefined) this.#committed.set(link.seq, link);
    this.#approvals.readLink(link);
    this.#terms.readLink(link, line);
  }

  #readContent(content: Content): void {
    const { conversation, seq, salt, event } = content;
    this.#enter(conversation);
    const link = this.#committed.get(seq);
    if (link === undefined) return this.#report("unknown_link");
    if (commitTo(event, salt) !== commitmentOf(link)) return this.#report("commitment_mismatch");
    this.#contents += 1;
    if (!this.#comparison.isSame(link, content)) this.#report("link_mismatch");
    this.#approvals.readContent(content);
    this.#terms.readContent(content);
  }

  #readEnd({ count, conversations, payloads }: End): void {
    this.#leave();
    const isSame =
      count === this.#statements &&
      endsToText(conversations) === endsToText(this.#ends) &&
      payloads === this.#payloads.copy().digest("hex");
    if (!isSame) this.#report("wrong_total");
    this.anchors.end();
  }
}

function endsToText(ends: readonly ConversationEnd[]): string {
  return canonicalJson(ends.map((each) => ({ ...each })));
}

const KINDS: ReadonlySet<string> = new Set(["start", "event", "gap"]);

/** A chain's first link names its conversation. */
function follows(link: ChainLink, { conversation, length, head }: ConversationEnd): boolean {
  if (link.seq !== length || link.prev !== head) return false;
  const isStart = link.kind === "start" && findText(link.json, "conversation") === conversation;
  return length === 0 ? isStart : link.kind !== "start";
}

function increase(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
