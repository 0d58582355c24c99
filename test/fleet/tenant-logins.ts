/** Logins of tenants that share a database, each with a store. */
import { onTestFinished } from "vitest";
import { migrateStore } from "../../src/index.ts";
import { openPeople, type People } from "../../src/settings/people/index.ts";
import { copyStore, type SessionTable } from "../../src/stores/index.ts";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import {
  groupRolesScript,
  type RoleKind,
  tenantRoleScript,
} from "../../src/stores/postgres/roles.ts";
import { PostgresTenant } from "../../src/stores/postgres/tenant.ts";
import type { TurnKeys } from "../../src/stores/postgres/store-options.ts";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";
import { emptyDatabase } from "../support/postgres.ts";

let migrated: Promise<string> | undefined;

/** A database with the roles of `jp store roles`. */
function databaseWithRoles(): Promise<string> {
  migrated ??= (async () => {
    const url = await emptyDatabase();
    await migrateStore(url);
    const database = new Database(url);
    for (const text of [groupRolesScript(), groupRolesScript()]) await database.query({ text });
    await database.close();
    return url;
  })();
  return migrated;
}

export interface Login {
  readonly store: PostgresStore;
  /** Of the same role. */
  readonly database: Database;
  readonly role: string;
  readonly people: People;
  readonly sessions: SessionTable;
}

interface LoginOptions {
  readonly tenant?: string;
  readonly serves?: string;
  readonly kind?: RoleKind;
  readonly keys?: TurnKeys;
}

/** The owner of the tables, and logins as the script makes them, in a database with the roles of jp. */
export async function openTenants(given?: string) {
  const url = given ?? (await databaseWithRoles());
  const owner = new Database(url);
  onTestFinished(() => owner.close());
  const run = crypto.randomUUID().replaceAll("-", "");
  const nameOf = (tenant: string) => (tenant === "*" ? tenant : `${tenant}'s \\ ${run}`);
  const login = async (role: string, options: LoginOptions = {}): Promise<Login> => {
    const { tenant = role, serves = tenant, kind = "writer", keys } = options;
    const name = `${role}_${run}`;
    await owner.query({ text: tenantRoleScript({ role: name, tenant: nameOf(serves), kind }) });
    const address = new URL(url);
    address.username = name;
    const place = { tenant: nameOf(tenant), workspace: "same" };
    const keyed = keys !== undefined && { keys: async () => keys };
    const store = new PostgresStore({ url: address.href, ...place, pid: process.pid, ...keyed });
    const database = new Database(address.href);
    const shared = new PostgresTenant({ url: address.href, ...place, pid: process.pid });
    onTestFinished(async () => {
      for (const each of [store, database, shared]) await each.close();
    });
    const people = openPeople(shared.people);
    return { store, database, role: name, people, sessions: shared.sessions };
  };
  return { owner, login, nameOf };
}

/** What the server says to a statement: the number of its rows, or its refusal. */
export async function tryIn({ database }: Pick<Login, "database">, text: string): Promise<unknown> {
  try {
    return (await database.query({ text })).length;
  } catch (error) {
    return error instanceof Error && "code" in error ? error.code : error;
  }
}

/** One that waits, with a chain, a file and an offer. */
export async function fill({ store, database }: Login): Promise<void> {
  const files = temporaryWorkspace();
  const copied = await files.conversations.create({});
  await copied.append(...WAITING);
  await copied.release();
  await copyStore(await files.openPortable(), store);
  await database.query({
    text: `insert into jp.files (conversation, tenant, name, content) select key, tenant, 'notes', 'x' from jp.conversations;
      insert into jp.offers (key, conversation, tenant, offered)
        select gen_random_uuid(), key, tenant, '{}' from jp.conversations`,
  });
}
