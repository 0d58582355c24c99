/** Where to anchor the log of heads, from the user's own config. */
import { configError } from "./config-error.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

/** One place outside this machine. */
export type AnchorSettings = (
  | { readonly kind: "timestamp"; readonly url: string }
  | { readonly kind: "git"; readonly remote: string; readonly branch: string }
) & {
  /** If false, only on demand. */
  readonly isDaily: boolean;
};

const DEFAULT_BRANCH = "jp-anchors";

/** Undefined if nothing is configured. Throws `config_invalid`. */
export function resolveAnchor({ proof = {} }: PartialConfig): AnchorSettings | undefined {
  const { timestamp: url, git: remote, branch = DEFAULT_BRANCH, every } = proof.anchor ?? {};
  const isDaily = every === "daily";
  if (url !== undefined && remote !== undefined) {
    const message = "expected either timestamp or git, not both";
    throw configError("config", { path: ["proof", "anchor"], message });
  }
  if (url !== undefined) return { kind: "timestamp", url, isDaily };
  return remote === undefined ? undefined : { kind: "git", remote, branch, isDaily };
}
