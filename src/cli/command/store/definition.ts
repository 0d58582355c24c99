/** Options and help of `jp store`. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { command, formatOption, parseCount } from "../../define.ts";

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
  defineTenants(group);
}

function defineTenants(group: Command): void {
  group
    .command("roles")
    .description("Print the SQL for roles that may do only what jp does")
    .option("--tenant <name>", "Only the login of this tenant; * is all tenants")
    .option("--role <name>", "Its name (default: jp_ and the tenant)")
    .addOption(
      new Option("--kind <kind>", "What it is for")
        .choices(["reader", "writer", "desk", "worker"])
        .default("writer"),
    )
    .addHelpText(
      "after",
      `
jp runs none of it. The owner of the tables does, once they are there:

  jp store roles | psql -v ON_ERROR_STOP=1 "dbname=jp"
  jp store roles --tenant acme | psql -v ON_ERROR_STOP=1 "dbname=jp"

A login sees and writes only the conversations of its tenant, whatever SQL it
runs. The kinds:
  reader  reads conversations and people
  writer  also asks, answers and continues turns: commands
  desk    also changes people and logins: jp serve, jp serve people
  worker  a writer that also works on the queue: your own machines only`,
    )
    .action(command(async () => (await import("./store.ts")).printRoles));
  group
    .command("limit")
    .description("Set what a tenant may use of the database, or list the limits")
    .argument("[tenant]", "Whose (default: list those of all)")
    .option(
      "--turns <count>",
      "Turns that run at once in workers, or none",
      parseLimit(MAX_INTEGER),
    )
    .option(
      "--bytes <count>",
      "Bytes of stored events, or none",
      parseLimit(Number.MAX_SAFE_INTEGER),
    )
    .option("--requests <count>", "New turns in a minute, or none", parseLimit(MAX_INTEGER))
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
Limits that are not named stay as they are; none removes one. Only the owner of
the tables can set them.`,
    )
    .action(command(async () => (await import("./store.ts")).limitTenant));
}

/** PostgreSQL's largest integer. */
const MAX_INTEGER = 2 ** 31 - 1;

/** `none` means no limit. */
function parseLimit(max: number) {
  return (text: string): number | "none" => {
    if (text === "none") return text;
    const count = parseCount(text);
    if (count <= max) return count;
    throw new InvalidArgumentError(`Expected a whole number up to ${max}.`);
  };
}
