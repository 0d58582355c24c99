/**
 * The content anchored outside of this machine: a document with the digests of the heads logged since the previous
 * anchor, and the previous document's digest. A digest reveals nothing about its head, so an export can show some heads
 * and withhold others.
 */
import { type NotedHead, type SignedState, signedToJson } from "../stores/index.ts";
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

/** The digest of its canonical JSON is anchored. */
export interface AnchorDocument {
  /** The previous document's digest. Empty in the first. */
  readonly prev: string;
  /** Digests of heads and of signed states, in log order. */
  readonly heads: readonly string[];
}

/** A document and the proof that it existed. */
export interface Anchor {
  /** By the machine's clock. */
  readonly at: string;
  readonly document: AnchorDocument;
  readonly proof: AnchorProof;
}

export type AnchorProof = TimestampProof | GitProof;

/** An RFC 3161 time stamp. */
export interface TimestampProof {
  readonly kind: "timestamp";
  readonly url: string;
  /** The whole response, in base64. */
  readonly response: string;
}

/** A commit in a remote repository, with a file that contains the digest. */
export interface GitProof {
  readonly kind: "git";
  readonly remote: string;
  readonly branch: string;
  readonly commit: string;
  readonly file: string;
}

/**
 * `anchor_failed`: the remote was unreachable or failed. `anchor_refused`: the authority refused. `anchor_invalid`: the
 * response is not a time stamp for the request.
 */
export type AnchorErrorCode = "anchor_failed" | "anchor_refused" | "anchor_invalid";

export class AnchorError extends JpError<AnchorErrorCode> {
  /** `reason`: the end of a sentence, without a full stop. */
  constructor(code: AnchorErrorCode, reason: string, cause?: unknown) {
    super(code, `Cannot anchor the log of heads: ${reason}.`, { cause });
  }
}

/** Omits the workspace: its path is private. */
export type AnchoredHead = Pick<NotedHead, "conversation" | "length" | "head" | "isRemoved">;

export function digestOfHead({ conversation, length, head, isRemoved }: AnchoredHead): string {
  return sha256(canonicalJson({ conversation, length, head, ...(isRemoved && { removed: true }) }));
}

/** The signed state of a conversation's last turn. An anchor covers it beside its head. */
export interface AnchoredState extends SignedState {
  readonly conversation: string;
}

export function digestOfState({ conversation, ...state }: AnchoredState): string {
  return sha256(canonicalJson({ conversation, ...signedToJson(state) }));
}

/** The digests of a line of the log of heads, for an anchor. */
export function digestsOf({ turn, ...head }: NotedHead): readonly string[] {
  const { conversation } = head;
  return [digestOfHead(head), ...(turn ? [digestOfState({ conversation, ...turn })] : [])];
}

/** The anchored bytes, which a time stamp covers. */
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
  // Both become arguments of a command.
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
