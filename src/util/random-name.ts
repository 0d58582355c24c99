/**
 * Eight hexadecimal digits, for names that must not collide but may be guessed. `crypto.randomUUID` would load Node's
 * cryptography, which takes a tenth of Node's own start.
 */
export function randomName(): string {
  return Math.floor(Math.random() * 2 ** 32)
    .toString(16)
    .padStart(8, "0");
}

/** 32 unguessable hexadecimal digits. */
export function randomKey(): string {
  return crypto.randomUUID().replaceAll("-", "");
}
