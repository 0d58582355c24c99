/** The user's logins, for connections. Loads their code only if there is a login. */
import { existsSync } from "node:fs";
import path from "node:path";
import { loginRequired, type ServerLogins } from "../mcp/index.ts";
import { openLogins } from "./load.ts";
import type { LoginsOptions } from "./logins.ts";

/** Where a user's logins are. */
export function loginFolder(dataFolder: string): string {
  return path.join(dataFolder, "mcp-logins");
}

export function laterLogins(options: LoginsOptions): ServerLogins {
  const { folder } = options;
  let opened: Promise<ServerLogins> | undefined;
  const find = () => (existsSync(folder) ? (opened ??= openLogins(options)) : undefined);
  return {
    findToken: async (server) => (await find())?.findToken(server),
    renew: async (server, refused) => {
      const logins = await find();
      if (logins === undefined) throw loginRequired(server.name);
      await logins.renew(server, refused);
    },
  };
}
