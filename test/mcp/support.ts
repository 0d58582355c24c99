/** Servers for tests, ended with the test, and waiting for what must come true. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { McpServerSettings } from "../../src/config/index.ts";
import {
  type CallRequest,
  type CallResult,
  McpError,
  type McpServer,
  McpServers,
  type Variables,
} from "../../src/mcp/index.ts";
import { temporaryFolder } from "../support/temporary-workspace.ts";

type StdioSettings = Extract<McpServerSettings, { type: "stdio" }>;

export const TEST_PROGRAM = path.join(import.meta.dirname, "test-server-program.ts");
const ROOT = path.join(import.meta.dirname, "..", "..");

export const EVERYTHING = path.join(
  ROOT,
  "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

export const never = new AbortController().signal;

/** Programs in TypeScript start three times as fast the second time. */
export const NODE_COMPILE_CACHE = path.join(ROOT, "node_modules", ".cache", "node-compile");
const variables: Variables = { PATH: process.env["PATH"], NODE_COMPILE_CACHE };

export interface TestServer {
  readonly servers: McpServers;
  /** Waits until it is ready. */
  readonly get: () => Promise<McpServer>;
  /** What happened to the program, line by line. */
  readonly log: () => readonly string[];
  /** The processes that were started, in order. */
  readonly pids: () => readonly number[];
}

/** The test server, with flags such as `--mode=older`. */
export function testServer(
  flags: readonly string[] = [],
  changed: Partial<StdioSettings> = {},
): TestServer {
  const file = path.join(temporaryFolder(), "log");
  const settings: StdioSettings = {
    ...programSettings("test", [TEST_PROGRAM, `--log=${file}`, ...flags]),
    ...changed,
  };
  const servers = serversOf([settings]);
  const log = () => (existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : []);
  return {
    servers,
    get: () => getServer(servers, "test"),
    log,
    pids: () =>
      log()
        .filter((line) => line.startsWith("started "))
        .map((line) => Number(line.replace("started ", ""))),
  };
}

export function programSettings(name: string, args: readonly string[]): StdioSettings {
  return {
    type: "stdio",
    name,
    isOptional: false,
    startupTimeoutMs: 20_000,
    command: process.execPath,
    arguments: args,
    variables: ["NODE_COMPILE_CACHE"],
  };
}

export function serversOf(
  settings: readonly McpServerSettings[],
  more: Variables = {},
): McpServers {
  const servers = openServers(settings, more);
  onTestFinished(() => servers.close());
  return servers;
}

/** The same, to be closed by whoever opens them. */
export function openServers(
  settings: readonly McpServerSettings[],
  more: Variables = {},
): McpServers {
  return new McpServers(new Map(settings.map((server) => [server.name, server])), {
    variables: { ...variables, ...more },
    cwd: ROOT,
    clientInfo: { name: "jp-test", version: "0.0.0" },
  });
}

export async function getServer(servers: McpServers, name: string): Promise<McpServer> {
  const reached = await servers.get(name, never);
  if (reached.type === "absent") throw reached.warning;
  return reached.server;
}

export function call(
  server: McpServer,
  name: string,
  options: Partial<CallRequest> = {},
): Promise<CallResult> {
  const tool = { name, inputSchema: { type: "object" } };
  return server.call({ tool, arguments: {}, signal: never, ...options });
}

export async function errorOf(work: Promise<unknown>): Promise<McpError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof McpError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

/** Throws if it has not come true after ten seconds. */
export async function until(isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error(`this never came true: ${String(isTrue)}`);
    await delay(10);
  }
}

/** False for one that has ended and only waits for its parent to notice. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const stat = `/proc/${pid}/stat`;
    return !existsSync(stat) || !/\) [ZX] /.test(readFileSync(stat, "utf8"));
  } catch {
    return false;
  }
}
