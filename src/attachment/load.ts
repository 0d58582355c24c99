/**
 * Reads what is attached to a conversation: files, pages, the output of commands, and resources of MCP servers. All
 * are read anew for each turn, as the Rust original does it; a conversation keeps only their addresses.
 */
import {
  type AttachmentSource,
  attachmentUri,
  namesSecretFile,
  parseAttachment,
} from "../config/index.ts";
import type { Attachment, MessageFile } from "../conversation/index.ts";
import type { SharedMcpServers } from "../mcp/index.ts";
import { base64Size, isJpError, type JpError } from "../util/index.ts";
import { AttachmentError } from "./attachment-error.ts";
import { formatSize, isKnownFile, toContent } from "./media-type.ts";
import { LeftOut, readFiles } from "./read-files.ts";
import { readPage } from "./read-page.ts";
import { commandLine, runCommand } from "./run-command.ts";

/** About a million tokens, which is more than most models read. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
/** Providers refuse larger requests. */
const MAX_FILES_BYTES = 20 * 1024 * 1024;

/** Where attachments are read from, and what to do about those that cannot be. */
export interface LoadAttachmentsOptions {
  /** The folder that paths are relative to, and that files must be in. Commands run there. */
  readonly root: string;
  /** The environment of commands. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** For resources of MCP servers. */
  readonly mcpServers?: Pick<SharedMcpServers, "readResource">;
  /** Which files the model takes, as `Model.acceptsFile`. By default all images and PDFs. */
  readonly acceptsFile?: (mediaType: string) => boolean;
  readonly signal?: AbortSignal;
  /** Called if one cannot be read, which is then left out. If absent, the error is thrown. */
  readonly onProblem?: (error: JpError, uri: string) => void;
  /** Called with a sentence about what the user should know, such as what a folder leaves out. */
  readonly onNote?: (note: string) => void;
}

/**
 * Reads attachments by their addresses: paths, `https:`, `cmd:` and `mcp+<server>+…`, as in `conversation.attachments`
 * of a config. It runs and reaches what they name, so they must not come from someone else. Throws
 * `AttachmentError`, `invalid_attachment`, `McpError`, and the signal's reason.
 */
export async function loadAttachments(
  uris: readonly string[],
  options: LoadAttachmentsOptions,
): Promise<readonly Attachment[]> {
  const parsed = uris.flatMap((uri) => {
    const source = attempt(() => parseAttachment(attachmentUri(uri)), uri, options);
    return source === undefined ? [] : [{ uri, source }];
  });
  const excluded = parsed.flatMap(({ source }) =>
    source.type === "file" && source.isExcluded ? [source.path] : [],
  );
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, ...(options.signal ? [options.signal] : [])]);
  const read = parsed.map(async ({ uri, source }) => {
    try {
      return await readSource(source, { ...options, excluded, signal });
    } catch (error) {
      signal.throwIfAborted();
      return report(error, uri, options) ?? [];
    }
  });
  try {
    const attachments = withoutDuplicates((await Promise.all(read)).flat());
    assertSizes(attachments);
    return attachments;
  } finally {
    stop.abort(); // Nothing is left running if one fails.
    await Promise.allSettled(read);
  }
}

/** Undefined if there was a problem that was reported. */
function attempt<Value>(
  action: () => Value,
  uri: string,
  options: LoadAttachmentsOptions,
): Value | undefined {
  try {
    return action();
  } catch (error) {
    return report(error, uri, options);
  }
}

function report(error: unknown, uri: string, { onProblem }: LoadAttachmentsOptions): undefined {
  if (!isJpError(error) || onProblem === undefined) throw error;
  onProblem(error, uri);
}

interface ReadOptions extends LoadAttachmentsOptions {
  readonly excluded: readonly string[];
  readonly signal: AbortSignal;
}

async function readSource(
  source: AttachmentSource,
  options: ReadOptions,
): Promise<readonly Attachment[]> {
  switch (source.type) {
    case "file":
      return source.isExcluded ? [] : readFileSource(source.path, options);
    case "page": {
      const content = await readPage(source.url, options.signal);
      return [assertTaken({ source: source.url, content }, options)];
    }
    case "command": {
      const { root, variables = {}, signal } = options;
      const content = await runCommand({ command: source, root, variables, signal });
      const { description } = source;
      const attachment = { source: commandLine(source), content };
      return [description === undefined ? attachment : { ...attachment, description }];
    }
    case "resource":
      return readResource(source, options);
  }
}

async function readFileSource(path: string, options: ReadOptions): Promise<readonly Attachment[]> {
  const { root, excluded, signal, onNote = () => undefined } = options;
  const leftOut = new LeftOut();
  const files = await readFiles({ root, path, excluded, signal, onNote });
  const attachments = files.flatMap(({ path: file, bytes, isNamed }): readonly Attachment[] => {
    const attachment = { source: file, content: toContent(bytes, file) };
    if (isNamed) {
      if (namesSecretFile(file))
        onNote(`${file} may contain passwords or keys. The model sees it.`);
      return [assertTaken(attachment, options)];
    }
    const reason = findRefusal(attachment.content, options);
    if (reason === undefined) return [attachment];
    leftOut.add(reason, file);
    return [];
  });
  for (const note of leftOut.notes()) onNote(`${path}: ${note}`);
  return attachments;
}

async function readResource(
  { server, uri }: Extract<AttachmentSource, { readonly type: "resource" }>,
  options: ReadOptions,
): Promise<readonly Attachment[]> {
  const { mcpServers, signal } = options;
  if (mcpServers === undefined) {
    const message = `Cannot attach ${uri}: there are no MCP servers here.`;
    throw new AttachmentError("attachment_not_read", message);
  }
  const contents = await mcpServers.readResource(server, uri, signal);
  return contents.map((content, index) => {
    const part = index === 0 ? "" : ` (${index + 1})`;
    const filename = uri.split("/").at(-1) || uri;
    const attached =
      content.type === "text"
        ? content.text
        : toContent(Buffer.from(content.data, "base64"), filename);
    return assertTaken({ source: `${server}: ${uri}${part}`, content: attached }, options);
  });
}

/** Throws `attachment_refused`. */
function assertTaken(attachment: Attachment, options: LoadAttachmentsOptions): Attachment {
  const { source, content } = attachment;
  const reason = findRefusal(content, options);
  if (reason === undefined) return attachment;
  throw new AttachmentError("attachment_refused", `Cannot attach ${source}: ${reason}.`, {
    hint: "Use a model that takes it, convert it to text, or detach it: `jp attachment rm`, or /attach rm in a session.",
  });
}

/** Undefined if the model takes it. */
function findRefusal(
  content: string | MessageFile,
  { acceptsFile = () => true }: LoadAttachmentsOptions,
): string | undefined {
  if (typeof content === "string") return undefined;
  if (!isKnownFile(content)) return "neither text, nor a PNG, JPEG, GIF or WebP image, nor a PDF";
  return acceptsFile(content.mediaType)
    ? undefined
    : `the model does not take ${content.mediaType}`;
}

/** A folder and a pattern may both find a file. */
function withoutDuplicates(attachments: readonly Attachment[]): readonly Attachment[] {
  const seen = new Set<string>();
  return attachments.filter(({ source }) => !seen.has(source) && seen.add(source));
}

/** In bytes. */
export function attachmentSize({ content }: Attachment): number {
  if (typeof content === "string") return Buffer.byteLength(content);
  const { data } = content;
  if (data instanceof URL) return 0;
  return typeof data === "string" ? (base64Size(data) ?? 0) : data.byteLength;
}

/** Throws `attachments_too_large`. */
function assertSizes(attachments: readonly Attachment[]): void {
  const texts = attachments.filter(({ content }) => typeof content === "string");
  const files = attachments.filter(({ content }) => typeof content !== "string");
  assertSize(texts, { what: "texts", limit: MAX_TEXT_BYTES });
  assertSize(files, { what: "images and PDFs", limit: MAX_FILES_BYTES });
}

function assertSize(
  attachments: readonly Attachment[],
  { what, limit }: { readonly what: string; readonly limit: number },
): void {
  const size = totalSize(attachments);
  if (size <= limit) return;
  const largest = attachments.toSorted((a, b) => attachmentSize(b) - attachmentSize(a)).slice(0, 3);
  const named = largest.map((one) => `${one.source} (${formatSize(attachmentSize(one))})`);
  const message =
    `The attached ${what} have ${formatSize(size)} together, and the limit is ${formatSize(limit)}. ` +
    `The largest: ${named.join(", ")}.`;
  throw new AttachmentError("attachments_too_large", message, {
    hint: "Attach less, or detach some with `jp attachment rm`.",
  });
}

function totalSize(attachments: readonly Attachment[]): number {
  return attachments.reduce((sum, attachment) => sum + attachmentSize(attachment), 0);
}

/** Such as `3 documents, 14 kB`. */
export function describeAttachments(attachments: readonly Attachment[]): string {
  const count = attachments.length === 1 ? "1 document" : `${attachments.length} documents`;
  return `${count}, ${formatSize(totalSize(attachments))}`;
}
