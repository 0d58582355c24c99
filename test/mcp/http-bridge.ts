/** Serves a stdio program over HTTP, in one session: the reference servers with state speak stdio only. */
import { randomUUID } from "node:crypto";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { type HttpTestServer, listenForMcp } from "./test-server-http.ts";
import type { StdioProgram } from "./reference-servers.ts";

export async function bridgeToHttp({
  command,
  arguments: args,
  variables: env,
}: StdioProgram): Promise<HttpTestServer> {
  const program = new StdioClientTransport({ command, args: [...args], env, stderr: "ignore" });
  const session = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
  // oxlint-disable unicorn/prefer-add-event-listener -- A transport has no events.
  session.onmessage = (message) => void program.send(message);
  program.onmessage = (message) => void session.send(message);
  // oxlint-enable unicorn/prefer-add-event-listener
  await Promise.all([program.start(), session.start()]);
  const { url, close } = await listenForMcp((request) => session.handleRequest(request));
  return {
    url,
    close: () => {
      close();
      void program.close();
    },
  };
}
