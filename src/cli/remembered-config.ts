/** What a conversation remembers of its config, and what it has to be told. */
import {
  conversationConfig,
  type PartialConfig,
  recordConfig,
  type RecordedConfig,
} from "../config/index.ts";
import { type ConversationStream, StreamEntry, timestampFromDate } from "../conversation/index.ts";
import type { CreateOptions } from "../storage/index.ts";
import type { Clock } from "../util/index.ts";
import { shippedConfig } from "../runtime/index.ts";

/** Never throws. */
export function rememberedConfig({ baseConfig, entries }: ConversationStream): PartialConfig {
  const deltas = entries.flatMap(({ content }) =>
    content.kind === "config_delta" || content.kind === "own_config_delta" ? [content.delta] : [],
  );
  return conversationConfig(baseConfig, deltas);
}

/** What a new conversation records of the config it starts with. */
export function configOfNew(
  config: PartialConfig,
  clock: Clock,
): Pick<CreateOptions, "baseConfig" | "entries"> {
  const { shared = {}, ...rest } = recordConfig({ builtins: shippedConfig(), config });
  return { baseConfig: shared, entries: deltasOf(rest, clock) };
}

/** What a conversation that goes on with this config has to record. */
export function configChange(
  stream: ConversationStream,
  config: PartialConfig,
  clock: Clock,
): readonly StreamEntry[] {
  const remembered = rememberedConfig(stream);
  return deltasOf(recordConfig({ builtins: shippedConfig(), remembered, config }), clock);
}

/** In the order in which they count. */
function deltasOf({ shared, own }: RecordedConfig, clock: Clock): readonly StreamEntry[] {
  const timestamp = timestampFromDate(clock.now());
  return [
    ...(shared === undefined ? [] : [{ kind: "config_delta", delta: shared } as const]),
    ...(own === undefined ? [] : [{ kind: "own_config_delta", delta: own } as const]),
  ].map((change) => StreamEntry.fromConfigDelta(timestamp, change));
}
