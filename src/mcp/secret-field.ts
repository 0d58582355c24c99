/** Whether a field asks for something that has no place in a form. Its name is all there is to go by. */
import type { JsonObject } from "../util/index.ts";

/** Looked for in the words of a name, which `wordsOf` has put apart. */
const SECRET_WORDS = new RegExp(
  String.raw`\b(?:${[
    "pass ?words?|passwd|pwd|pass ?phrases?|pass ?codes?",
    "secrets?|credentials?|token", // Of tokens in the plural there is a number, not a secret.
    "(?:api|access|private|secret|encryption|recovery|seed) ?(?:keys?|phrases?|codes?)",
    "ssn|social security",
    "(?:credit|debit|card) ?(?:card|numbers?|no)|cvv|cvc|iban|pin|pins|otp|one time codes?",
  ].join("|")})\b`,
);

export function asksForSecret(name: string, schema: JsonObject): boolean {
  const { format, writeOnly, title } = schema;
  if (format === "password" || writeOnly === true) return true;
  return [name, title].some((text) => typeof text === "string" && SECRET_WORDS.test(wordsOf(text)));
}

/** `userPassword`, `user-password` and `USER_PASSWORD` alike become `user password`. */
function wordsOf(text: string): string {
  return text
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
    .toLowerCase();
}
