/** Options of a store in PostgreSQL. In a file of their own, because the types of the package `pg` may be missing. */
import type { KeyObject } from "node:crypto";
import type { Clock } from "../../util/index.ts";
import { StorageError } from "../storage-error.ts";

/** The first connection. A server that restarts refuses it for a while. */
export interface Connecting {
  /** How long to retry it; 20 seconds if absent. */
  readonly startMs?: number;
  /** Called once, when it has taken longer than a second. Must not throw. */
  readonly onWait?: (address: string) => void;
}

export interface PostgresStoreOptions {
  readonly connecting?: Connecting;
  /** For example `postgres://user@host/database`. */
  readonly url: string;
  /** The owner of the conversations. */
  readonly tenant?: string;
  /** A tenant can have several. */
  readonly workspace?: string | WorkspaceFiles;
  /** Overrides the server's clock, for tests. Leases always use the server's. */
  readonly clock?: Clock;
  readonly pid: number;
  /** Without them, everyone with write access to the database is trusted with past decisions. */
  readonly keys?: () => Promise<TurnKeys>;
  /** The folder through which this user's processes on this machine pass secrets. Without it, they cannot. */
  readonly ensurePrivateFolder?: () => Promise<string>;
  /** The log of chain heads. */
  readonly headsFile?: string;
  /** The workspace that decisions are about, if it is a folder on this machine. For the log of heads. */
  readonly root?: string;
}

/** The files of a workspace that name it in a database. All throw `no_workspace` outside of a workspace. */
export interface WorkspaceFiles {
  /** The folder with `.jp`, for messages. */
  readonly root: string;
  /** The id in `.jp/.id`, if there is one. Throws `workspace_id_damaged`. */
  readonly findId: () => string | undefined;
  /** Throws `workspace_id_damaged`, `write_failed`. */
  readonly ensureId: () => Promise<string>;
  /** The id in `.jp/.store-id`, if there is one. Throws `workspace_id_damaged`. */
  readonly findStoreId: () => Promise<string | undefined>;
  /** The same id in all processes that call it at once. Throws `workspace_id_damaged`, `write_failed`. */
  readonly ensureStoreId: () => Promise<StoreIdFile>;
  /** Removes a file that `ensureStoreId` has just made. */
  readonly removeStoreId: () => Promise<void>;
  /** Called when a new workspace has made its own `.jp/.store-id`. */
  readonly onCreate: () => void;
}

/** The file with the id by which a database knows a workspace. */
export interface StoreIdFile {
  readonly storeId: string;
  /** This call has made it. */
  readonly isNew: boolean;
}

/** The tenant of a store whose options name none. */
export const DEFAULT_TENANT = "default";

/** The public key of another machine, and the tenants in whose name it may sign turns. */
export interface AcceptedKey {
  readonly key: string;
  readonly tenants: readonly string[];
}

/** The Ed25519 keys of a store's user. */
export interface TurnKeys {
  /** This machine's private key, in PEM. */
  readonly privateKey: KeyObject | string;
  /**
   * The public keys of others whose turns may continue here: see `publicKeyText`. One without tenants counts for the
   * tenant of the store alone.
   */
  readonly accepted?: readonly (string | AcceptedKey)[];
}

/** The keys that count for a tenant. One without tenants counts for the store's own, which this is. */
export function acceptedFor(
  tenant: string,
  accepted: readonly (string | AcceptedKey)[],
): readonly string[] {
  return accepted.flatMap((entry) => {
    if (typeof entry === "string") return [entry];
    return entry.tenants.includes(tenant) ? [entry.key] : [];
  });
}

/** Options for all workspaces of a tenant. */
export type TenantOptions = Omit<PostgresStoreOptions, "workspace">;

/** The address of a database, for display: without the user name and password. Throws `invalid_store`. */
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
