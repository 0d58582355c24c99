/** What a conversation remembers of its config. */
import { conversationConfig, type PartialConfig } from "../config/index.ts";
import type { ConversationStream } from "../conversation/index.ts";

/** Never throws. */
export function rememberedConfig({ baseConfig, entries }: ConversationStream): PartialConfig {
  const deltas = entries.flatMap(({ content }) =>
    content.kind === "config_delta" ? [content.delta] : [],
  );
  return conversationConfig(baseConfig, deltas);
}
