/** Servers for tests, ended with the test, and waiting for what must come true. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { inject, onTestFinished } from "vitest";
import type { McpServerSettings } from "../../src/config/index.ts";
import {
  type CallResult,
  type McpContext,
  McpError,
  type McpServer,
  McpServers,
  type Variables,
} from "../../src/mcp/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { temporaryFolder } from "../../src/storage/temporary-workspace.fixture.ts";

type StdioSettings = Extract<McpServerSettings, { type: "stdio" }>;

export const TEST_PROGRAM = path.join(inject("programs"), "server.mjs");
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
  { context = {}, ...changed }: Partial<StdioSettings> & { context?: Partial<McpContext> } = {},
): TestServer {
  const file = path.join(temporaryFolder(), "log");
  const settings: StdioSettings = {
    ...programSettings("test", [TEST_PROGRAM, `--log=${file}`, ...flags]),
    ...changed,
  };
  const servers = serversOf([settings], context);
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
    allowsSecrets: false,
    allowsSampling: false,
    startupTimeoutMs: 20_000,
    command: process.execPath,
    arguments: args,
    variables: ["NODE_COMPILE_CACHE"],
  };
}

export function serversOf(
  settings: readonly McpServerSettings[],
  context: Partial<McpContext> = {},
): McpServers {
  const servers = openServers(settings, context);
  onTestFinished(() => servers.close());
  return servers;
}

/** The same, to be closed by whoever opens them. */
export function openServers(
  settings: readonly McpServerSettings[],
  context: Partial<McpContext> = {},
): McpServers {
  return new McpServers(new Map(settings.map((server) => [server.name, server])), {
    cwd: ROOT,
    clientInfo: { name: "jp-test", version: "0.0.0" },
    ...context,
    variables: { ...variables, ...context.variables },
  });
}

export async function getServer(servers: McpServers, name: string): Promise<McpServer> {
  const reached = await servers.get(name, never);
  if (reached.type === "absent") throw reached.warning;
  return reached.server;
}

export interface CallOptions {
  readonly arguments?: JsonObject;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (message: string) => void;
}

/** Of a tool that does not ask. */
export async function call(
  server: McpServer,
  name: string,
  { arguments: given = {}, timeoutMs = 0, ...step }: CallOptions = {},
): Promise<CallResult> {
  const tool = { name, inputSchema: { type: "object" } };
  const { type, ...end } = await server
    .call({ tool, name, arguments: given, timeoutMs })
    .next({ signal: never, ...step });
  if (type === "asks" || !("content" in end)) throw new Error(`${name} asks`);
  return { type, content: end.content };
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

/** Waits until the server has logged all of these lines, in any order. */
export function untilLogged(log: TestServer["log"], ...lines: readonly string[]): Promise<void> {
  return until(() => lines.every((line) => log().includes(line)));
}

/** After a crash, that is. A call in the moment of the crash may still meet it. */
export async function untilStartedAgain(server: McpServer): Promise<void> {
  const deadline = Date.now() + 10_000;
  while ((await call(server, "pid")).type !== "success") {
    if (Date.now() > deadline) throw new Error("it was never started again");
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
