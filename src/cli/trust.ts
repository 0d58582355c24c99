/** Loads a command's config, without the parts that the user has not trusted. */
import { type Layer, loadLayers, type PartialConfig, ungroup } from "../settings/config/index.ts";
import type { InquiryId } from "../record/conversation/index.ts";
import {
  type AskTrust,
  configPlaces,
  readTrustedConfig,
  shippedConfig,
  workspaceTrust,
} from "../assemble/index.ts";
import type { TerminalPrompter } from "../surfaces/terminal/index.ts";
import type { TrustedConfig } from "../settings/trust/index.ts";
import type { CommandContext } from "./context.ts";
import type { Host } from "./host.ts";
import { type ConfigFlags, toRequest } from "./load-config.ts";
import { findQuietPrompter, type InteractionFlags } from "./prompter.ts";

/** Asks the user only if `interaction` is given. Throws config errors, and `workspace_not_trusted`. */
export async function trustedConfig(
  context: CommandContext,
  { tool: directives, usesInstructions, ...flags }: ConfigFlags,
  interaction?: InteractionFlags,
): Promise<TrustedConfig> {
  return readTrustedConfig(context, {
    ...(await toRequest(context, flags)),
    directives,
    usesInstructions,
    findTruster: interaction && ((config) => findTruster(context, config, interaction)),
  });
}

/** Asks for trust on the terminal. Undefined if there is none. */
export function findTruster(
  context: CommandContext,
  config: PartialConfig,
  interaction: InteractionFlags,
): AskTrust | undefined {
  const person = findQuietPrompter(context, config, interaction);
  if (person?.canAsk() !== true) return undefined;
  return async (question) => {
    const refused = REFUSED.get(context.host);
    if (refused !== undefined && refused === question.context) return false;
    const isTrusted = await askTrust(person, question);
    if (!isTrusted && question.context !== undefined) REFUSED.set(context.host, question.context);
    return isTrusted;
  };
}

/** Config that the user declined to trust in this process. A session asks about it once, not for each message. */
const REFUSED = new WeakMap<Host, string>();

/**
 * Trusts what the user writes to a workspace config file, and nothing else in it. Skips a config that cannot be
 * loaded, which is reported where it is used.
 */
export async function trustWritten<Value>(
  context: CommandContext,
  added: PartialConfig,
  write: () => Promise<Value>,
): Promise<Value> {
  const load = () => loadLayers({ places: configPlaces(context), ...shippedConfig() });
  const before = await load().catch(() => undefined);
  const result = await write();
  const after = await load().catch(() => undefined);
  if (before !== undefined && after !== undefined) {
    const layer: Layer = { name: "", config: added, isFromWorkspace: true };
    const { layers } = await ungroup([...before.layers, layer]);
    const written = layers.at(-1)?.config ?? {};
    const trust = workspaceTrust(context, context.workspace);
    await trust.trustWritten({ before: before.layers, after: after.layers, written });
  }
  return result;
}

/** Returns false if the user declines or does not answer. */
export async function askTrust(
  person: TerminalPrompter,
  question: Parameters<AskTrust>[0],
): Promise<boolean> {
  const { signal } = new AbortController();
  // The question is not part of any conversation.
  const result = await person.ask({ inquiryId: "trust" as InquiryId, question, signal });
  return result.type === "answered" && result.answer === true;
}
