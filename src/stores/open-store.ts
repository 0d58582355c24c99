/** Opens a store of conversations by its address. The code that reads and writes it is loaded on first use. */
import { type Clock, loadModule, systemClock } from "../util/index.ts";
import type { ConversationStore } from "./port.ts";
import type { TenantOptions } from "./postgres/store-options.ts";
import type { Tenant } from "./workspace-port.ts";
import type { Database } from "./postgres/database.ts";
import type { LimitedTenant, TenantLimits } from "./postgres/limits.ts";
import type { TenantRole } from "./postgres/roles.ts";

/** How to open a store. Nothing is required. */
export interface OpenStoreOptions {
  /** Replaces the system clock, for tests. */
  readonly clock?: Clock;
  /** In a database: the owner of the conversations. Other tenants cannot see them. */
  readonly tenant?: string;
  /** In a database: a group of the tenant's conversations. */
  readonly workspace?: string;
}

/**
 * Opens a store of conversations that belongs to your program: a folder, or a PostgreSQL database
 * (`postgres://user@host/name`). Any number of processes can have it open. They share its locks, and can answer each
 * other's questions.
 *
 * A missing folder is created for this user alone; an existing one keeps its permissions. The records are as in a
 * workspace, but nothing outside the folder is read or written. A database needs the package `pg`, and its tables
 * (`migrateStore`). It connects on first use.
 *
 * Anyone with write access can change past decisions, so restrict it to the program. Throws `invalid_store` if the path
 * is a file or belongs to a workspace, and `write_failed` if the folder cannot be written.
 */
export async function openStore(
  address: string,
  { clock, tenant, workspace }: OpenStoreOptions = {},
): Promise<ConversationStore> {
  if (!isDatabase(address)) {
    const { openFsStore } = await loadModule(() => import("./fs/open-store.ts"));
    return openFsStore(address, clock ?? systemClock);
  }
  const { PostgresStore } = await loadModule(() => import("./postgres/postgres-store.ts"));
  return new PostgresStore({
    url: address,
    pid: process.pid,
    ...(clock !== undefined && { clock }),
    ...(tenant !== undefined && { tenant }),
    ...(workspace !== undefined && { workspace }),
  });
}

/** All workspaces of a tenant in a database. Connects on first use. Throws `invalid_store`. */
export async function openTenant(options: TenantOptions): Promise<Tenant> {
  const { PostgresTenant } = await loadModule(() => import("./postgres/tenant.ts"));
  return new PostgresTenant(options);
}

/** The result of `migrateStore`. */
export interface MigratedStore {
  /** The previous version of the tables. 0 if there were none. */
  readonly from: number;
  readonly to: number;
  /** How long others could neither read nor write, in milliseconds. */
  readonly lockedMs: number;
  /** The queue of pg-boss (`jp_queue`) is still there. Only workers of earlier versions use it. */
  readonly hasQueue: boolean;
}

/** How to migrate a store. */
export interface MigrateStoreOptions {
  /**
   * Removes the queue of pg-boss that workers of earlier versions use. It has only hints: such workers then find turns by
   * looking once a second.
   */
  readonly dropQueue?: boolean;
}

/**
 * Creates the tables of a store in PostgreSQL, or upgrades those of an earlier version. Does nothing if they are
 * current. Throws `store_too_new` if a newer version of jp has changed them, `store_busy` if a transaction of someone
 * else keeps the tables for ten seconds, and `store_unreachable`.
 */
export async function migrateStore(
  url: string,
  { dropQueue = false }: MigrateStoreOptions = {},
): Promise<MigratedStore> {
  const { dropOldQueue, hasOldQueue, migrate, SCHEMA_VERSION } = await loadModule(
    () => import("./postgres/schema.ts"),
  );
  return withDatabase(url, async (database) => {
    const { from, lockedMs } = await migrate(database);
    const { listUnlisted } = await loadModule(() => import("./postgres/pending-page.ts"));
    await listUnlisted(database, url);
    if (dropQueue) await dropOldQueue(database);
    return { from, to: SCHEMA_VERSION, lockedMs, hasQueue: await hasOldQueue(database) };
  });
}

/**
 * The limits of the tenants of a database, for those that have any. Throws `store_not_migrated`, `store_denied`,
 * `store_unreachable`.
 */
export async function listLimits(url: string): Promise<readonly LimitedTenant[]> {
  const { assertVersion } = await loadModule(() => import("./postgres/schema.ts"));
  const { readLimits } = await loadModule(() => import("./postgres/limits.ts"));
  return withDatabase(url, async (database) => {
    await assertVersion(database);
    return readLimits(database);
  });
}

/** Replaces the limits of a tenant. Only the owner of the tables can. Throws like `listLimits`. */
export async function setLimits(
  url: string,
  { tenant, ...limits }: { readonly tenant: string } & TenantLimits,
): Promise<void> {
  const { assertVersion } = await loadModule(() => import("./postgres/schema.ts"));
  const { writeLimits } = await loadModule(() => import("./postgres/limits.ts"));
  await withDatabase(url, async (database) => {
    await assertVersion(database);
    await writeLimits(database, { tenant, ...limits });
  });
}

/** SQL for roles with the minimum rights that jp needs: the role of each kind, or a tenant's login. */
export async function rolesScript(login?: TenantRole): Promise<string> {
  const roles = await loadModule(() => import("./postgres/roles.ts"));
  return login === undefined ? roles.groupRolesScript() : roles.tenantRoleScript(login);
}

async function withDatabase<Value>(
  url: string,
  action: (database: Database) => Promise<Value>,
): Promise<Value> {
  const { Database: Opened } = await loadModule(() => import("./postgres/database.ts"));
  const database = new Opened(url);
  try {
    return await action(database);
  } finally {
    await database.close();
  }
}

function isDatabase(address: string): boolean {
  return /^postgres(?:ql)?:/.test(address);
}
