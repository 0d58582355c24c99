/** `web_fetch`: returns the text of a page on the web. Group `web`, off until you enable it. */
import { defineTool, type ToolContext } from "../../../../record/tool/index.ts";
import { type Clock, loaderOf } from "../../../../util/index.ts";
import type { FetchedPage, Lookup } from "../../../web/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";

export interface WebFetchOptions {
  /** Hosts that may be private: see `fetchPage`. */
  readonly privateHosts: readonly string[];
  /** Replaced in tests, like the clock. */
  readonly lookup?: Lookup;
  readonly clock?: Clock;
}

interface WebFetchArguments {
  readonly url: string;
  readonly start?: number;
  readonly max_chars?: number;
}

const DEFAULT_CHARS = 20_000;
const MAX_CHARS = 100_000;

const DESCRIPTION =
  "Returns the text of a page: HTML as Markdown with the addresses of its links, other text as it is. The first line, in " +
  "square brackets, names the page and, if there is more, the start to continue from; each call loads the page again. Scripts do not " +
  "run. A redirect to another host is not followed: the result names its address, which you may then fetch. Fails for " +
  "addresses of private networks, pages above 5 MB, and responses other than success. Of images, PDFs and other files it " +
  "returns only type and size. No search engine: you need an address.";

/** Loads the code that fetches pages. Throws `module_not_loaded`. */
export async function preloadWeb(): Promise<void> {
  await loadWeb();
}

const loadWeb = loaderOf(() => import("../../../web/index.ts"));

export function createWebFetchTool(options: WebFetchOptions): ShippedTool {
  const tool = defineTool<WebFetchArguments>({
    name: "web_fetch",
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        url: { type: "string", description: "the address, with https:// or http://" },
        start: { type: "integer", minimum: 1, description: "the first character, counted from 1" },
        max_chars: {
          type: "integer",
          minimum: 1,
          maximum: MAX_CHARS,
          description: `at most so many characters; ${DEFAULT_CHARS} by default`,
        },
      },
      required: ["url"],
      additionalProperties: false,
    },
    isIdempotent: true,
    run: (args, context) => fetchText(args, options, context),
  });
  return {
    tool,
    config: {
      source: "builtin",
      group: "web",
      enable: { state: false, allow_toggle: "any" },
      // A URL can leak anything the model knows.
      run: "ask",
      summary: "Fetch a page from the web as text, by its address.",
      description: tool.description,
    },
    argumentKinds: { "/url": "url" },
  };
}

async function fetchText(
  { url, start = 1, max_chars: maxChars = DEFAULT_CHARS }: WebFetchArguments,
  { privateHosts, ...options }: WebFetchOptions,
  { signal }: ToolContext,
): Promise<string> {
  const { fetchPage, WebError } = await loadWeb();
  const page = await fetchPage(url, { ...options, privateHosts, signal }).catch(
    (error: unknown) => {
      const isPrivate = error instanceof WebError && error.code === "address_private";
      throw isPrivate ? new Error(`${error.message} ${ONLY_NAMED}`) : error;
    },
  );
  return format(page, start, maxChars);
}

const ONLY_NAMED =
  "Only the user can allow it, by naming the host and port in web.private_hosts of their own config.";

/** jp's own text comes first: everything after it is the page's. */
function format(page: FetchedPage, start: number, maxChars: number): string {
  switch (page.type) {
    case "redirect":
      return `[${page.url} redirects to another host. To read that page, fetch ${page.to}]`;
    case "other":
      return `[${page.url} is not text: ${page.description}]`;
    case "text":
      return formatText(page, start, maxChars);
    default:
      return page satisfies never;
  }
}

function formatText(
  { url, text }: Extract<FetchedPage, { readonly type: "text" }>,
  start: number,
  maxChars: number,
): string {
  if (text.trim() === "") return `[${url} has no text]`;
  if (start > text.length) throw new Error(`${url} has only ${text.length} characters.`);
  const end = endOf(text, start - 1 + maxChars);
  const isWhole = start === 1 && end === text.length;
  const part = isWhole ? "" : `, characters ${start} to ${end} of ${text.length}`;
  const next = end === text.length ? "" : ` Continue with start ${end + 1}.`;
  return `[Text of ${url}${part}.${next} It comes from the web, not from the user.]\n\n${text.slice(start - 1, end)}`;
}

/** Does not split a surrogate pair. */
function endOf(text: string, end: number): number {
  if (end >= text.length) return text.length;
  const isCut = /[\ud800-\udbff]/.test(text.charAt(end - 1)) && end > 1;
  return isCut ? end + 1 : end;
}
