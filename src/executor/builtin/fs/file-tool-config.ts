/** What the configs of the file tools have in common. */
import type { PartialToolConfig } from "../../../config/index.ts";

export interface FileToolTexts {
  /** Sent with every request. */
  readonly summary: string;
  /** Given when the model asks for it. */
  readonly description: string;
}

/**
 * Off until enabled. No call asks for permission: each tool only reads, or changes a file only after a
 * question of its own.
 */
export function fileToolConfig(texts: FileToolTexts): PartialToolConfig {
  return {
    ...texts,
    source: "builtin",
    group: "fs",
    enable: { state: false, allow_toggle: "any" },
    run: "unattended",
  };
}
