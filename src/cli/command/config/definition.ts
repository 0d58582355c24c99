/** `jp config`: the words that describe its commands. */
import { type Command, Option } from "commander";
import { collect, command, formatOption } from "../../define.ts";

export function addConfigCommands(group: Command): void {
  withSettings(group.command("show [key]"))
    .description("every value in force, or those below a key")
    .option("--explain", "say for each value where it comes from, and what it overrides")
    .option("--id <target>", "with what this conversation remembers")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./show.ts")).showConfig));
  withSettings(group.command("get <key>"))
    .description("one value, or a table as JSON")
    .option("--id <target>", "with what this conversation remembers")
    .action(command(async () => (await import("./get.ts")).getConfig));
  group
    .command("set <key> <value>")
    .description("change a value in a config file; comments stay")
    .addOption(
      new Option("--in <place>", "the workspace's file, your own for it, or your own for all")
        .choices(["workspace", "local", "user"])
        .default("workspace"),
    )
    .option("--json", "the value is JSON")
    .action(command(async () => (await import("./set.ts")).setConfig));
  group
    .command("path")
    .description("the files that are read, the one that wins last")
    .action(command(async () => (await import("./path.ts")).printConfigPaths));
  group
    .command("schema")
    .description("a JSON Schema of the config, for editors")
    .action(command(async () => (await import("./schema.ts")).printSchema));
}

/** For all commands that work with the config. */
export function withSettings(definition: Command): Command {
  return definition.option(
    "-c, --cfg <setting>",
    "change the config for this command: key=value, key:=JSON, @file or a JSON object; may be repeated",
    collect,
  );
}
