/** The address of a database, for display. */
import { StorageError } from "../storage-error.ts";

/** Leaves out the user name and password. Throws `invalid_store`. */
export function addressOf(url: string): string {
  if (!URL.canParse(url)) {
    throw new StorageError("invalid_store", "The address of the store is not a URL.", {
      hint: "It looks like postgres://user@host/database.",
    });
  }
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = searchParams.get("host") ?? hostname;
  return `${host}${port === "" ? "" : `:${port}`}${pathname}`;
}
