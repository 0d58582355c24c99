/** Options and help of `jp mcp`. */
import type { Command } from "commander";
import {
  collect,
  command,
  formatOption,
  parsePort,
  placeOption,
  withConfigOption,
} from "../../define.ts";

export function defineMcp(group: Command): void {
  group
    .command("add <name> <target> [args...]")
    .description("Add a server: a command or a URL")
    .addOption(placeOption("File to add it to").default("user"))
    .option("--env <name>", "Pass this environment variable to the server; repeatable", collect)
    .option(
      "--header <header>",
      "Send this header, such as 'Authorization: Bearer $TOKEN'; repeatable",
      collect,
    )
    .option("--optional", "Only a warning of `jp doctor` if the server does not start")
    .option("--no-tools", "Do not offer its tools until you configure them one by one")
    .option("--force", "Replace a server of the same name")
    .addHelpText(
      "after",
      `
Put -- before arguments of the server that start with a dash:
  jp mcp add files my-server -- --read-only /srv
  jp mcp add --header 'Authorization: Bearer $TOKEN' web https://example.com/mcp

The model is offered all its tools, and jp asks before each call. $TOKEN in a
header is replaced from the environment when the server is used.`,
    )
    .action(command(async () => (await import("./servers.ts")).addServer));
  withConfigOption(group.command("ls"))
    .description("List servers without starting them")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./servers.ts")).listServers));
  withConfigOption(group.command("tools [server]"))
    .description("Start servers and list their tools")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./servers.ts")).listServerTools));
  group
    .command("rm <name>")
    .description("Remove a server")
    .addOption(placeOption("File to remove it from (default: the only one that has it)"))
    .action(command(async () => (await import("./servers.ts")).removeServer));
  withConfigOption(group.command("serve"))
    .description("Serve jp to other agents over MCP")
    .option("--http", "Listen on this machine for any number of clients, instead of using stdin")
    .option("--port <number>", "Port to listen on (default: any free port)", parsePort)
    .option(
      "--token-env <name>",
      "Take the client token from this variable, instead of generating one",
    )
    .option("--non-interactive", "Never prompt on this terminal")
    .addHelpText(
      "after",
      `
If a client can show forms, its user gets the questions. Otherwise jp asks on
this terminal with --http, and refuses without it, because the terminal then
belongs to the client. Each client gets its own conversation;
\`jp inquiry ls\` lists its questions with all others.`,
    )
    .action(command(async () => (await import("./serve.ts")).serveMcp));
}
