/** Resolves the settings of MCP servers. */
import { definedOnly } from "./defined-only.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

/** The settings in force for an MCP server. */
export type McpServerSettings = {
  readonly name: string;
  /** An embedding program continues without it if it does not start. The command always does. */
  readonly isOptional: boolean;
  /** Its forms may ask for secrets, which are then never recorded. */
  readonly allowsSecrets: boolean;
  /** It may send its own prompts to a model. */
  readonly allowsSampling: boolean;
  /** Infinity for no limit. */
  readonly startupTimeoutMs: number;
  /** All its tools are offered, not only those with their own entry. */
  readonly offersAllTools?: boolean;
  /** Prefixes the names of its tools where all of them are offered. */
  readonly toolPrefix?: string;
} & (
  | {
      readonly type: "stdio";
      readonly command: string;
      readonly arguments: readonly string[];
      /** Names of the environment variables to pass to it. */
      readonly variables: readonly string[];
      readonly checksum?: { readonly algorithm: "sha1" | "sha256"; readonly value: string };
    }
  | {
      readonly type: "http";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly oauth?: OauthSettings;
    }
);

/** How to log in to a server. Secrets are never in config. */
export interface OauthSettings {
  readonly authorizationServer?: string;
  readonly clientId?: string;
  readonly scopes?: readonly string[];
  readonly redirectPort?: number;
}

const STARTUP_SECONDS = 60;

/** Leaves out servers without an address or command; their tools report it when used. */
export function resolveMcpServers(config: PartialConfig): ReadonlyMap<string, McpServerSettings> {
  const servers = Object.entries(config.providers?.mcp ?? {}).flatMap(([name, server]) => {
    const seconds = server.startup_timeout_secs ?? STARTUP_SECONDS;
    const common = {
      name,
      isOptional: server.optional ?? false,
      allowsSecrets: server.allow_secrets ?? false,
      allowsSampling: server.allow_sampling ?? false,
      ...(server.all_tools !== undefined && server.all_tools !== false && { offersAllTools: true }),
      ...(typeof server.all_tools === "string" && { toolPrefix: server.all_tools }),
      startupTimeoutMs: seconds === 0 ? Number.POSITIVE_INFINITY : seconds * 1000,
    };
    const settings = transportOf(server);
    return settings === undefined ? [] : [{ ...common, ...settings }];
  });
  return new Map(servers.map((server) => [server.name, server]));
}

/** The names of servers that offer all their tools. */
export function offeringServers(config: PartialConfig): readonly string[] {
  const servers = [...resolveMcpServers(config).values()];
  return servers.filter(({ offersAllTools = false }) => offersAllTools).map(({ name }) => name);
}

type PartialServer = NonNullable<NonNullable<PartialConfig["providers"]>["mcp"]>[string];

interface AnyServer {
  readonly type?: unknown;
  readonly url?: unknown;
}

/** The transport of a server's config entry. Fields of other transports are ignored. */
export function transportType({ type, url }: AnyServer): "stdio" | "http" {
  if (type === "stdio" || type === "http") return type;
  return url === undefined ? "stdio" : "http";
}

function transportOf(server: PartialServer) {
  const { url, command, checksum } = server;
  const type = transportType(server);
  if (type === "http") {
    if (url === undefined) return undefined;
    const oauth = server.oauth && { oauth: oauthOf(server.oauth) };
    return { type, url, headers: server.headers ?? {}, ...oauth };
  }
  if (command === undefined) return undefined;
  return {
    type,
    command,
    arguments: server.arguments ?? [],
    variables: server.variables ?? [],
    ...(checksum !== undefined && { checksum }),
  };
}

function oauthOf(oauth: NonNullable<PartialServer["oauth"]>): OauthSettings {
  const {
    authorization_server: authorizationServer,
    client_id: clientId,
    scopes,
    redirect_port: redirectPort,
  } = oauth;
  return definedOnly({ authorizationServer, clientId, scopes, redirectPort });
}
