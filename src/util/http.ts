/**
 * Shared by jp's HTTP servers: rejecting foreign web pages, comparing secrets safely, and reporting a port in use.
 */
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { JpError, systemErrorCode } from "./errors.ts";

/** Whether a host, as written in a `URL` or by a person, always means this machine. */
export function isLoopback(host: string): boolean {
  return ["localhost", "::1", "[::1]"].includes(host) || /^127(?:\.\d+){3}$/.test(host);
}

/** A host as a `URL` writes it, and its port if given. */
export interface NamedHost {
  readonly hostname: string;
  readonly port?: number;
}

/** Undefined for anything but `host` and `host:port`, such as a whole address. */
export function parseHost(text: string): NamedHost | undefined {
  const [, host, port] = /^(\[[^\]]+\]|[^\s\\/?#@:*]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const url = host === undefined ? null : URL.parse(`http://${host}:${port ?? "80"}`);
  if (url === null) return undefined;
  const { hostname } = url;
  return port === undefined ? { hostname } : { hostname, port: Number(port) };
}

/** Constant-time comparison, whatever the lengths and differences. */
export function isSameSecret(given: string, expected: string): boolean {
  // Not imported: it is slow to load, and commands share this folder.
  const { hash, timingSafeEqual } = process.getBuiltinModule("node:crypto");
  const [left, right] = [given, expected].map((text) => hash("sha256", text, "buffer"));
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
}

/**
 * Why a request is not for one of the server's own addresses; undefined if it is. `host` reveals DNS rebinding,
 * `origin` a web page. Check this before any secret, so that such a caller cannot find out whether a secret is valid.
 */
export function findForeignCaller(
  headers: IncomingHttpHeaders,
  own: readonly URL[],
): string | undefined {
  const host = headers.host?.toLowerCase();
  if (!own.some((url) => url.host === host)) return "The Host header does not match this server.";
  const { origin } = headers;
  if (origin === undefined || own.some((url) => url.origin === origin)) return undefined;
  return "Requests from other origins are not allowed.";
}

/** Returns the port; 0 picks a free one. Throws `port_in_use` and `address_unavailable`. */
export async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<number> {
  server.listen(port, host);
  await once(server, "listening").catch((error: unknown) => {
    throw cannotListen(error, { host, port });
  });
  return (server.address() as AddressInfo).port; // It listens on a port.
}

function cannotListen(
  error: unknown,
  { host, port }: { readonly host: string; readonly port: number },
): unknown {
  const code = systemErrorCode(error);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return new JpError("address_unavailable", `${host} is not an address of this machine.`, {
      commandHint: "Choose another one with --host, or omit it to serve only this machine.",
      cause: error,
    });
  }
  if (code !== "EADDRINUSE" && code !== "EACCES") return error;
  const why = code === "EACCES" ? "is not allowed" : "is in use";
  return new JpError("port_in_use", `Port ${port} of ${host} ${why}.`, {
    commandHint: "Choose another port with --port, or omit it to use any free port.",
    cause: error,
  });
}
