/** Options and help of `jp mcp`. */
import type { Command } from "commander";
import { define } from "../../define.ts";
import * as options from "./options.ts";

export function defineMcp(group: Command): void {
  define(group.command("add <name> <target> [args...]"), {
    description: "Add a server: a command or a URL",
    options: options.ADD_SERVER,
    help: `
Put -- before arguments of the server that start with a dash:
  jp mcp add files my-server -- --read-only /srv
  jp mcp add --header 'Authorization: Bearer $TOKEN' web https://example.com/mcp

The model is offered all its tools, and jp asks before each call. $TOKEN in a
header is replaced from the environment when the server is used.`,
    run: async () => (await import("./servers.ts")).addServer,
  });
  define(group.command("ls"), {
    description: "List servers without starting them",
    options: options.LIST_SERVERS,
    run: async () => (await import("./servers.ts")).listServers,
  });
  define(group.command("tools [server]"), {
    description: "Start servers and list their tools",
    options: options.LIST_SERVERS,
    run: async () => (await import("./servers.ts")).listServerTools,
  });
  define(group.command("login <name>"), {
    description: "Log in to a remote server",
    options: options.LOG_IN,
    help: `
jp opens the page of the server's authorization server in your browser, and
prints the link. If the browser is on another machine, paste the address at
which it ends. The tokens are kept in your own data folder, and renewed by
themselves.`,
    run: async () => (await import("./login.ts")).logInToServer,
  });
  define(group.command("logout <name>"), {
    description: "End a login, and delete its tokens",
    options: options.LOG_OUT,
    run: async () => (await import("./login.ts")).logOutOfServer,
  });
  define(group.command("rm <name>"), {
    description: "Remove a server",
    options: options.REMOVE_SERVER,
    run: async () => (await import("./servers.ts")).removeServer,
  });
  define(group.command("serve"), {
    description: "Serve jp to other agents over MCP",
    options: options.SERVE_MCP,
    help: `
If a client can show forms, its user gets the questions. Otherwise jp asks on
this terminal with --http, and refuses without it, because the terminal then
belongs to the client. Each client gets its own conversation;
\`jp inquiry ls\` lists its questions with all others.`,
    run: async () => (await import("./serve.ts")).serveMcp,
  });
}
