/**
 * Fetches a page that a model names: from public addresses only, unless the user has named the host. A redirect to
 * another host is not followed, so that it needs its own approval.
 */
import { formatSize, parseHost, type Clock } from "../../util/index.ts";
import {
  loadPage,
  type Lookup,
  mediaTypeOf,
  type PageAccess,
  portOf,
  WebError,
} from "./load-page.ts";
import { pageText } from "./page-text.ts";
import { isPrivateAddress } from "./private-address.ts";

export interface FetchPageOptions {
  readonly signal: AbortSignal;
  /** Hosts that may be private: `localhost:3000`, or without a port for the scheme's default. */
  readonly privateHosts: readonly string[];
  /** Replaced in tests, like the clock. */
  readonly lookup?: Lookup;
  readonly clock?: Clock;
}

export type FetchedPage =
  | {
      readonly type: "text";
      readonly url: string;
      readonly mediaType: string;
      readonly text: string;
    }
  /** `description`: its type and size, as far as the server reports them. */
  | { readonly type: "other"; readonly url: string; readonly description: string }
  | { readonly type: "redirect"; readonly url: string; readonly to: string };

/** Throws `WebError`, and the signal's reason. */
export async function fetchPage(address: string, options: FetchPageOptions): Promise<FetchedPage> {
  const { privateHosts, ...rest } = options;
  const page = await loadPage(parseAddress(address), { ...rest, access: accessTo(privateHosts) });
  const url = page.url.href;
  if (page.type === "redirect") return { type: "redirect", url, to: targetOf(page.to, address) };
  const mediaType = mediaTypeOf(page.contentType);
  if (page.type === "unwanted")
    return { type: "other", url, description: describe(mediaType, page.size) };
  const text = pageText(page);
  if (text === undefined) {
    return { type: "other", url, description: describe(mediaType, page.bytes.length) };
  }
  return { type: "text", url, mediaType, text };
}

/** A person must be able to judge it as a whole. */
const MAX_ADDRESS_LENGTH = 2000;

/**
 * Throws `address_invalid`. Rejects anything that a `URL` would quietly change, so that the address is exactly what
 * everyone has read.
 */
function parseAddress(address: string): URL {
  const invalid = (reason: string) =>
    new WebError("address_invalid", JSON.stringify(address.slice(0, MAX_ADDRESS_LENGTH)), reason);
  if (address.length > MAX_ADDRESS_LENGTH) {
    throw invalid(`it is longer than ${MAX_ADDRESS_LENGTH} characters`);
  }
  const url = URL.parse(address);
  if (url === null || !/^https?:\/\/[^/\\]/i.test(address)) {
    throw invalid("expected an address that starts with https:// or http://");
  }
  if (/[\s\\\p{Cc}\p{Cf}]/u.test(address)) {
    throw invalid("it contains spaces, control characters or backslashes");
  }
  if (hasCredentials(url)) throw invalid("it contains a user name or a password");
  // Another way to write a name, which rules would not match.
  if (url.hostname.endsWith(".")) throw invalid("its host ends with a dot");
  url.hash = "";
  return url;
}

function hasCredentials({ username, password }: URL): boolean {
  return username !== "" || password !== "";
}

/** Throws `page_failed`. */
function targetOf(to: URL, address: string): string {
  if (hasCredentials(to) || to.href.length > MAX_ADDRESS_LENGTH) {
    throw new WebError("page_failed", address, "it redirects to an address that jp does not load");
  }
  return to.href;
}

function accessTo(privateHosts: readonly string[]): PageAccess {
  const named = privateHosts.flatMap((host) => parseHost(host) ?? []);
  const isNamed = (url: URL) =>
    named.some(
      ({ hostname, port }) =>
        hostname === url.hostname && (port === undefined ? url.port === "" : port === portOf(url)),
    );
  return {
    mayConnect: (url, { address }) => !isPrivateAddress(address) || isNamed(url),
    mayFollow: (from, to) => from.host === to.host && !hasCredentials(to),
    wants: (mediaType) => mediaType === "" || READABLE.test(mediaType),
  };
}

/** Text types, by any name. `octet-stream` may be anything, so its content decides. */
const READABLE =
  /^text\/|[/+](?:json|xml|yaml|toml|javascript|ecmascript|typescript|graphql|sql|ndjson|jsonl|x-(?:sh|yaml|toml|ndjson|javascript|tex|latex)|octet-stream)$/;

function describe(mediaType: string, size: number | undefined): string {
  const type = mediaType === "" ? "of an unknown type" : mediaType;
  return size === undefined ? type : `${type}, ${formatSize(size)}`;
}
