/**
 * What is anchored outside of this machine: a document with the digests of heads that the log has noted since the anchor
 * before, and the digest of that one. A digest shows nothing of its head, so that an export can show some and keep others.
 */
import type { NotedHead } from "../stores/index.ts";
import {
  arrayField,
  canonicalJson,
  JpError,
  type JsonObject,
  objectField,
  oneOf,
  sha256,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
} from "../util/index.ts";

/** The digest of its canonical JSON is what others have seen. */
export interface AnchorDocument {
  /** The digest of the document before. Empty in the first. */
  readonly prev: string;
  /** The digests of heads, in the order of the log. */
  readonly heads: readonly string[];
}

/** A document, and how others can tell that it was there. */
export interface Anchor {
  /** By the clock of the machine. */
  readonly at: string;
  readonly document: AnchorDocument;
  readonly proof: AnchorProof;
}

export type AnchorProof = TimestampProof | GitProof;

/** A time stamp of RFC 3161. */
export interface TimestampProof {
  readonly kind: "timestamp";
  readonly url: string;
  /** The whole response, in base64. */
  readonly response: string;
}

/** A commit in a repository elsewhere, with a file that has the digest. */
export interface GitProof {
  readonly kind: "git";
  readonly remote: string;
  readonly branch: string;
  readonly commit: string;
  readonly file: string;
}

/**
 * `anchor_failed`: it could not be reached, or something went wrong there. `anchor_refused`: the authority refused.
 * `anchor_invalid`: what it sent is not a time stamp of what it was asked for.
 */
export type AnchorErrorCode = "anchor_failed" | "anchor_refused" | "anchor_invalid";

export class AnchorError extends JpError<AnchorErrorCode> {
  /** `reason`: the end of a sentence, without a full stop. */
  constructor(code: AnchorErrorCode, reason: string, cause?: unknown) {
    super(code, `Cannot anchor the log of heads: ${reason}.`, { cause });
  }
}

/** Without the workspace: its path is no one else's business. */
export type AnchoredHead = Pick<NotedHead, "conversation" | "length" | "head" | "isRemoved">;

export function digestOfHead({ conversation, length, head, isRemoved }: AnchoredHead): string {
  return sha256(canonicalJson({ conversation, length, head, ...(isRemoved && { removed: true }) }));
}

/** What is anchored: the bytes that a time stamp is for. */
export function documentToText({ prev, heads }: AnchorDocument): string {
  return canonicalJson({ prev, heads: [...heads] });
}

export function digestOfDocument(document: AnchorDocument): string {
  return sha256(documentToText(document));
}

export function anchorToJson({ at, document: { prev, heads }, proof }: Anchor): JsonObject {
  return { at, document: { prev, heads: [...heads] }, proof: { ...proof } };
}

/** Throws `ShapeError`. */
export function parseAnchor(shape: Shape): Anchor {
  const document = objectField(shape, "document");
  const prev = stringField(document, "prev");
  if (prev !== "") assertDigest(prev, "document.prev");
  return {
    at: stringField(shape, "at"),
    document: {
      prev,
      heads: arrayField(document, "heads").map((digest) => assertDigest(digest, "document.heads")),
    },
    proof: parseProof(shapeOf(shape.value["proof"], "proof")),
  };
}

function parseProof(shape: Shape): AnchorProof {
  const kind = oneOf(shape, "kind", ["timestamp", "git"]);
  if (kind === "timestamp") {
    return { kind, url: stringField(shape, "url"), response: stringField(shape, "response") };
  }
  const [commit, file] = [stringField(shape, "commit"), stringField(shape, "file")];
  // Both become words of a command.
  if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit)) throw new ShapeError("commit", "not an id");
  if (!/^[0-9a-f]{64}\.json$/.test(file)) throw new ShapeError("file", "not the name of one");
  return {
    kind,
    remote: stringField(shape, "remote"),
    branch: stringField(shape, "branch"),
    commit,
    file,
  };
}

function assertDigest(value: unknown, path: string): string {
  if (typeof value === "string" && /^[0-9a-f]{64}$/.test(value)) return value;
  throw new ShapeError(path, "not a digest");
}
