/** How a store in PostgreSQL is opened. Apart from it, because the types of the package `pg` need not be there. */
import type { Clock } from "../../util/index.ts";
import type { TurnKeys } from "./turn-keys.ts";

export interface PostgresStoreOptions {
  /** Such as `postgres://user@host/database`. */
  readonly url: string;
  /** Whose conversations these are. */
  readonly tenant?: string;
  /** A tenant can have several. */
  readonly workspace?: string | WorkspaceName;
  /** Replaces the clock of the server, for tests. Leases always take the server's. */
  readonly clock?: Clock;
  readonly pid: number;
  /** Without them, whoever can write to the database is trusted with what was decided. */
  readonly keys?: () => Promise<TurnKeys>;
  /** Where processes of this user, on this machine, find each other to pass on secrets. Without it, no one can. */
  readonly ensurePrivateFolder?: () => Promise<string>;
  /** The log of what the chains of decisions have grown to. */
  readonly headsFile?: string;
  /** The workspace that is decided about, if it is a folder on this machine. For the log of heads. */
  readonly root?: string;
}

/** A name that may not exist yet. */
export interface WorkspaceName {
  readonly find: () => string | undefined;
  /** Throws `no_workspace`. */
  readonly ensure: () => Promise<string>;
}

/** How all workspaces of a tenant are opened. */
export type TenantOptions = Omit<PostgresStoreOptions, "workspace">;
