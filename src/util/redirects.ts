/** Handles redirects of requests that carry secrets: to providers and to MCP servers. */

type Fetch = typeof globalThis.fetch;

const MAX_REDIRECTS = 5;

/**
 * A `fetch` that follows redirects only within the origin, and only if the request is unchanged: its headers and body
 * are for that server alone. The response to any other redirect is returned, and is not `ok`.
 */
export function withinOrigin(fetch: Fetch): Fetch {
  return async (input, init = {}) => {
    let target = input;
    for (let redirects = 0; ; redirects += 1) {
      const response = await fetch(target, { ...init, redirect: "manual" });
      const next = findRedirect(target, init.method ?? "GET", response);
      if (next === undefined || redirects === MAX_REDIRECTS) return response;
      await response.body?.cancel();
      target = next;
    }
  };
}

/** Undefined if the redirect is not followed. */
function findRedirect(
  from: Parameters<Fetch>[0],
  method: string,
  { status, headers }: Pick<Response, "status" | "headers">,
): URL | undefined {
  const location = headers.get("location");
  const keepsRequest =
    status === 307 || status === 308 || (method === "GET" && (status === 301 || status === 302));
  if (!keepsRequest || location === null || (typeof from === "object" && !(from instanceof URL))) {
    return undefined;
  }
  const url = URL.parse(location, from);
  return url?.origin === new URL(from).origin ? url : undefined;
}

/**
 * Throws for a redirect that was not followed, with a sentence without its full stop. Quotes only the origin of the
 * address.
 */
export async function assertNotRedirected(from: string | URL, response: Response): Promise<void> {
  const { status } = response;
  const location = response.headers.get("location");
  if (status < 300 || status > 399 || location === null) return;
  await response.body?.cancel();
  const { origin } = new URL(from);
  const target = URL.parse(location, from)?.origin;
  throw new Error(
    target === undefined || target === origin
      ? `it redirects with HTTP ${status}, which jp does not follow`
      : `it redirects to ${target}, and jp sends headers and messages only to the configured origin`,
  );
}
