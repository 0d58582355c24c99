/** HTTP servers as programs, on free local ports. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { EVERYTHING, NODE_COMPILE_CACHE, TEST_PROGRAM } from "./support.ts";

export interface HttpProgram {
  readonly url: string;
  readonly port: number;
  readonly output: () => string;
  /** Kills it. */
  readonly stop: () => Promise<void>;
}

export async function startEverything(port?: number): Promise<HttpProgram> {
  const chosen = port ?? (await freePort());
  return start(chosen, [EVERYTHING, "streamableHttp"], { PORT: String(chosen) });
}

/** The test server, which supports both generations of the protocol, without sessions. */
export async function startTestServer(port?: number): Promise<HttpProgram> {
  const chosen = port ?? (await freePort());
  return start(chosen, [TEST_PROGRAM, "--mode=http", `--port=${chosen}`], {});
}

/** A port that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on a port.
  server.close();
  await once(server, "close");
  return port;
}

async function start(
  port: number,
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<HttpProgram> {
  const env = { ...process.env, NODE_COMPILE_CACHE, ...variables };
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"], env });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  try {
    await untilListening(child, port);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://127.0.0.1:${port}/mcp`, port, output: () => output, stop };
}

async function untilListening(child: ChildProcess, port: number): Promise<void> {
  // A busy machine may take half a minute to load the program.
  const deadline = Date.now() + 45_000;
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`the server exited with ${child.exitCode}`);
    if (Date.now() > deadline) throw new Error("the server never listened");
    await delay(20);
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
