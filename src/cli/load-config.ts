/** Loads a command's config from files, variables and the command line. */
import {
  applyDirectives,
  foldLayers,
  type Layer,
  type PartialConfig,
} from "../settings/config/index.ts";
import { type ConfigRequest, readConfig } from "../assemble/index.ts";
import type { Conversation } from "../stores/index.ts";
import type { CommandContext } from "./context.ts";
import { resolveTarget } from "./conversations.ts";
import type { CONFIG_OPTIONS, FlagsOf, TOOL_OPTIONS } from "./options.ts";

/** In `.jp`, beside the config, so that the reference to it works on every machine. */
export const SCHEMA_FILE = "config.schema.json";

export interface ConfigFlags extends FlagsOf<typeof CONFIG_OPTIONS & typeof TOOL_OPTIONS> {
  /** A conversation whose remembered config also applies. */
  readonly id?: string;
  /** The same conversation, if it is already loaded. */
  readonly conversation?: Conversation;
  /** Whether the workspace's `AGENTS.md` is used and has to be trusted. */
  readonly usesInstructions?: boolean;
}

/** Prints warnings. Throws `ConfigError` for an invalid config. */
export async function loadConfig(
  context: CommandContext,
  flags: ConfigFlags,
): Promise<readonly Layer[]> {
  return readConfig(context, await toRequest(context, flags));
}

/** Finds the named conversation. Throws what `resolveTarget` and the store throw. */
export async function toRequest(
  context: CommandContext,
  { cfg, id, conversation }: ConfigFlags,
): Promise<ConfigRequest> {
  if (id === undefined || conversation !== undefined) return { cfg, conversation };
  const found = await resolveTarget(context, id);
  return { cfg, conversation: await context.workspace.conversations.load(found.id) };
}

/** All layers folded into one, with `-t` and `-T` applied. */
export async function effectiveConfig(
  context: CommandContext,
  flags: ConfigFlags,
): Promise<PartialConfig> {
  const config = foldLayers(await loadConfig(context, flags));
  return applyDirectives(config, flags.tool ?? []);
}
