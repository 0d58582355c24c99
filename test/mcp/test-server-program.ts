/**
 * The test server as a program. Its arguments say how it starts and which protocol it supports; its tools
 * are in `test-server-tools.ts`. With `--log=<file>` it logs what happens to it.
 */
import { appendFileSync } from "node:fs";
import type { Transport } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { serveHttp } from "./test-server-http.ts";
import { createTestServer } from "./test-server-tools.ts";

const flags = new Map(
  process.argv.slice(2).map((argument) => {
    const [name = "", ...value] = argument.slice(2).split("=");
    return [name, value.join("=")] as const;
  }),
);

log(`started ${process.pid}`);
if (flags.has("greet")) process.stdout.write("Welcome to the test server!\n");
if (flags.has("ignore-end")) {
  process.on("SIGTERM", () => log("SIGTERM ignored"));
  setInterval(() => undefined, 1000);
}

const make = () =>
  createTestServer({
    log,
    ...(flags.has("pages") && { pages: Number(flags.get("pages")) }),
  });

switch (flags.get("mode")) {
  case "hang":
    process.stderr.write("waiting for the moon\n");
    setInterval(() => undefined, 1000);
    break;
  case "exit":
    process.stderr.write("no moon tonight\n");
    process.exitCode = 3;
    break;
  case "older":
    await make().connect(new StdioServerTransport());
    break;
  case "older-silent":
    await connectOlder(() => undefined);
    break;
  case "older-leaving":
    await connectOlder(() => process.exit(1));
    break;
  case "newer":
    serveStdio(make, { legacy: "reject" });
    break;
  case "http":
    await serveHttp({ log, port: Number(flags.get("port")) });
    break;
  default:
    serveStdio(make);
}

/** An older server that does not reply to an unknown request. */
async function connectOlder(onUnknown: () => void): Promise<void> {
  const transport: Transport = new StdioServerTransport();
  await make().connect(transport);
  const deliver = transport.onmessage;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- A transport has no events.
  transport.onmessage = (message, extra) => {
    if ("method" in message && message.method === "server/discover") onUnknown();
    else deliver?.(message, extra);
  };
}

function log(line: string): void {
  const file = flags.get("log");
  if (file !== undefined) appendFileSync(file, `${line}\n`);
}
