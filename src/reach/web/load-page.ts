/**
 * Loads a page from the web, within limits on size, time and redirects. The caller decides which addresses may be
 * reached: a connection goes to the address that was checked, even if its name resolves differently by then. Sends no
 * cookies or keys, and uses no proxy, which would resolve names itself.
 */
import { type LookupAddress, lookup as systemLookup } from "node:dns";
import type { IncomingMessage, RequestOptions } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { type Clock, formatSize, JpError, messageOf, systemClock } from "../../util/index.ts";

const MAX_PAGE_BYTES = 5_000_000;
const MAX_REDIRECTS = 5;
const TIMEOUT_MS = 30_000;

/**
 * `address_invalid`: it cannot be loaded. `address_private`: it leads to an address that may not be reached.
 * `page_too_large`; `page_failed`: anything else.
 */
export type WebErrorCode = "address_invalid" | "address_private" | "page_too_large" | "page_failed";

/** Why a page cannot be loaded. */
export class WebError extends JpError<WebErrorCode> {
  /** The end of the message, without its full stop. */
  readonly reason: string;

  constructor(code: WebErrorCode, address: string, reason: string) {
    super(code, `Cannot load ${address}: ${reason}.`);
    this.reason = reason;
  }
}

/** Resolves a name to all of its addresses. */
export type Lookup = (
  name: string,
  done: (error: NodeJS.ErrnoException | null, found: readonly LookupAddress[]) => void,
) => void;

const lookupAll: Lookup = (name, done) => systemLookup(name, { all: true }, done);

/** The other end of a connection. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** Which addresses may be reached, and which content is worth reading. */
export interface PageAccess {
  /** Whether a connection for this URL may go to this endpoint. `first`: the endpoint before all redirects. */
  readonly mayConnect: (url: URL, to: Endpoint, first?: Endpoint) => boolean;
  /** Whether to follow a redirect. Otherwise the redirect is the result. */
  readonly mayFollow: (from: URL, to: URL) => boolean;
  /** Whether to read content of this type, such as `text/html`; empty if the server does not report it. */
  readonly wants: (mediaType: string) => boolean;
}

export type LoadedPage =
  | (PageHead & { readonly type: "page"; readonly bytes: Buffer })
  /** `size`: as reported by the server. */
  | (PageHead & { readonly type: "unwanted"; readonly size: number | undefined })
  | { readonly type: "redirect"; readonly url: URL; readonly to: URL };

interface PageHead {
  /** After all redirects. */
  readonly url: URL;
  readonly contentType: string;
}

export interface LoadPageOptions {
  readonly signal: AbortSignal;
  readonly access: PageAccess;
  /** Replaced in tests, like the clock. */
  readonly lookup?: Lookup;
  readonly clock?: Clock;
}

/** Throws `WebError`, and the signal's reason. */
export async function loadPage(first: URL, options: LoadPageOptions): Promise<LoadedPage> {
  const { signal, access, lookup = lookupAll, clock = systemClock } = options;
  const [late, done] = [new AbortController(), new AbortController()];
  clock.sleep(TIMEOUT_MS, done.signal).then(
    () => late.abort(),
    () => undefined, // It was loaded in time.
  );
  try {
    const until = AbortSignal.any([signal, late.signal]);
    return await followRedirects(first, { signal: until, access, lookup });
  } catch (error) {
    signal.throwIfAborted();
    const cause = causeOf(error);
    if (cause !== undefined) throw cause;
    const reason = late.signal.aborted
      ? `no response within ${TIMEOUT_MS / 1000} s`
      : messageOf(error);
    throw new WebError("page_failed", first.href, reason);
  } finally {
    done.abort();
  }
}

/** A name with only private addresses fails inside Node, which may wrap the error. */
function causeOf(error: unknown): WebError | undefined {
  if (error instanceof WebError) return error;
  return error instanceof Error && error.cause instanceof WebError ? error.cause : undefined;
}

type Loading = Required<Pick<LoadPageOptions, "signal" | "access" | "lookup">>;

async function followRedirects(start: URL, loading: Loading): Promise<LoadedPage> {
  let url = start;
  let first: Endpoint | undefined;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await get(url, { ...loading, first });
    const { remoteAddress: address = "", remotePort: port = 0 } = response.socket;
    first ??= { address, port };
    const { statusCode: status = 0, headers } = response;
    if (status >= 300 && status < 400 && headers.location !== undefined) {
      response.destroy();
      const to = nextUrl(url, headers.location, start);
      if (!loading.access.mayFollow(url, to)) return { type: "redirect", url, to };
      url = to;
      continue;
    }
    if (status < 200 || status >= 300) {
      response.destroy();
      throw failed(start, `the server responded with status ${status}`);
    }
    const head = { url, contentType: headers["content-type"] ?? "" };
    if (!loading.access.wants(mediaTypeOf(head.contentType))) {
      response.destroy();
      return { ...head, type: "unwanted", size: sizeOf(response) };
    }
    return { ...head, type: "page", bytes: await readBody(response, start) };
  }
  throw failed(start, `it redirects more than ${MAX_REDIRECTS} times`);
}

function failed(url: URL, reason: string): WebError {
  return new WebError("page_failed", url.href, reason);
}

/** In lower case, without parameters. Empty if it is not a media type. */
export function mediaTypeOf(contentType: string): string {
  return /^\s*([\w.+-]{1,60}\/[\w.+-]{1,60})\s*(?:;|$)/.exec(contentType)?.[1]?.toLowerCase() ?? "";
}

function sizeOf({ headers }: IncomingMessage): number | undefined {
  const length = headers["content-length"] ?? "";
  return /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

function nextUrl(from: URL, location: string, first: URL): URL {
  const url = URL.parse(location, from);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw failed(first, "it redirects to something that is not a page");
  }
  if (from.protocol === "https:" && url.protocol === "http:") {
    throw failed(first, "it redirects to an address without encryption");
  }
  return url;
}

interface GetOptions extends Loading {
  readonly first: Endpoint | undefined;
}

async function get(url: URL, { signal, access, lookup, first }: GetOptions) {
  const isEncrypted = url.protocol === "https:";
  // Not imported: they are slow to load, and Node warns if the command imports them later.
  const { request } = process.getBuiltinModule(isEncrypted ? "node:https" : "node:http");
  const port = portOf(url);
  const isAllowed = (address: string) => access.mayConnect(url, { address, port }, first);
  // Names are checked when they are resolved. Node does not resolve addresses, so those are checked here.
  const address = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(address) !== 0 && !isAllowed(address)) throw leadsToPrivate(url);
  const settings: RequestOptions = {
    signal,
    agent: false, // A reused connection was checked for another page.
    headers: { "user-agent": "jp", accept: "text/html,text/*;q=0.9,*/*;q=0.5" },
    lookup: allowedLookup(url, lookup, isAllowed),
  };
  return new Promise<IncomingMessage>((resolve, reject) => {
    request(url, settings, resolve).on("error", reject).end();
  });
}

export function portOf({ protocol, port }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

function leadsToPrivate(url: URL): WebError {
  const reason = `it leads to a private address, ${url.hostname}`;
  return new WebError("address_private", url.href, reason);
}

/** Resolves a name like Node, but only to addresses that may be reached. */
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

async function readBody(response: IncomingMessage, url: URL): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of decompressed(response, url) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_PAGE_BYTES) {
      response.destroy();
      const reason = `it is larger than ${formatSize(MAX_PAGE_BYTES)}`;
      throw new WebError("page_too_large", url.href, reason);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** jp does not ask for compression, but some servers compress anyway. */
function decompressed(response: IncomingMessage, url: URL): Readable {
  const encoding = response.headers["content-encoding"]?.trim().toLowerCase() ?? "";
  if (encoding === "identity" || encoding === "") return response;
  if (!/^(?:x-)?gzip$|^deflate$|^br$/.test(encoding)) {
    response.destroy();
    throw failed(url, "it is compressed in a way that jp cannot read");
  }
  const { createBrotliDecompress, createUnzip } = process.getBuiltinModule("node:zlib");
  const decompress = encoding === "br" ? createBrotliDecompress() : createUnzip();
  response.on("error", (error) => decompress.destroy(error));
  return response.pipe(decompress);
}
