/** Parses `--origin`, the address that people open. */
import { isLoopback } from "../../../util/index.ts";
import { usageError } from "../../exit-status.ts";

/** A proxy speaks HTTPS; a tunnel to this machine's own address need not. Throws `usage`. */
export function parseOrigin(text: string): string {
  const url = URL.parse(text);
  if (url === null || `${url.origin}/` !== url.href) {
    throw usageError(`--origin ${text} is not an address such as https://desk.example.`);
  }
  const isFine =
    url.protocol === "https:" || (url.protocol === "http:" && isLocalName(url.hostname));
  if (!isFine) throw usageError(`--origin ${text} must begin with https://`);
  return url.origin;
}

/** Whether the name resolves to the local machine everywhere. */
export function isLocalName(name: string): boolean {
  return isLoopback(name) || name.endsWith(".localhost");
}
