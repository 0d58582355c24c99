/** The config recorded in a conversation, and how it is read back. */
import {
  conversationConfig,
  type PartialConfig,
  recordConfig,
  type RecordedConfig,
} from "../settings/config/index.ts";
import {
  type ConversationStream,
  StreamEntry,
  timestampFromDate,
} from "../record/conversation/index.ts";
import type { CreateOptions } from "../stores/index.ts";
import type { Clock } from "../util/index.ts";
import { shippedConfig } from "./shipped-tools.ts";

/** Throws `read_failed` and `record_damaged` if the record has not been read yet. */
export async function rememberedConfig(stream: ConversationStream): Promise<PartialConfig> {
  const outline = await stream.outline?.();
  if (outline === undefined) await stream.load?.();
  const deltas = (outline?.deltas ?? stream.entries)
    .filter(({ eventType }) => eventType === undefined) // Decoding all events is slow.
    .flatMap(({ content }) =>
      content.kind === "config_delta" || content.kind === "own_config_delta" ? [content.delta] : [],
    );
  return conversationConfig(stream.baseConfig, deltas);
}

export function configForNewConversation(
  config: PartialConfig,
  clock: Clock,
): Pick<CreateOptions, "baseConfig" | "entries"> {
  const { builtins } = shippedConfig();
  const { shared = {}, ...rest } = recordConfig({ builtins, config });
  return { baseConfig: shared, entries: deltasOf(rest, clock) };
}

/** The deltas to append when a conversation continues with this config. */
export async function configChanges(
  stream: ConversationStream,
  config: PartialConfig,
  clock: Clock,
): Promise<readonly StreamEntry[]> {
  const { builtins } = shippedConfig();
  const remembered = await rememberedConfig(stream);
  return deltasOf(recordConfig({ builtins, remembered, config }), clock);
}

/** Lowest precedence first. */
function deltasOf({ shared, own }: RecordedConfig, clock: Clock): readonly StreamEntry[] {
  const timestamp = timestampFromDate(clock.now());
  return [
    ...(shared === undefined ? [] : [{ kind: "config_delta", delta: shared } as const]),
    ...(own === undefined ? [] : [{ kind: "own_config_delta", delta: own } as const]),
  ].map((change) => StreamEntry.fromConfigDelta(timestamp, change));
}
