/** Attachments of a turn: names from the command line and from messages, and their content. */
import type {
  AttachmentError,
  LoadAttachmentsOptions,
  NamingPlace,
} from "../reach/attachment/index.ts";
import {
  type AssistantSettings,
  namesSecretFile,
  type PartialConfig,
  resolveAttachments,
  withAttachments,
} from "../settings/config/index.ts";
import type { Attachment, MessageFile } from "../record/conversation/index.ts";
import type { McpServers } from "../reach/mcp/index.ts";
import type { Model } from "../reach/provider/index.ts";
import type { TrustedConfig } from "../settings/trust/index.ts";
import { loadModule } from "../util/index.ts";
import { machineOf, type Place } from "./place.ts";

/** Loaded when something is attached: most commands attach nothing. Throws `module_not_loaded`. */
export const attachmentCode = () => loadModule(() => import("../reach/attachment/index.ts"));

/** The attachments of a message. */
export interface NamedAttachments {
  /** For `conversation.attachments`. */
  readonly uris: readonly string[];
  /** Files outside the workspace, recorded with the message. */
  readonly files: readonly MessageFile[];
}

export function namingPlace(place: Place): NamingPlace {
  const { cwd, environment } = place;
  return { root: machineOf(place).root, cwd, home: environment.home };
}

/** Resolves names as a person writes them. Throws `invalid_attachment` and `AttachmentError`. */
export async function nameAttachments(
  names: readonly string[],
  place: Place,
): Promise<NamedAttachments> {
  if (names.length === 0) return { uris: [], files: [] };
  const { nameAttachment, readOutsideFile } = await attachmentCode();
  const from = namingPlace(place);
  const named = names.map((name) => nameAttachment(name, from));
  const outside = named.flatMap((each) => (each.type === "outside" ? [each.file] : []));
  for (const file of outside.filter(namesSecretFile))
    place.warn(`${file} may contain passwords or keys. The model will see it.`);
  return {
    uris: named.flatMap((each) => (each.type === "kept" ? [each.uri] : [])),
    files: await Promise.all([...new Set(outside)].map(readOutsideFile)),
  };
}

/** The turn that something is attached to. */
export interface AttachingTurn {
  readonly config: PartialConfig;
  readonly servers: McpServers;
  /** Has to accept the attachments. */
  readonly model: Model;
  readonly assistant: Pick<AssistantSettings, "parameters">;
  /** Shows that they are being read; undefined when they are. */
  readonly onProgress?: ((text: string | undefined, config: PartialConfig) => void) | undefined;
}

/** The config with the new attachments, the content of all of them, and this message's own files. */
export interface Attached extends Pick<NamedAttachments, "files"> {
  readonly config: PartialConfig;
  readonly attachments: readonly Attachment[];
}

/**
 * Adds the attachments of a message and its flags, and reads all attachments. Throws like `nameAttachments` and
 * `loadTurnAttachments`, before anything is recorded.
 */
export async function attachToTurn(
  turn: AttachingTurn,
  names: readonly string[],
  place: Place,
): Promise<Attached> {
  const named = await nameAttachments(names, place);
  const config = withAttachments(turn.config, named.uris);
  const attachments = await loadTurnAttachments({ ...turn, config }, named, place);
  return { config, attachments, files: named.files };
}

/** Includes untrusted attachments: they stay on record until the user trusts them. */
export function withUntrusted({ config, withheld }: TrustedConfig): PartialConfig {
  const attached = withheld.filter(({ kind }) => kind === "attachment");
  return withAttachments(
    config,
    attached.map(({ name }) => name),
  );
}

/**
 * Reads all attachments of the config and reports their size; in a session, only when it changes. Attachments from
 * earlier turns that no longer exist are skipped with a warning. Throws for those named now, and for those the model
 * does not accept.
 */
async function loadTurnAttachments(
  turn: AttachingTurn,
  named: NamedAttachments,
  place: Place,
): Promise<readonly Attachment[]> {
  const { config, servers, model, onProgress } = turn;
  const uris = resolveAttachments(config);
  if (uris.length === 0 && named.files.length === 0) return [];
  const { describeAttachments, loadAttachments } = await attachmentCode();
  if (uris.some((uri) => !uri.startsWith("file:"))) onProgress?.("Reading attachments", config);
  const attachments = await loadAttachments(uris, {
    ...loadOptions(place, servers),
    ...(model.acceptsFile !== undefined && {
      acceptsFile: (type) => model.acceptsFile?.(type) !== false,
    }),
    onProblem: (error, uri) => {
      if (named.uris.includes(uri) || error.code === "attachment_refused") throw error;
      const { message } = error;
      place.warn(`${message} jp continues without it. To detach it: jp attachment rm`);
    },
  }).finally(() => onProgress?.(undefined, config));
  const outside = named.files.map((file): Attachment => ({
    source: file.filename ?? "",
    content: file,
  }));
  const all = [...attachments, ...outside];
  await assertTaken(all, turn);
  const line = `Attached: ${describeAttachments(all)}`;
  const isNew = named.uris.length + named.files.length > 0 || !place.printed.has(line);
  if (all.length > 0 && isNew) place.notice(line);
  place.printed.add(line);
  return attachments;
}

/** The options shared by all commands that read attachments. */
export function loadOptions(
  place: Place,
  servers: McpServers,
): LoadAttachmentsOptions & Required<Pick<LoadAttachmentsOptions, "onNote">> {
  const { root, variables } = machineOf(place);
  return { root, variables, mcpServers: servers, onNote: place.warn };
}

/** Throws `attachment_refused`. Only a local server knows whether its model sees images. */
async function assertTaken(
  attachments: readonly Attachment[],
  { model, assistant }: AttachingTurn,
): Promise<void> {
  const files = attachments.flatMap(({ source, content }) =>
    typeof content === "string" || content.mediaType.startsWith("text/")
      ? []
      : [{ source, mediaType: content.mediaType }],
  );
  if (files.length === 0) return;
  const asked = model.isLocal === true ? await propertiesOf(model, assistant) : {};
  const refused = files.find(
    ({ mediaType }) =>
      model.acceptsFile?.(mediaType) === false ||
      mediaType === "application/octet-stream" ||
      (mediaType.startsWith("image/") && asked.seesImages === false),
  );
  if (refused === undefined) return;
  throw await refusal(model, refused);
}

async function propertiesOf(model: Model, { parameters }: AttachingTurn["assistant"]) {
  return (await model.properties?.(parameters, new AbortController().signal)) ?? {};
}

async function refusal(
  { id }: Model,
  { source, mediaType }: { readonly source: string; readonly mediaType: string },
): Promise<AttachmentError> {
  const { AttachmentError: Refusal } = await attachmentCode();
  const what = mediaType.startsWith("image/") ? "images" : mediaType;
  return new Refusal(
    "attachment_refused",
    `Cannot attach ${source}: ${id} does not accept ${what}.`,
    {
      commandHint:
        "Choose another model with -m, or detach it: `jp attachment rm`, or /attach rm in a session.",
    },
  );
}
