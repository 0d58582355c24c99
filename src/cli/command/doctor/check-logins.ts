/** Checks the user's logins to MCP servers. */
import { usesLogins } from "../../../reach/mcp/index.ts";
import { type PartialConfig, resolveMcpServers } from "../../../settings/config/index.ts";
import type { CommandContext } from "../../context.ts";
import { describeLogin, openOwnLogins } from "../../logins.ts";
import { type Finding, findingFromError } from "./finding.ts";

/** The user's logins to configured servers. Asks no server. */
export async function checkLogins(
  context: CommandContext,
  config: PartialConfig,
): Promise<readonly Finding[]> {
  const servers = [...resolveMcpServers(config).values()].filter(usesLogins);
  if (servers.length === 0) return [];
  const logins = await openOwnLogins(context);
  return servers.flatMap((server): readonly Finding[] => {
    const { name } = server;
    try {
      const state = logins.findState(server);
      if (state === undefined) return [];
      const message = `${name}: ${describeLogin(state)}, at ${state.issuer}`;
      if (!state.hasEnded) return [{ check: "login", state: "ok", message }];
      return [{ check: "login", state: "warning", message, hint: `jp mcp login ${name}` }];
    } catch (error) {
      return [findingFromError("login", error, "warning")];
    }
  });
}
