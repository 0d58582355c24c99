/** Creates a set of servers from their config. */
import {
  ConfigError,
  findUnusable,
  type McpServerSettings,
  parseConfigOrThrow,
  resolveMcpServers,
} from "../../settings/config/index.ts";
import { pathToText } from "../../util/index.ts";
import { McpServers } from "./mcp-servers.ts";
import type { McpServerConfigs, McpServersOptions } from "./server-configs.ts";

/** Starts nothing. Throws `config_invalid`. */
export function createServers(
  configs: McpServerConfigs,
  options: McpServersOptions = {},
): McpServers {
  const { variables = {}, cwd = ".", clientInfo = { name: "jp-ts", version: "0" } } = options;
  return new McpServers(toSettings(configs), { ...options, variables, cwd, clientInfo });
}

function toSettings(configs: McpServerConfigs): ReadonlyMap<string, McpServerSettings> {
  const servers = Object.entries(configs).map(([name, { prefix: _prefix, ...server }]) => {
    return [name, server] as const;
  });
  const config = parseConfigOrThrow("mcpServers", {
    providers: { mcp: Object.fromEntries(servers) },
  });
  const dotted = Object.keys(configs).filter((name) => !/^[\w-]+$/.test(name));
  const issues = [
    ...findUnusable(config),
    ...dotted.map((name) => {
      const message = "a server's name has only letters, digits, - and _";
      return { path: ["providers", "mcp", name], message };
    }),
  ];
  if (issues.length > 0) {
    const lines = issues.map(({ path, message }) => `mcpServers: ${pathToText(path)}: ${message}`);
    throw new ConfigError("config_invalid", lines);
  }
  const settings = [...resolveMcpServers(config)].map(([name, server]) => {
    const { prefix } = configs[name] ?? {};
    return [name, { ...server, ...(prefix !== undefined && { toolPrefix: prefix }) }] as const;
  });
  return new Map(settings);
}
