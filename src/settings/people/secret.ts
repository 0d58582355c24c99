/** Secrets that people are given, such as tokens, and what is stored of them. */
import { createHash, randomBytes } from "node:crypto";

const SECRET_BYTES = 32;

/** 256 random bits. */
export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

/** What is stored of a secret. */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
