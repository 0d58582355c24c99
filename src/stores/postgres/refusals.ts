/** Errors for what the server refuses to a tenant, or to the role of the connection. */
import { messageOf, systemErrorCode } from "../../util/index.ts";
import { StorageError } from "../storage-error.ts";

/** Codes raised by the functions that enforce limits. Not PostgreSQL's own. */
export const FULL_STATE = "JP001";
export const TOO_MANY_TURNS_STATE = "JP002";
/** PostgreSQL's own code for a denial by a policy, or a missing grant. */
const DENIED_STATE = "42501";
/** Its code for a disk without space. */
const DISK_FULL_STATE = "53100";

/** Converts a deliberate refusal to a `StorageError`. Returns other errors unchanged. */
export function toRefusal(error: unknown): unknown {
  const state = systemErrorCode(error);
  if (state === FULL_STATE) {
    return new StorageError(
      "store_full",
      `The store is full: this tenant may keep ${limitOf(error)} bytes of events.`,
      {
        cause: error,
        hint: "Nothing was written. Remove conversations, or ask whoever runs the database for more.",
      },
    );
  }
  if (state === TOO_MANY_TURNS_STATE) {
    return new StorageError(
      "too_many_turns",
      `Too many turns: this tenant may start ${limitOf(error)} a minute.`,
      { cause: error, hint: "Nothing was written. Try again in a minute." },
    );
  }
  if (state === DISK_FULL_STATE) {
    return new StorageError(
      "store_full",
      "The store is full: the disk of its server has no space left.",
      {
        cause: error,
        hint: "Nothing was written. Ask whoever runs the database for more space.",
      },
    );
  }
  if (state !== DENIED_STATE) return error;
  return new StorageError(
    "store_denied",
    `The database does not allow this: ${messageOf(error).replace(/\.$/, "")}.`,
    {
      cause: error,
      hint: "Check the role that connects, and the tenant. The owner of the tables grants what a role may do.",
      commandHint:
        "Check the role that connects, and storage.tenant. `jp store roles` prints what a role needs.",
    },
  );
}

/** Nothing was written, and the next write may succeed. */
export function isLimitError(error: unknown): boolean {
  return (
    error instanceof StorageError &&
    (error.code === "store_full" || error.code === "too_many_turns")
  );
}

function limitOf(error: unknown): string {
  const { detail } = error as { readonly detail?: unknown }; // Set by `pg`.
  return typeof detail === "string" ? Number(detail).toLocaleString("en-US") : "so many";
}
