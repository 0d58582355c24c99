/** `jp mcp`: the words that describe its commands. */
import { type Command, InvalidArgumentError } from "commander";
import { command, withSettings } from "../../define.ts";

export function addMcpCommands(group: Command): void {
  withSettings(group.command("serve"))
    .description("be an MCP server, with ask_user and the record of questions as its tools")
    .option(
      "--http",
      "listen on this machine, for any number of clients, instead of standard input",
    )
    .option("--port <number>", "listen on this port; on any that is free without it", parsePort)
    .option("--token-env <name>", "clients must have the token in this variable, not a new one")
    .option("--non-interactive", "ask nobody at this terminal")
    .addHelpText(
      "after",
      `
Questions go to the user of a client that can show forms. Of other clients
they go to this terminal with --http, and are refused without: then the
terminal is the client's. Each client gets a conversation for its questions;
\`jp inquiry ls\` shows them with all others.`,
    )
    .action(command(async () => (await import("./serve.ts")).serveMcp));
}

const HIGHEST_PORT = 65_535;

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > HIGHEST_PORT) {
    throw new InvalidArgumentError(`Give a whole number up to ${HIGHEST_PORT}.`);
  }
  return port;
}
