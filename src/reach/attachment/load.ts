/**
 * Reads a conversation's attachments: files, pages, command output, and resources of MCP servers. Reads them again for
 * each turn, as in the Rust original; a conversation keeps only their addresses.
 */
import {
  type AttachmentSource,
  attachmentUri,
  namesSecretFile,
  parseAttachment,
} from "../../settings/config/index.ts";
import type { Attachment, MessageFile } from "../../record/conversation/index.ts";
import type { SharedMcpServers } from "../mcp/index.ts";
import { base64Size, formatSize, isJpError, type JpError, loadModule } from "../../util/index.ts";
import { AttachmentError } from "./attachment-error.ts";
import { isKnownFile, toContent } from "./media-type.ts";

const READERS = {
  page: () => loadModule(() => import("./read-page.ts")),
  command: () => loadModule(() => import("./run-command.ts")),
  files: () => loadModule(() => import("./read-files.ts")),
};

/** Call it before a wait, if something may be attached afterwards. Throws `module_not_loaded`. */
export async function preloadReaders(): Promise<void> {
  await Promise.all([READERS.page(), READERS.command(), READERS.files()]);
}

/** About a million tokens, which is more than most models read. */
const MAX_TEXT_BYTES = 4_000_000;
/** Providers refuse larger requests. */
const MAX_FILES_BYTES = 20_000_000;
/** Limit per resource. */
const MAX_CONTENTS = 1000;

/** Where to read attachments from, and how to handle failures. */
export interface LoadAttachmentsOptions {
  /** The folder that paths are relative to, and that files must be in. Commands run there. */
  readonly root: string;
  /** The environment of commands. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** Reads resources of MCP servers. */
  readonly mcpServers?: Pick<SharedMcpServers, "readResource">;
  /** Which files the model accepts, as `Model.acceptsFile`. By default all images and PDFs. */
  readonly acceptsFile?: (mediaType: string) => boolean;
  readonly signal?: AbortSignal;
  /** Called for an attachment that cannot be read; it is then left out. If absent, the error is thrown. */
  readonly onProblem?: (error: JpError, uri: string) => void;
  /** Called with a sentence for the user, such as which files of a folder are left out. */
  readonly onNote?: (note: string) => void;
}

/** See `loadAttachments`. */
export async function readAttachments(
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
  const collected = new Collected();
  let files: Promise<unknown> = Promise.resolve();
  const read = parsed.map(({ uri, source }) => {
    const before = source.type === "file" ? files : undefined;
    const reading = (async () => {
      await before; // One folder at a time: each is held in memory until its size is known.
      signal.throwIfAborted();
      const found = await readSource(source, { ...options, excluded, signal }).catch(
        (error: unknown) => {
          signal.throwIfAborted();
          return report(error, uri, options) ?? [];
        },
      );
      return collected.add(found);
    })();
    if (source.type === "file") files = reading.catch(() => undefined);
    return reading;
  });
  try {
    return (await Promise.all(read)).flat();
  } finally {
    stop.abort(); // Nothing is left running if one fails.
    await Promise.allSettled(read);
  }
}

/** Undefined if a problem was reported. */
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
      const { readPage } = await READERS.page();
      const content = await readPage(source.url, options.signal);
      return [assertTaken({ source: source.url, content }, options)];
    }
    case "command": {
      const { root, variables = {}, signal } = options;
      const { commandLine, runCommand } = await READERS.command();
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
  const { LeftOut, readFiles } = await READERS.files();
  const leftOut = new LeftOut();
  const files = await readFiles({ root, path, excluded, signal, onNote });
  const attachments = files.flatMap(({ path: file, bytes, isNamed }): readonly Attachment[] => {
    const attachment: Attachment = { source: file, ...toContent(bytes, file) };
    if (attachment.description !== undefined) onNote(`${file}: ${attachment.description}.`);
    if (isNamed) {
      if (namesSecretFile(file))
        onNote(`${file} may contain passwords or keys. The model will see it.`);
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
    const message = `Cannot attach ${uri}: no MCP servers are available.`;
    throw new AttachmentError("attachment_not_read", message);
  }
  const contents = await mcpServers.readResource(server, uri, signal);
  if (contents.length > MAX_CONTENTS) {
    const message = `Cannot attach ${uri}: it has more than ${MAX_CONTENTS} parts.`;
    throw new AttachmentError("attachments_too_large", message);
  }
  return contents.map((content, index) => {
    const part = index === 0 ? "" : ` (${index + 1})`;
    const filename = uri.split("/").at(-1) || uri;
    const attached =
      content.type === "text"
        ? { content: content.text }
        : toContent(Buffer.from(content.data, "base64"), filename);
    return assertTaken({ source: `${server}: ${uri}${part}`, ...attached }, options);
  });
}

/** Throws `attachment_refused`. */
function assertTaken(attachment: Attachment, options: LoadAttachmentsOptions): Attachment {
  const { source, content } = attachment;
  const reason = findRefusal(content, options);
  if (reason === undefined) return attachment;
  const isUnknown = typeof content !== "string" && !isKnownFile(content);
  const otherwise = isUnknown ? "Convert" : "Use a model that accepts it, convert";
  throw new AttachmentError("attachment_refused", `Cannot attach ${source}: ${reason}.`, {
    hint: `${otherwise} it to text, or leave it out.`,
    commandHint: `${otherwise} it to text, or detach it: \`jp attachment rm\`, or /attach rm in a session.`,
  });
}

/** Undefined if the model accepts it. */
function findRefusal(
  content: string | MessageFile,
  { acceptsFile = () => true }: LoadAttachmentsOptions,
): string | undefined {
  if (typeof content === "string") return undefined;
  if (!isKnownFile(content)) return "neither text, nor a PNG, JPEG, GIF or WebP image, nor a PDF";
  return acceptsFile(content.mediaType)
    ? undefined
    : `the model does not accept ${content.mediaType}`;
}

/** The attachments so far. */
class Collected {
  readonly #bySource = new Map<string, Attachment>();
  #bytes = 0;

  /** Returns only new ones: a folder and a pattern may both find a file. Throws `attachments_too_large`. */
  add(found: readonly Attachment[]): readonly Attachment[] {
    const added = found.filter((attachment) => {
      if (this.#bySource.has(attachment.source)) return false;
      this.#bySource.set(attachment.source, attachment);
      return true;
    });
    this.#bytes += totalSize(added);
    if (this.#bytes > MAX_TEXT_BYTES) assertSizes([...this.#bySource.values()]);
    return added;
  }
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
    `The attached ${what} total ${formatSize(size)}; the limit is ${formatSize(limit)}. ` +
    `The largest: ${named.join(", ")}.`;
  throw new AttachmentError("attachments_too_large", message, {
    hint: "Attach less.",
    commandHint: "Attach less, or detach some with `jp attachment rm`.",
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
