/**
 * Config that is safe to act on: what the workspace's own files would have run or reached counts only
 * once a person at this machine has trusted it. Asked once, and again when it changes.
 */
import { existsSync, realpathSync } from "node:fs";
import path from "node:path";
import type { Prompter } from "../agent/index.ts";
import {
  applyDirectives,
  type Claim,
  findClaims,
  foldLayers,
  isClaimWithin,
  type Layer,
  type PartialConfig,
  resolveTools,
  withoutClaims,
} from "../config/index.ts";
import type { InquiryId } from "../conversation/index.ts";
import type { ConversationWriter, Workspace } from "../storage/index.ts";
import { booleanQuestion } from "../tool/index.ts";
import { CodedError, isCodedError } from "../util/index.ts";
import { describeClaim, listClaims } from "./claim-text.ts";
import { type CommandContext, warn } from "./context.ts";
import { type ConfigFlags, findWorkspace, loadConfig } from "./load-config.ts";
import { findQuietPrompter, type InteractionFlags } from "./prompter.ts";
import { rememberedConfig } from "./remembered-config.ts";

export interface TrustedConfig {
  readonly config: PartialConfig;
  /** What is not trusted, and therefore not in it. */
  readonly withheld: readonly Claim[];
  readonly layers: readonly Layer[];
}

/**
 * The config in force, without what nobody trusts. With `interaction` a person is asked.
 * Throws what is wrong with a config, and `workspace_not_trusted` where a directive names such a tool.
 */
export async function trustedConfig(
  context: CommandContext,
  flags: ConfigFlags,
  interaction?: InteractionFlags,
): Promise<TrustedConfig> {
  const layers = await loadConfig(context, flags);
  const withheld = await withhold(context, { layers, conversation: flags.id }, interaction);
  const config = withoutClaims(layers, withheld);
  try {
    return { config: applyDirectives(config, flags.directives ?? []), withheld, layers };
  } catch (error) {
    if (!isCodedError(error) || error.code !== "unknown_tool") throw error;
    for (const { name = "" } of flags.directives ?? []) refuseUntrusted(name, { config, withheld });
    throw error;
  }
}

/** The claims that are not trusted, also after the person was asked. */
async function withhold(
  context: CommandContext,
  { layers, conversation }: { layers: readonly Layer[]; conversation: string | undefined },
  interaction: InteractionFlags | undefined,
): Promise<readonly Claim[]> {
  const claims = await untrustedClaims(context, layers, conversation);
  if (claims.length === 0) return [];
  const person = interaction && findQuietPrompter(context, foldLayers(layers), interaction);
  if (person?.canAsk() !== true) return claims;
  if (!(await askTrust(person, claims))) return claims;
  await trustClaims(context.workspace, claims);
  return [];
}

export const TRUST_HINT = "`jp trust` shows what it is, and asks.";

/** What the workspace brings that nobody has trusted yet, nor for this conversation alone. */
export async function untrustedClaims(
  context: CommandContext,
  layers: readonly Layer[],
  conversation?: string,
): Promise<readonly Claim[]> {
  const claims = findClaims(layers);
  const workspace = findWorkspace(context);
  if (claims.length === 0 || workspace === undefined || isTrustedByVariable(context)) return [];
  const wordings = [undefined, ...(conversation === undefined ? [] : [conversation])];
  const texts = (claim: Claim) => wordings.map((place) => wordsOf(claim, place));
  const trusted = await workspace.trust.trusted(claims.flatMap(texts));
  return claims.filter((claim) => !texts(claim).some((text) => trusted.has(text)));
}

/** What a command goes on without. */
export function tellWithheld({ withheld }: TrustedConfig, { output }: CommandContext): void {
  if (withheld.length > 0) warn(`${describeWithheld(withheld)} ${TRUST_HINT}`, output);
}

export function describeWithheld(claims: readonly Claim[]): string {
  const names = claims.map(describeClaim).join(", ");
  return `not used, because nobody has trusted this workspace: ${names}.`;
}

/** False if the person says no, or nothing. */
export async function askTrust(person: Prompter, claims: readonly Claim[]): Promise<boolean> {
  const things = claims.length === 1 ? "one thing" : `${claims.length} things`;
  const question = booleanQuestion("trust", "Trust this workspace with that?", {
    context: [
      `The files of this workspace bring ${things} that you have not trusted yet:`,
      ...listClaims(claims),
      "With yes, you are asked again when it changes. With no, everything goes on without it for now.",
    ].join("\n"),
    default: false,
    persistence: "none",
  });
  const { signal } = new AbortController();
  // It is not part of any conversation.
  const result = await person.ask({ inquiryId: "trust" as InquiryId, question, signal });
  return result.type === "answered" && result.answer === true;
}

/** Throws `write_failed`. */
export async function trustClaims(
  { trust }: Pick<Workspace, "trust">,
  claims: readonly Claim[],
): Promise<void> {
  await trust.trust(claims.map((claim) => wordsOf(claim)));
}

/**
 * What a conversation remembers of the config that is in force came from the person who is here, or was
 * trusted: its next turn need not ask about it, although the record lies in the workspace. What else
 * the record holds by now is not trusted, nor is what a variable lets through for the time being.
 */
export async function trustRecord(
  context: CommandContext,
  { layers, config: inForce }: TrustedConfig,
  { id, stream }: ConversationWriter,
): Promise<void> {
  if (isTrustedByVariable(context)) return;
  const config = rememberedConfig(stream);
  const standing = layers.filter(({ name, isForOnce }) => name !== "conversation" && !isForOnce);
  const record: Layer = { name: "conversation", config, isOfWorkspace: true };
  const claims = await untrustedClaims(context, [...standing, record], id);
  const wanted = claims.filter((claim) => isClaimWithin(inForce, claim));
  await context.workspace.trust.trust(wanted.map((claim) => wordsOf(claim, id)));
}

/**
 * Throws `workspace_not_trusted` if the tool is withheld. One that is there without the workspace is not: what
 * the workspace says of it does not count, and that is all.
 */
export function refuseUntrusted(
  tool: string,
  { config, withheld }: Pick<TrustedConfig, "config" | "withheld">,
): void {
  if (resolveTools(config).has(tool)) return;
  if (!withheld.some(({ kind, name }) => kind === "tool" && name === tool)) return;
  const message = `The tool ${tool} comes with this workspace, which nobody has trusted yet.`;
  throw new CodedError("workspace_not_trusted", message, { hint: TRUST_HINT });
}

/** Folders whose workspaces are trusted, for machines at which nobody sits. A relative one would be any. */
function isTrustedByVariable({ environment, workspace }: CommandContext): boolean {
  const folders = (environment.variables["JP_TRUSTED_WORKSPACES"] ?? "").split(path.delimiter);
  const root = realpathSync(workspace.root);
  return folders.some((folder) => {
    if (!path.isAbsolute(folder) || !existsSync(folder)) return false;
    const relative = path.relative(realpathSync(folder), root);
    return relative.split(path.sep)[0] !== ".." && !path.isAbsolute(relative);
  });
}

/**
 * The same for the same claim, whatever the order of its keys, and whichever file says it. Of a
 * conversation, if it is trusted there alone.
 */
function wordsOf({ kind, name, value }: Claim, conversation?: string): string {
  const place = conversation === undefined ? [] : [conversation];
  return JSON.stringify([kind, name, value, ...place], (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(
          Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)),
        )
      : member,
  );
}
