/** `jp attachment`: lists, adds, removes and prints a conversation's attachments. */
import {
  attachmentUri,
  findAttachment,
  foldLayers,
  mergeConfig,
  type PartialConfig,
  resolveAttachments,
  withAttachments,
  withoutAttachments,
} from "../../settings/config/index.ts";
import {
  attachmentCode,
  configChanges,
  findWorkspace,
  loadOptions,
  machineOf,
  nameAttachments,
  namingPlace,
  openConfiguredServers,
  rememberedConfig,
  trustRecord,
  warnWithheld,
} from "../../assemble/index.ts";
import {
  formatSize,
  isJpError,
  JpError,
  jsonLine,
  messageOf,
  neutralize,
  oneLine,
} from "../../util/index.ts";
import type { CommandContext } from "../context.ts";
import { resolveTarget } from "../conversations.ts";
import type { Call } from "../define.ts";
import { usageError } from "../exit-status.ts";
import { type ConfigFlags } from "../load-config.ts";
import { trustedConfig } from "../trust.ts";
import type { CONFIG_OPTIONS, FlagsOf } from "../options.ts";
import type { ATTACHMENT, LIST_ATTACHMENTS } from "./options.ts";

export async function listAttachments({
  options,
  context,
}: Call<typeof LIST_ATTACHMENTS>): Promise<void> {
  const { cfg = [], format } = options;
  const id = await findTarget(context, options.id);
  const uris = await listAttached({ cfg, ...(id !== undefined && { id }) }, format, context);
  if (uris.length === 0 && format === "text") context.output.notice("Nothing is attached.");
}

/** Prints and returns the attachments of the config and the conversation. Without an id, only those of the config. */
export async function listAttached(
  flags: ConfigFlags,
  format: "text" | "json",
  context: CommandContext,
): Promise<readonly string[]> {
  const { output } = context;
  const trusted = await trustedConfig(context, flags);
  warnWithheld(trusted, context);
  const uris = resolveAttachments(trusted.config);
  for (const uri of uris) {
    const measured = await measure(uri, uris, context);
    const { size, ...counts } = measured;
    if (format === "json") output.print(jsonLine({ uri, ...counts }));
    else output.print(oneLine(size === "" ? nameOf(uri) : `${nameOf(uri)} (${size})`));
  }
  return uris;
}

interface Measured {
  readonly size: string;
  readonly documents?: number;
  readonly bytes?: number;
}

function isExcluded(uri: string): boolean {
  const source = findAttachment(uri);
  return source?.type === "file" && source.isExcluded;
}

/** Measures only files: a list must not run commands or load pages. */
async function measure(
  uri: string,
  all: readonly string[],
  context: CommandContext,
): Promise<Measured> {
  if (findAttachment(uri)?.type !== "file" || isExcluded(uri)) return { size: "" };
  const { attachmentSize, describeAttachments, loadAttachments } = await attachmentCode();
  try {
    const { root } = machineOf(context);
    const found = await loadAttachments([uri, ...all.filter(isExcluded)], { root });
    const bytes = found.reduce((sum, one) => sum + attachmentSize(one), 0);
    return { size: describeAttachments(found), documents: found.length, bytes };
  } catch (error) {
    return {
      size: messageOf(error).replace(/^Cannot attach [^:]*: |\.$/g, ""),
      documents: 0,
      bytes: 0,
    };
  }
}

/** As a person would write it. */
function nameOf(uri: string): string {
  const source = findAttachment(uri);
  return source?.type === "file" ? `${source.isExcluded ? "!" : ""}${source.path}` : uri;
}

/** Undefined if no word is given and no conversation is active. */
async function findTarget(
  context: CommandContext,
  word: string | undefined,
): Promise<string | undefined> {
  if (findWorkspace(context) === undefined) return undefined;
  try {
    return (await resolveTarget(context, word)).id;
  } catch (error) {
    const isAbsent = isJpError(error) && error.code === "no_active_conversation";
    if (word === undefined && isAbsent) return undefined;
    throw error;
  }
}

export async function addAttachments({
  args,
  options,
  context,
}: Call<typeof ATTACHMENT>): Promise<void> {
  const { uris, files } = await nameAttachments(args, context);
  if (files.length > 0) {
    const name = files[0]?.filename ?? "";
    throw usageError(
      `${name} is outside the workspace.`,
      'To send a copy of it with a message: jp query -a <path> "…"',
    );
  }
  const before = await change(context, options, (config) => withAttachments(config, uris));
  const added = uris.filter((uri) => !resolveAttachments(before).includes(uri));
  report(context, added, { done: "Attached", nothing: "Already attached." });
}

export async function removeAttachments({
  args,
  options,
  context,
}: Call<typeof ATTACHMENT>): Promise<void> {
  const place = namingPlace(context);
  const { nameAttachment } = await attachmentCode();
  const named = args.map((name) => {
    try {
      const found = nameAttachment(name, place);
      return found.type === "kept" ? found.uri : name;
    } catch {
      return attachmentUri(name); // A file that is gone can still be detached.
    }
  });
  const wanted = [...args, ...named];
  const before = await change(context, options, (config) => {
    const attached = resolveAttachments(config);
    const missing = args.find(
      (name, index) => !attached.includes(name) && !attached.includes(named[index] ?? ""),
    );
    if (missing === undefined) return withoutAttachments(config, wanted);
    throw notAttached(missing);
  });
  const removed = resolveAttachments(before).filter((uri) => wanted.includes(uri));
  report(context, removed, { done: "Detached", nothing: "" });
}

export function notAttached(name: string): JpError {
  const hint = "`jp attachment ls` lists attachments, and so does /attach in a session.";
  return new JpError("not_attached", `${name} is not attached.`, { hint });
}

function report(
  { output }: CommandContext,
  uris: readonly string[],
  { done, nothing }: { readonly done: string; readonly nothing: string },
): void {
  for (const uri of uris) output.notice(`${done} ${oneLine(nameOf(uri))}`);
  if (uris.length === 0 && nothing !== "") output.notice(nothing);
}

/**
 * Changes the conversation's attachments and records nothing else. Untrusted ones stay as they are. Returns the
 * previous config.
 */
async function change(
  context: CommandContext,
  options: FlagsOf<typeof ATTACHMENT>,
  action: (config: PartialConfig) => PartialConfig,
): Promise<PartialConfig> {
  const { conversations } = context.workspace;
  const { id } = await resolveTarget(context, options.id);
  await using conversation = await conversations.open(id);
  const trusted = await trustedConfig(context, { id, conversation });
  const config = foldLayers(trusted.layers);
  const changed = action(config);
  if (changed === config) return config;
  const { value = [] } = changed.conversation?.attachments ?? {};
  const attachments = { value, strategy: "replace" as const };
  const { stream } = conversation;
  const recorded = mergeConfig(await rememberedConfig(stream), { conversation: { attachments } });
  const entries = await configChanges(stream, recorded, context.clock);
  if (entries.length > 0) await conversation.appendEntries(entries);
  const added = resolveAttachments(changed).filter(
    (uri) => !resolveAttachments(config).includes(uri),
  );
  const inForce = withAttachments(trusted.config, added);
  await trustRecord(context, { ...trusted, config: inForce }, conversation);
  return config;
}

export async function printAttachment({
  args,
  options,
  context,
}: Call<typeof CONFIG_OPTIONS>): Promise<void> {
  const { output } = context;
  const { cfg = [] } = options;
  const { attachmentSize, loadAttachments } = await attachmentCode();
  const { uris, files } = await nameAttachments(args, context);
  const { config } = await trustedConfig(context, { cfg });
  await using servers = openConfiguredServers(machineOf(context), config);
  const loaded = await loadAttachments(uris, loadOptions(context, servers));
  const outside = files.map((content) => ({ source: content.filename ?? "", content }));
  for (const attachment of [...loaded, ...outside]) {
    const { source, content } = attachment;
    const size = formatSize(attachmentSize(attachment));
    if (typeof content === "string") {
      output.notice(`${oneLine(source)} (${size})`);
      output.write(output.isTerminal ? neutralize(content) : content);
      if (!content.endsWith("\n")) output.write("\n");
    } else {
      output.notice(oneLine(`${source} (${content.mediaType}, ${size}): not shown`));
    }
  }
}
