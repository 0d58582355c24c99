/** Options and help of `jp mcp`. */
import type { Command } from "commander";
import { define } from "../../define.ts";
import {
  ADD_SERVER_OPTIONS,
  LIST_SERVERS_OPTIONS,
  REMOVE_SERVER_OPTIONS,
  SERVE_MCP_OPTIONS,
} from "./options.ts";

export function defineMcp(group: Command): void {
  define(
    group.command("add <name> <target> [args...]"),
    ADD_SERVER_OPTIONS,
    async () => (await import("./servers.ts")).addServer,
  )
    .description("Add a server: a command or a URL")
    .addHelpText(
      "after",
      `
Put -- before arguments of the server that start with a dash:
  jp mcp add files my-server -- --read-only /srv
  jp mcp add --header 'Authorization: Bearer $TOKEN' web https://example.com/mcp

The model is offered all its tools, and jp asks before each call. $TOKEN in a
header is replaced from the environment when the server is used.`,
    );
  define(
    group.command("ls"),
    LIST_SERVERS_OPTIONS,
    async () => (await import("./servers.ts")).listServers,
  ).description("List servers without starting them");
  define(
    group.command("tools [server]"),
    LIST_SERVERS_OPTIONS,
    async () => (await import("./servers.ts")).listServerTools,
  ).description("Start servers and list their tools");
  define(
    group.command("rm <name>"),
    REMOVE_SERVER_OPTIONS,
    async () => (await import("./servers.ts")).removeServer,
  ).description("Remove a server");
  define(
    group.command("serve"),
    SERVE_MCP_OPTIONS,
    async () => (await import("./serve.ts")).serveMcp,
  )
    .description("Serve jp to other agents over MCP")
    .addHelpText(
      "after",
      `
If a client can show forms, its user gets the questions. Otherwise jp asks on
this terminal with --http, and refuses without it, because the terminal then
belongs to the client. Each client gets its own conversation;
\`jp inquiry ls\` lists its questions with all others.`,
    );
}
