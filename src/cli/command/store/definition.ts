/** Options and help of `jp store`. */
import type { Command } from "commander";
import { define } from "../../define.ts";
import * as options from "./options.ts";

export function defineStore(group: Command): void {
  group.addHelpText(
    "after",
    `
By default, jp keeps conversations in files. To keep them in a PostgreSQL
database, name it with --store, with JP_STORE, or in your own config:

  [storage]
  url = "postgres://ana@db.example.com/jp"

The database needs tables (jp store migrate), and jp the package pg.
Leave the password out of the URL: PostgreSQL's ~/.pgpass and PGPASSWORD work.`,
  );
  define(group.command("migrate"), {
    description: "Create or update the tables of the store",
    options: options.MIGRATE,
    help: `
While it changes tables, no one else can read or write: it says how long. Desks
and commands of an earlier version do not work with the new tables. Workers that
run already do, beside new ones.

Earlier versions of jp kept a queue for their workers in the schema jp_queue. It
stays until you remove it with --drop-queue, once those workers are gone. It has
only hints, so no turn is lost: a worker of an earlier version that still runs
then looks for turns once a second, and logs problems.`,
    run: async () => (await import("./store.ts")).migrateDatabase,
  }).argument("[address]", "Database (default: the configured one)");
  define(group.command("copy"), {
    description: "Copy all conversations of this workspace to another store",
    help: `
Copies byte for byte, so that copying back gives the same files. Conversations
that are there already and are the same are left alone, and no other one is
overwritten. Your local conversations stay where they are. No one may work with
the conversations meanwhile.`,
    run: async () => (await import("./store.ts")).copyBetween,
  })
    .argument("<from>", "Where they are: files, or the address of a database")
    .argument("<to>", "Where they go: files, or the address of a database");
  define(group.command("claim"), {
    description: "Name this workspace in the database by .jp/.store-id",
    options: options.CLAIM,
    help: `
A workspace that is new to a database gets the file .jp/.store-id, with 128
random bits that name it there. One from before that goes by the five digits of
.jp/.id, which another repository may have as well, until you claim it: jp
writes the file, and its conversations belong to those who have it.

Commit the file, and have other clones pull it. Until then they are refused,
except with storage.workspace. What runs already goes on.

--other is for a repository that has the .jp/.id of another one by chance: it
gets a workspace without conversations, and leaves those of the other alone.`,
    run: async () => (await import("./store.ts")).claimWorkspace,
  });
  defineSigning(group);
  defineTenants(group);
}

function defineSigning(group: Command): void {
  define(group.command("key"), {
    description: "Print the key with which this machine signs turns in a database",
    help: `
Others who use the database continue your turns, and act on your approvals, only
if they accept this key, in their own config:

  [storage]
  accepts = ["…"]

A key counts for the turns of storage.tenant alone, unless the entry names the
tenants whose turns that machine may sign:

  accepts = [{ key = "…", tenants = ["acme", "umbrella"] }]`,
    run: async () => (await import("./store.ts")).printKey,
  });
  define(group.command("accept-restore"), {
    description: "Accept that a restored backup has older turns than this machine has seen",
    help: `
After a backup was restored, machines that have seen newer states of its turns
refuse them: someone may have put them back, so that an approval is used twice.
This command lists these turns, in all workspaces of the tenant, and asks you on
the terminal. After a yes, this machine signs them again, and continues them. It
keeps on record what it let go: see \`jp doctor\` and \`jp evidence export\`.

Others that accept the key of this machine need not do the same, unless they
have seen still newer states.`,
    run: async () => (await import("./accept-restore.ts")).acceptRestore,
  });
}

function defineTenants(group: Command): void {
  define(group.command("roles"), {
    description: "Print the SQL for roles that may do only what jp does",
    options: options.ROLES,
    help: `
jp runs none of it. The owner of the tables does, once they are there:

  jp store roles | psql -v ON_ERROR_STOP=1 "dbname=jp"
  jp store roles --tenant acme | psql -v ON_ERROR_STOP=1 "dbname=jp"

A login sees and writes only the conversations of its tenant, whatever SQL it
runs. The kinds:
  reader  reads conversations and people
  writer  also asks, answers and continues turns: commands
  desk    also changes people and logins: jp serve, jp serve people
  worker  a writer that also continues turns: jp worker

The script of a login fails if it serves another tenant or has another kind, or
is one of jp's own roles: --role names another. It also limits connections and
how long statements, locks and open transactions may last.`,
    run: async () => (await import("./store.ts")).printRoles,
  });
  define(group.command("limit"), {
    description: "Set what a tenant may use of the database, or list the limits",
    options: options.LIMIT,
    help: `
Limits that are not named stay as they are; none removes one. Only the owner of
the tables can set them.`,
    run: async () => (await import("./store.ts")).limitTenant,
  }).argument("[tenant]", "Whose (default: list those of all)");
}
