/** Loads a command's config, without the parts that the user has not trusted. */
import {
  foldLayers,
  type Layer,
  loadLayers,
  type PartialConfig,
  ungroup,
} from "../settings/config/index.ts";
import type { InquiryId } from "../record/conversation/index.ts";
import { findInstructions, type InstructionFile, shippedConfig } from "../assemble/index.ts";
import { type ConversationWriter, userDataFolder, type Workspace } from "../stores/index.ts";
import type { TerminalPrompter } from "../surfaces/terminal/index.ts";
import {
  describeWithheld,
  resolveTrustedConfig,
  TRUST_HINT,
  type TrustedConfig,
  type TrustRequest,
  WorkspaceTrust,
} from "../settings/trust/index.ts";
import { type CommandContext, warnOnce } from "./context.ts";
import type { Host } from "./host.ts";
import { type ConfigFlags, configPlaces, findWorkspace, loadConfig } from "./load-config.ts";
import { findQuietPrompter, type InteractionFlags } from "./prompter.ts";
import { rememberedConfig } from "./remembered-config.ts";

/** The settings before and after the user is asked for trust. */
export interface UntrustedConfig extends Pick<TrustedConfig, "config" | "withheld"> {
  /** Applies if the user says yes. */
  readonly wanted: PartialConfig;
}

export interface TrustedConfigFlags extends ConfigFlags {
  /** Called before the user is asked. Its errors replace the question. */
  readonly beforeAsking?: (untrusted: UntrustedConfig) => Promise<void>;
}

/** Asks the user only if `interaction` is given. Throws config errors, and `workspace_not_trusted`. */
export async function trustedConfig(
  context: CommandContext,
  flags: TrustedConfigFlags,
  interaction?: InteractionFlags,
): Promise<TrustedConfig> {
  const layers = await loadConfig(context, flags);
  const workspace = findWorkspace(context);
  return resolveTrustedConfig(workspace && workspaceTrust(context, workspace), {
    layers,
    conversationId: flags.id,
    instructions: flags.usesInstructions === true ? workspaceInstructions(context, layers) : [],
    directives: flags.directives,
    ask: async (question, without) => {
      const person = interaction && findQuietPrompter(context, foldLayers(layers), interaction);
      if (person?.canAsk() !== true) return undefined;
      await flags.beforeAsking?.({ ...without, wanted: foldLayers(layers) });
      const refused = REFUSED.get(context.host);
      if (refused !== undefined && refused === question.context) return false;
      const isTrusted = await askTrust(person, question);
      if (!isTrusted && question.context !== undefined) REFUSED.set(context.host, question.context);
      return isTrusted;
    },
  });
}

/** The `AGENTS.md` files for the current folder, trusted or not; none if the config disables them. */
export function workspaceInstructions(
  context: CommandContext,
  layers: readonly Layer[],
): readonly InstructionFile[] {
  const workspace = findWorkspace(context);
  const { agents_md: isWanted = true } = foldLayers(layers).conversation?.surroundings ?? {};
  if (workspace === undefined || !isWanted) return [];
  return findInstructions({ folder: context.cwd, root: workspace.root });
}

/** Config that the user declined to trust in this process. A session asks about it once, not for each message. */
const REFUSED = new WeakMap<Host, string>();

export function workspaceTrust(
  { environment }: Pick<CommandContext, "environment">,
  { root }: Pick<Workspace, "root">,
): WorkspaceTrust {
  const { variables } = environment;
  return new WorkspaceTrust({ root, dataFolder: userDataFolder(environment), variables });
}

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
  question: Parameters<NonNullable<TrustRequest["ask"]>>[0],
): Promise<boolean> {
  const { signal } = new AbortController();
  // The question is not part of any conversation.
  const result = await person.ask({ inquiryId: "trust" as InquiryId, question, signal });
  return result.type === "answered" && result.answer === true;
}

export function warnWithheld({ withheld }: TrustedConfig, context: CommandContext): void {
  if (withheld.length > 0) warnOnce(`${describeWithheld(withheld)} ${TRUST_HINT}`, context);
}

/** Trusts the config now recorded in the conversation: see `WorkspaceTrust.trustRecord`. */
export async function trustRecord(
  context: CommandContext,
  trusted: TrustedConfig,
  { id, stream }: ConversationWriter,
): Promise<void> {
  const trust = workspaceTrust(context, context.workspace);
  await trust.trustRecord(trusted, { id, config: await rememberedConfig(stream) });
}
