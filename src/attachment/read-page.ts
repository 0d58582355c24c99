/**
 * Loads a page from the web, within limits of size, time and redirects. A page may not lead on to a private
 * address, unless the first connection went to the same address and port: the user has named the page, and not what it
 * redirects to, or what its name means by then.
 */
import { type LookupAddress, lookup as systemLookup } from "node:dns";
import type { IncomingMessage, RequestOptions } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { formatSize, isLoopback, messageOf } from "../util/index.ts";
import { AttachmentError } from "./attachment-error.ts";
import { htmlToText } from "./html-text.ts";
import { toContent } from "./media-type.ts";
import type { MessageFile } from "../conversation/index.ts";

const MAX_PAGE_BYTES = 5_000_000;
const MAX_REDIRECTS = 5;
const TIMEOUT_MS = 30_000;

/** Resolves a name to all of its addresses. */
export type Lookup = (
  name: string,
  done: (error: NodeJS.ErrnoException | null, found: readonly LookupAddress[]) => void,
) => void;

const lookupAll: Lookup = (name, done) => systemLookup(name, { all: true }, done);

/**
 * Text, Markdown from HTML, or an image or PDF. `lookup` is replaced in tests. Throws `AttachmentError`, and the
 * signal's reason.
 */
export async function readPage(
  address: string,
  signal: AbortSignal,
  lookup: Lookup = lookupAll,
): Promise<string | MessageFile> {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const page = await load(new URL(address), AbortSignal.any([signal, limit]), lookup);
    const { content } = toContent(
      page.bytes,
      new URL(address).pathname.split("/").at(-1) || "page",
    );
    const isHtml = /\bx?html\b/i.test(page.mediaType);
    return isHtml && typeof content === "string" ? htmlToText(content) : content;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AttachmentError) throw error;
    const isLate = limit.aborted;
    throw failed(address, isLate ? `no response within ${TIMEOUT_MS / 1000} s` : messageOf(error));
  }
}

function failed(address: string, reason: string): AttachmentError {
  return new AttachmentError("attachment_not_read", `Cannot attach ${address}: ${reason}.`);
}

interface Page {
  readonly bytes: Buffer;
  readonly mediaType: string;
}

async function load(first: URL, signal: AbortSignal, lookup: Lookup): Promise<Page> {
  let url = first;
  let isAllowed: GetOptions["isAllowed"] = isAnything;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await get(url, { signal, lookup, isAllowed });
    if (redirects === 0) {
      const { remoteAddress, remotePort } = response.socket;
      isAllowed = (address, port) =>
        !isPrivateHost(address) || (address === remoteAddress && port === remotePort);
    }
    const { statusCode: status = 0, headers } = response;
    if (status >= 300 && status < 400 && headers.location !== undefined) {
      response.destroy();
      url = nextUrl(url, headers.location, first);
      continue;
    }
    if (status < 200 || status >= 300) {
      response.destroy();
      throw failed(first.href, `the server responded with status ${status}`);
    }
    const bytes = await readBody(response, first);
    return { bytes, mediaType: headers["content-type"] ?? "" };
  }
  throw failed(first.href, `it redirects more than ${MAX_REDIRECTS} times`);
}

function nextUrl(from: URL, location: string, first: URL): URL {
  const url = URL.parse(location, from);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw failed(first.href, "it redirects to something that is not a page");
  }
  if (from.protocol === "https:" && url.protocol === "http:") {
    throw failed(first.href, "it redirects to an address without encryption");
  }
  return url;
}

/** The user has named the first address. */
function isAnything(): boolean {
  return true;
}

interface GetOptions {
  readonly signal: AbortSignal;
  readonly lookup: Lookup;
  /** Whether a connection may go to this address and port. */
  readonly isAllowed: (address: string, port: number) => boolean;
}

async function get(url: URL, options: GetOptions): Promise<IncomingMessage> {
  const isEncrypted = url.protocol === "https:";
  const { request } = await (isEncrypted ? import("node:https") : import("node:http"));
  const port = url.port === "" ? (isEncrypted ? 443 : 80) : Number(url.port);
  const isAllowed = (address: string) => options.isAllowed(address, port);
  // A name is checked when it is resolved. Node resolves no addresses, so those are checked here.
  const address = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(address) !== 0 && !isAllowed(address)) throw leadsToPrivate(url);
  const settings: RequestOptions = {
    signal: options.signal,
    agent: false, // A connection that is still open was checked for another page.
    headers: { "user-agent": "jp", accept: "text/html,text/*;q=0.9,*/*;q=0.5" },
    lookup: allowedLookup(url, options.lookup, isAllowed),
  };
  return new Promise((resolve, reject) => {
    request(url, settings, resolve).on("error", reject).end();
  });
}

function leadsToPrivate(url: URL): AttachmentError {
  const reason = `it leads to a private address, ${url.hostname}`;
  return new AttachmentError("attachment_not_read", `Cannot attach the page: ${reason}.`, {
    hint: "To attach it anyway, name that address.",
  });
}

/** Resolves a name like Node does, to those of its addresses that may be reached. */
function allowedLookup(
  url: URL,
  lookup: Lookup,
  isAllowed: (address: string) => boolean,
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, (error, found) => {
      if (error !== null) return callback(error, []);
      const allowed = found.filter(({ address }) => isAllowed(address));
      const [first] = allowed;
      if (first === undefined) return callback(leadsToPrivate(url), []);
      if (options.all === true) return callback(null, allowed);
      return callback(null, first.address, first.family);
    });
  };
}

/**
 * Loopback, link-local and private networks, those for tests and for many receivers, and those that may lead to one of them
 * (NAT64, 6to4), in the notations of a `URL` and of a resolver.
 */
export function isPrivateHost(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, "").toLowerCase();
  const mapped = /^::ffff:(.+)$/.exec(address)?.[1];
  if (mapped !== undefined) return !mapped.includes(".") || isPrivateHost(mapped);
  if (isLoopback(host) || /\.?localhost$/.test(address)) return true;
  if (address.includes(":")) return /^(?:::|f[cdf]|fe[89ab]|64:ff9b:|2002:)/.test(address);
  return PRIVATE_IPV4.test(address);
}

const PRIVATE_IPV4 = new RegExp(
  [
    String.raw`^(?:0|10|127)\.`,
    String.raw`^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.`,
    String.raw`^169\.254\.`,
    String.raw`^172\.(?:1[6-9]|2\d|3[01])\.`,
    String.raw`^192\.168\.`,
    String.raw`^198\.1[89]\.`,
    String.raw`^(?:22[4-9]|23\d|24\d|25[0-5])(?:\.\d+){3}$`,
  ].join("|"),
);

async function readBody(response: IncomingMessage, url: URL): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of (await decompressed(response)) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_PAGE_BYTES) {
      response.destroy();
      const message = `Cannot attach ${url.href}: it is larger than ${formatSize(MAX_PAGE_BYTES)}.`;
      throw new AttachmentError("attachments_too_large", message);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** jp does not ask for compression, but some servers compress anyway. */
async function decompressed(response: IncomingMessage): Promise<Readable> {
  const encoding = response.headers["content-encoding"] ?? "identity";
  if (encoding === "identity" || encoding === "") return response;
  const { createBrotliDecompress, createUnzip } = await import("node:zlib");
  const decompress = encoding === "br" ? createBrotliDecompress() : createUnzip();
  response.on("error", (error) => decompress.destroy(error));
  return response.pipe(decompress);
}
