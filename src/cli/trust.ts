/**
 * Config that is safe to act on: what the workspace's own files would have run or reached counts only
 * once a person at this machine has trusted it. Asked once, and again when it changes.
 */
import path from "node:path";
import type { Prompter } from "../agent/index.ts";
import {
  allClaims,
  applyDirectives,
  type Claim,
  conversationConfig,
  findClaims,
  foldLayers,
  type Layer,
  type PartialConfig,
  withoutClaims,
} from "../config/index.ts";
import type { ConversationStream, InquiryId } from "../conversation/index.ts";
import { booleanQuestion } from "../tool/index.ts";
import { CodedError, isCodedError } from "../util/index.ts";
import { describeClaim, listClaims } from "./claim-text.ts";
import type { CommandContext } from "./compose.ts";
import { type ConfigFlags, findWorkspace, loadConfig } from "./load-config.ts";
import { findPresentPerson, type InteractionFlags } from "./prompter.ts";
import { warn } from "./warnings.ts";

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
  const withheld = await withhold(context, layers, interaction);
  const config = withoutClaims(foldLayers(layers), withheld, layers);
  try {
    return { config: applyDirectives(config, flags.directives ?? []), withheld, layers };
  } catch (error) {
    if (!isCodedError(error) || error.code !== "unknown_tool") throw error;
    for (const { name = "" } of flags.directives ?? []) refuseUntrusted(name, withheld);
    throw error;
  }
}

/** The claims that are not trusted, also after the person was asked. */
async function withhold(
  context: CommandContext,
  layers: readonly Layer[],
  interaction: InteractionFlags | undefined,
): Promise<readonly Claim[]> {
  const claims = await untrustedClaims(context, layers);
  if (claims.length === 0) return [];
  const person = interaction && findPresentPerson(context, foldLayers(layers), interaction);
  if (person?.canAsk() !== true) return claims;
  if (!(await askTrust(person, claims))) return claims;
  await trustClaims(context, claims);
  return [];
}

export const TRUST_HINT = "`jp trust` shows what it is, and asks.";

/** What the workspace brings that nobody has trusted yet. */
export async function untrustedClaims(
  context: CommandContext,
  layers: readonly Layer[],
): Promise<readonly Claim[]> {
  const claims = findClaims(layers);
  const workspace = findWorkspace(context);
  if (claims.length === 0 || workspace === undefined || isTrustedByVariable(context)) return [];
  const trusted = await workspace.trust.trusted(claims.map(wordsOf));
  return claims.filter((claim) => !trusted.has(wordsOf(claim)));
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
  const question = booleanQuestion("trust", "Trust this workspace with that?", {
    context: [
      "The files of this workspace name programs to run or places to reach that you have not trusted yet:",
      ...listClaims(claims),
      "With no, everything goes on without them. You are asked again when they change.",
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
  { workspace }: CommandContext,
  claims: readonly Claim[],
): Promise<void> {
  await workspace.trust.trust(claims.map(wordsOf));
}

/**
 * What a conversation remembers of a config came from the person who is here, or was trusted: the
 * next turn need not ask about it, although the record lies in the workspace.
 */
export async function trustRecord(
  context: CommandContext,
  { layers, withheld }: TrustedConfig,
  { baseConfig, entries }: ConversationStream,
): Promise<void> {
  const deltas = entries.flatMap(({ content }) =>
    content.kind === "config_delta" ? [content.delta] : [],
  );
  const config = conversationConfig(baseConfig, deltas);
  const files = layers.filter(({ name }) => name !== "conversation");
  const claims = allClaims([...files, { name: "conversation", config, isOfWorkspace: true }]);
  const isWithheld = ({ kind, name }: Claim) =>
    withheld.some((claim) => claim.kind === kind && claim.name === name);
  await trustClaims(
    context,
    claims.filter((claim) => !isWithheld(claim)),
  );
}

/** Throws `workspace_not_trusted` if it is a tool that is withheld. */
export function refuseUntrusted(tool: string, withheld: readonly Claim[]): void {
  if (!withheld.some(({ kind, name }) => kind === "tool" && name === tool)) return;
  const message = `The tool ${tool} comes with this workspace, which nobody has trusted yet.`;
  throw new CodedError("workspace_not_trusted", message, { hint: TRUST_HINT });
}

/** Folders whose workspaces are trusted, for machines at which nobody sits. */
function isTrustedByVariable({ environment, workspace, cwd }: CommandContext): boolean {
  const folders = (environment.variables["JP_TRUSTED_WORKSPACES"] ?? "").split(path.delimiter);
  return folders.some((folder) => {
    if (folder === "") return false;
    const relative = path.relative(path.resolve(cwd, folder), workspace.root);
    return relative === "" || !(relative.startsWith("..") || path.isAbsolute(relative));
  });
}

/** The same for the same claim, whatever the order of its keys, and whichever file says it. */
function wordsOf({ kind, name, value }: Claim): string {
  return JSON.stringify([kind, name, value], (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(
          Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)),
        )
      : member,
  );
}
