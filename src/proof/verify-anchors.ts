/** Checks an export's anchors: chains must pass through the anchored heads, and the anchors' proofs must hold. */
import { X509Certificate } from "node:crypto";
import { isSteppedBack, type SignedState } from "../stores/index.ts";
import { loadModule } from "../util/index.ts";
import {
  digestOfDocument,
  digestOfHead,
  digestOfState,
  documentToText,
  type GitProof,
  type TimestampProof,
} from "./anchor.ts";
import type { Clone } from "./git-anchor.ts";
import type { AnchorStatement, HeadStatement, StateStatement } from "./statement.ts";

export type AnchorProblemCode =
  /** An anchored head is not in the chain. */
  | "anchor_mismatch"
  /** A head or state is in none of the export's anchors. */
  | "anchor_missing"
  /** The record has an older state of a turn than was anchored, or seen before the export. */
  | "stepped_back"
  /** The time stamp does not cover the anchor. */
  | "bad_timestamp"
  /** The time stamp is not from a trusted authority. */
  | "untrusted_timestamp"
  /** The clone does not have an anchor's commit. */
  | "commit_missing";

export interface AnchorExpectations {
  /** Certificates of time stamp authorities. Without them, any authority is accepted. */
  readonly authorities?: readonly X509Certificate[];
  /** A clone of the repository that anchors were pushed to. Without it, commits are not looked up. */
  readonly clone?: Clone;
}

/** An anchor whose heads are in the export. */
export interface VerifiedAnchor {
  /** The digest of the anchored document. */
  readonly sha256: string;
  /** By the machine's clock. */
  readonly at: string;
  /** The number of its heads in the export. */
  readonly heads: number;
  readonly by: VerifiedTimestamp | VerifiedCommit;
}

export interface VerifiedTimestamp {
  readonly kind: "timestamp";
  readonly url: string;
  /** By the authority's clock. */
  readonly time: string;
  /** The name in the authority's certificate. */
  readonly authority: string;
  /** The certificate was checked. */
  readonly isTrusted: boolean;
}

export interface VerifiedCommit extends GitProof {
  /** The commit was found in the clone. */
  readonly isFound: boolean;
}

interface FoundAnchor {
  readonly anchor: AnchorStatement;
  readonly heads: number;
  readonly line: number;
}

type Report = (code: AnchorProblemCode, line?: number) => void;

/** Collects heads and anchors. An anchor follows its heads. */
export class AnchorCheck {
  readonly #report: Report;
  readonly #heads = new Map<string, { readonly statement: HeadStatement; isAnchored: boolean }>();
  readonly #found: FoundAnchor[] = [];
  /** That of the record of the last conversation that has one. */
  #state: StateStatement | undefined;
  /** Digests of anchored states whose anchor has not followed yet. */
  readonly #unanchored = new Set<string>();

  constructor(report: Report) {
    this.#report = report;
  }

  /** `actual`: the chain's head at that length. */
  readHead(statement: HeadStatement, actual: string | undefined): void {
    if (actual !== statement.head) return this.#report("anchor_mismatch");
    const digest = digestOfHead({ ...statement, isRemoved: false });
    this.#heads.set(digest, { statement, isAnchored: false });
  }

  /** `seen`: the state that a machine has seen of the turn before the export. */
  readState(statement: StateStatement, seen: SignedState | undefined): void {
    const { conversation, isAnchored } = statement;
    if (!isAnchored) {
      this.#state = statement;
      if (isSteppedBack(statement, seen)) this.#report("stepped_back");
      return;
    }
    this.#unanchored.add(digestOfState(statement));
    const isSame = this.#state?.conversation === conversation;
    if (isSame && this.#state && isSteppedBack(this.#state, statement))
      this.#report("stepped_back");
  }

  readAnchor(anchor: AnchorStatement, line: number): void {
    for (const digest of anchor.document.heads) this.#unanchored.delete(digest);
    const heads = anchor.document.heads.flatMap((digest) => this.#heads.get(digest) ?? []);
    for (const head of heads) head.isAnchored = true;
    this.#found.push({ anchor, heads: heads.length, line });
  }

  end(): void {
    for (const _ of this.#unanchored) this.#report("anchor_missing");
    for (const { isAnchored } of this.#heads.values()) {
      if (!isAnchored) this.#report("anchor_missing");
    }
  }

  /** The number of links covered by an anchored head. */
  get links(): number {
    const longest = new Map<string, number>();
    for (const { statement } of this.#heads.values()) {
      const { conversation, length } = statement;
      longest.set(conversation, Math.max(length, longest.get(conversation) ?? 0));
    }
    return [...longest.values()].reduce((sum, length) => sum + length, 0);
  }

  /** Checks the anchors' proofs. Only for evidence that is otherwise valid. */
  async checkProofs({
    authorities,
    clone,
  }: AnchorExpectations): Promise<readonly VerifiedAnchor[]> {
    const verified: VerifiedAnchor[] = [];
    for (const { anchor, heads, line } of this.#found) {
      const { at, document, proof } = anchor;
      const sha256 = digestOfDocument(document);
      if (proof.kind === "git") {
        const isFound = (await clone?.has(proof, sha256)) ?? false;
        if (clone !== undefined && !isFound) this.#report("commit_missing", line);
        verified.push({ sha256, at, heads, by: { ...proof, isFound } });
        continue;
      }
      const by = await this.#checkTimestamp(proof, documentToText(document), authorities);
      if (typeof by === "string") this.#report(by, line);
      else verified.push({ sha256, at, heads, by });
    }
    return verified;
  }

  async #checkTimestamp(
    { url, response }: TimestampProof,
    text: string,
    trusted: AnchorExpectations["authorities"],
  ): Promise<VerifiedTimestamp | AnchorProblemCode> {
    const { checkTimestamp, TimestampError } = await loadModule(() => import("./timestamp.ts"));
    const bytes = Buffer.from(response, "base64");
    try {
      const checked = checkTimestamp(bytes, Buffer.from(text), { ...(trusted && { trusted }) });
      const { at: time, authority, isTrusted } = checked;
      if (isTrusted === false) return "untrusted_timestamp";
      return { kind: "timestamp", url, time, authority, isTrusted: isTrusted === true };
    } catch (error) {
      if (!(error instanceof TimestampError)) throw error;
      return "bad_timestamp";
    }
  }
}

/** All certificates in a PEM file. Throws if there is none, or one is malformed. */
export function parseCertificates(pem: string): readonly X509Certificate[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new TypeError("no certificate");
  return found.map((text) => new X509Certificate(text));
}
