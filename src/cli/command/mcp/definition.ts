/** Options and help of `jp mcp`. */
import type { Command } from "commander";
import { command, parsePort, withConfigOption } from "../../define.ts";

export function defineMcp(group: Command): void {
  withConfigOption(group.command("serve"))
    .description(
      "Run an MCP server that lets other agents ask you, and read your recorded questions",
    )
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
