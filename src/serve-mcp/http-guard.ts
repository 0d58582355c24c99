/** Who may talk to a server on this machine: programs that have the token, and no page of a browser. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

export interface Guarded {
  readonly port: number;
  readonly token: string;
}

export interface Refusal {
  readonly status: 401 | 403;
  readonly message: string;
}

const NAMES = ["127.0.0.1", "localhost"];

/**
 * A name that somebody has pointed at this machine shows in `host`, a page in `origin`. Both are
 * looked at first: such a caller must not even learn whether a token is right.
 */
export function findRefusal(
  headers: IncomingHttpHeaders,
  { port, token }: Guarded,
): Refusal | undefined {
  const own = NAMES.map((name) => new URL(`http://${name}:${port}`));
  if (!own.some(({ host }) => host === headers.host)) {
    return { status: 403, message: "The Host header names another server." };
  }
  const { origin } = headers;
  if (origin !== undefined && !own.some((url) => url.origin === origin)) {
    return { status: 403, message: "Pages of other origins are not served." };
  }
  if (isEqual(headers.authorization ?? "", `Bearer ${token}`)) return undefined;
  return { status: 401, message: "The Authorization header does not hold the token." };
}

/** Takes the same time wherever they differ, and however long they are. */
function isEqual(given: string, expected: string): boolean {
  const [left, right] = [given, expected].map((text) => createHash("sha256").update(text).digest());
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
}
