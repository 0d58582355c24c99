/** The state of a path of a workspace at one moment: enough to detect a change, and to restore it. */
import { integerField, mismatch, type JsonObject, shapeOf, stringField } from "../../util/index.ts";

export type EntryState =
  | { readonly kind: "absent" }
  /** `digest` is the SHA-256 of its content, which is in the store. */
  | {
      readonly kind: "file";
      readonly mode: number;
      readonly size: number;
      readonly digest: string;
    }
  | { readonly kind: "link"; readonly target: string }
  | { readonly kind: "folder"; readonly mode: number }
  /** Something that cannot be restored. `identity` changes with it. */
  | { readonly kind: "unkept"; readonly reason: UnkeptReason; readonly identity: string };

/**
 * `special`: a pipe, a socket or a device. `repository`: a submodule or another repository inside the workspace. `ignored`:
 * Git ignores it.
 */
export type UnkeptReason = "too_large" | "unreadable" | "special" | "repository" | "ignored";

export const ABSENT: EntryState = { kind: "absent" };

const REASONS: readonly UnkeptReason[] = [
  "too_large",
  "unreadable",
  "special",
  "repository",
  "ignored",
];

export function isSameState(left: EntryState, right: EntryState): boolean {
  switch (left.kind) {
    case "absent":
      return right.kind === "absent";
    case "file":
      return right.kind === "file" && left.mode === right.mode && left.digest === right.digest;
    case "link":
      return right.kind === "link" && left.target === right.target;
    case "folder":
      return right.kind === "folder" && left.mode === right.mode;
    case "unkept":
      return right.kind === "unkept" && left.identity === right.identity;
  }
}

export function stateToJson(state: EntryState): JsonObject {
  return { ...state };
}

/** Throws `ShapeError`. */
export function parseState(value: unknown): EntryState {
  const shape = shapeOf(value);
  const { kind } = shape.value;
  switch (kind) {
    case "absent":
      return ABSENT;
    case "file": {
      const digest = stringField(shape, "digest");
      if (!/^[0-9a-f]{64}$/.test(digest)) throw mismatch("digest", "a digest", digest);
      return {
        kind,
        mode: integerField(shape, "mode"),
        size: integerField(shape, "size"),
        digest,
      };
    }
    case "link":
      return { kind, target: stringField(shape, "target") };
    case "folder":
      return { kind, mode: integerField(shape, "mode") };
    case "unkept": {
      const text = stringField(shape, "reason");
      const reason = REASONS.find((one) => one === text) ?? "unreadable";
      return { kind, reason, identity: stringField(shape, "identity") };
    }
    default:
      throw mismatch("kind", "a known kind", kind);
  }
}
