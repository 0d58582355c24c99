/** What the configs of the file tools have in common. */
import type { PartialToolConfig } from "../../../config/index.ts";

export interface FileToolTexts {
  /** Sent with every request. */
  readonly summary: string;
  /** Given when the model asks for it. */
  readonly description: string;
}

/** Tools that only read, and tools that change a file only after a question of their own. */
export function unattended(texts: FileToolTexts): PartialToolConfig {
  return { ...texts, ...OFF_UNTIL_ENABLED, run: "unattended" };
}

/** Tools that can change something without having asked. */
export function afterApproval(texts: FileToolTexts): PartialToolConfig {
  return { ...texts, ...OFF_UNTIL_ENABLED, run: "ask" };
}

const OFF_UNTIL_ENABLED = {
  source: "builtin",
  group: "fs",
  enable: { state: false, allow_toggle: "any" },
} as const;
