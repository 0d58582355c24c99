/**
 * Loads a page from the web, within limits of size, time and redirects. A page may not lead on to a private
 * address: the user has named the page, and not what it redirects to.
 */
import type { LookupAddress } from "node:dns";
import type { IncomingMessage, RequestOptions } from "node:http";
import type { LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { formatSize, isLoopback, messageOf } from "../util/index.ts";
import { AttachmentError } from "./attachment-error.ts";
import { htmlToText } from "./html-text.ts";
import { toContent } from "./media-type.ts";
import type { MessageFile } from "../conversation/index.ts";

const MAX_PAGE_BYTES = 5_000_000;
const MAX_REDIRECTS = 5;
const TIMEOUT_MS = 30_000;

/** Text, Markdown from HTML, or an image or PDF. Throws `AttachmentError`, and the signal's reason. */
export async function readPage(
  address: string,
  signal: AbortSignal,
): Promise<string | MessageFile> {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const page = await load(new URL(address), AbortSignal.any([signal, limit]));
    const content = toContent(page.bytes, new URL(address).pathname.split("/").at(-1) || "page");
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

async function load(first: URL, signal: AbortSignal): Promise<Page> {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await get(url, { signal, mayBePrivate: url.hostname === first.hostname });
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

interface GetOptions {
  readonly signal: AbortSignal;
  readonly mayBePrivate: boolean;
}

async function get(url: URL, { signal, mayBePrivate }: GetOptions): Promise<IncomingMessage> {
  const { request } = await (url.protocol === "https:"
    ? import("node:https")
    : import("node:http"));
  // A name is checked when it is resolved. Node resolves no addresses, so those are checked here.
  if (!mayBePrivate && isPrivateHost(url.hostname)) throw leadsToPrivate(url);
  const options: RequestOptions = {
    signal,
    headers: { "user-agent": "jp", accept: "text/html,text/*;q=0.9,*/*;q=0.5" },
    ...(!mayBePrivate && { lookup: await publicLookup(url) }),
  };
  return new Promise((resolve, reject) => {
    request(url, options, resolve).on("error", reject).end();
  });
}

function leadsToPrivate(url: URL): AttachmentError {
  const reason = `it leads to a private address, ${url.hostname}`;
  return new AttachmentError("attachment_not_read", `Cannot attach the page: ${reason}.`, {
    hint: "To attach it anyway, name that address.",
  });
}

/** Resolves a name like Node does, and refuses private addresses. */
async function publicLookup(url: URL): Promise<LookupFunction> {
  const dns = await import("node:dns");
  return (hostname, options, callback) => {
    dns.lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      const isRefused = error === null && found.some(({ address }) => isPrivateHost(address));
      const problem = isRefused ? leadsToPrivate(url) : error;
      const [first] = found ?? [];
      if (problem !== null || options.all === true) callback(problem, found ?? []);
      else callback(null, first?.address ?? "", first?.family ?? 4);
    });
  };
}

/** Loopback, link-local and private networks, in the notations of a `URL` and of a resolver. */
export function isPrivateHost(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, "").toLowerCase();
  const mapped = /^::ffff:(.+)$/.exec(address)?.[1];
  if (mapped !== undefined) return !mapped.includes(".") || isPrivateHost(mapped);
  if (isLoopback(host) || address === "::1" || address === "::" || /\.?localhost$/.test(address)) {
    return true;
  }
  if (address.includes(":")) return /^(?:f[cd]|fe[89ab])/.test(address);
  return /^(?:0|10|127)\.|^192\.168\.|^169\.254\.|^172\.(?:1[6-9]|2\d|3[01])\.|^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./.test(
    address,
  );
}

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
