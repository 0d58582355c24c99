/** Options and help of `jp store`. */
import type { Command } from "commander";
import { command } from "../../define.ts";

export function defineStore(group: Command): void {
  group.addHelpText(
    "after",
    `
By default, jp keeps conversations in files. To keep them in a PostgreSQL
database, name it with --store, with JP_STORE, or in your own config:

  [storage]
  url = "postgres://ana@db.example.com/jp"

The database needs tables (jp store migrate), and jp the package pg.
Better leave the password out of the address: PostgreSQL's ~/.pgpass and
PGPASSWORD work.`,
  );
  group
    .command("migrate")
    .description("Create or update the tables of the store")
    .argument("[address]", "Database (default: the configured one)")
    .action(command(async () => (await import("./store.ts")).migrateDatabase));
  group
    .command("copy")
    .description("Copy all conversations of this workspace to another store")
    .argument("<from>", "Where they are: files, or the address of a database")
    .argument("<to>", "Where they go: files, or the address of a database")
    .addHelpText(
      "after",
      `
Copies byte for byte, so that copying back gives the same files. Conversations
that are there already and are the same are left alone, and no other one is
overwritten. Your local conversations stay where they are. No one may work with
the conversations meanwhile.`,
    )
    .action(command(async () => (await import("./store.ts")).copyBetween));
  group
    .command("key")
    .description("Print the key with which this machine signs turns in a database")
    .addHelpText(
      "after",
      `
Others who use the database continue your turns, and act on your approvals, only
if they accept this key, in their own config:

  [storage]
  accepts = ["…"]`,
    )
    .action(command(async () => (await import("./store.ts")).printKey));
}
