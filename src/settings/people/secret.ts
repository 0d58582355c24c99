/** Secrets given to people, such as tokens, and their stored hashes. */
import { nodeCrypto } from "../../util/index.ts";

const SECRET_BYTES = 32;

/** 256 random bits. */
export function newSecret(): string {
  return nodeCrypto().randomBytes(SECRET_BYTES).toString("base64url");
}

/** The hash that is stored for a secret. */
export function hashOf(secret: string): string {
  return nodeCrypto().createHash("sha256").update(secret).digest("hex");
}
