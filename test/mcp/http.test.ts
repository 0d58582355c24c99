import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../security/threats.ts";
import { freePort, type HttpProgram, startEverything, startTestServer } from "./http-programs.ts";
import { call, errorOf, getServer, httpSettings, never, serversOf, until } from "./support.ts";
import { serveHttp } from "./test-server-http.ts";

describe("a server over HTTP", () => {
  test("gets the configured headers, with variables replaced", async () => {
    const { url, log } = await listening("full-moon");
    const headers = { Authorization: "Bearer ${MOON}-$kind" };
    const servers = serversOf([httpSettings("web", url, headers)], {
      variables: { MOON: "full", kind: "moon" },
    });
    const server = await getServer(servers, "web");
    expect((await call(server, "generation")).content).toBe("newer");
    expect(log.filter((line) => line.startsWith("POST Bearer full-moon"))).not.toEqual([]);
  });

  test("that denies access is an error that points to the headers", async () => {
    const { url } = await listening("full-moon");
    const error = await errorOf(serversOf([httpSettings("web", url)]).get("web", never));
    expect(error.code).toBe("mcp_access_refused");
    expect(error.message).toContain("HTTP 401");
    expect(error.hint).toContain("providers.mcp.web.headers");
  });

  test("is an error if a variable in a header is not set", async () => {
    const headers = { Authorization: "Bearer $MOON_TOKEN" };
    const error = await errorOf(
      serversOf([httpSettings("web", "http://127.0.0.1:1/mcp", headers)]).get("web", never),
    );
    expect(error).toMatchObject({
      code: "mcp_variable_unset",
      message:
        "providers.mcp.web.headers.Authorization needs the variable MOON_TOKEN, which is not set.",
    });
  });

  test("that is not running is an error with the reason, or a warning if it is optional", async () => {
    const url = `http://127.0.0.1:${await freePort()}/mcp`;
    const needed = serversOf([httpSettings("web", url)]);
    const error = await errorOf(needed.get("web", never));
    expect(error.code).toBe("mcp_start_failed");
    expect(error.message).toMatch(/^The MCP server "web" cannot be reached: connect ECONNREFUSED/);
    const optional = serversOf([{ ...httpSettings("web", url), isOptional: true }]);
    expect(await optional.get("web", never)).toMatchObject({
      type: "absent",
      warning: { code: "mcp_start_failed" },
    });
  });

  test("is an error if it redirects to another origin, where nothing is sent", async () => {
    counters("T-SEC-12");
    const other = await listening();
    const url = await redirecting(307, other.url);
    const settings = httpSettings("web", url, { Authorization: "Bearer full-moon" });
    const error = await errorOf(serversOf([settings]).get("web", never));
    expect({ code: error.code, message: error.message, sent: other.log }).toEqual({
      code: "mcp_start_failed",
      message:
        `The MCP server "web" cannot be reached: it redirects to ${new URL(other.url).origin}, ` +
        "and jp sends headers and messages only to the configured origin.",
      sent: [],
    });
  });

  test("is used where it redirects to within its origin, with the headers", async () => {
    const { url, log } = await listening("full-moon");
    const moved = new URL("/moved", url).href;
    const settings = httpSettings("web", moved, { Authorization: "Bearer full-moon" });
    const server = await getServer(serversOf([settings]), "web");
    expect((await call(server, "generation")).content).toBe("newer");
    expect(log).toContain("moved");
  });

  test("is an error if it redirects a message as another request", async () => {
    const url = await redirecting(303, "/elsewhere");
    const error = await errorOf(serversOf([httpSettings("web", url)]).get("web", never));
    expect(error.message).toBe(
      'The MCP server "web" cannot be reached: it redirects with HTTP 303, which jp does not follow.',
    );
  });

  test("is notified of an abort", async () => {
    const { url, log } = await listening();
    const server = await getServer(serversOf([httpSettings("web", url)]), "web");
    const controller = new AbortController();
    const waiting = call(server, "wait", { signal: controller.signal });
    await until(() => log.includes("waiting"));
    controller.abort(new Error("never mind"));
    await expect(waiting).rejects.toThrow("never mind");
    await until(() => log.includes("cancelled"));
  });
});

test("an HTTP server is notified of the end of its session", async () => {
  const program = await running(startEverything());
  const servers = serversOf([httpSettings("web", program.url)]);
  await getServer(servers, "web");
  await servers.close();
  const notice = "Received session termination request";
  await until(() => program.output().includes(notice));
  expect(program.output().split(notice)).toHaveLength(2);
});

describe("an HTTP server that exits", () => {
  test("fails the call in progress, and is reconnected after its restart", async () => {
    const first = await running(startTestServer());
    const server = await getServer(serversOf([httpSettings("web", first.url)]), "web");
    const crashed = await call(server, "crash");
    expect(crashed.type).toBe("error");
    expect(crashed.content).toMatch(/^The MCP server "web" disconnected while it ran "crash": /);
    const meanwhile = await call(server, "echo");
    expect(meanwhile.type).toBe("error");
    expect(meanwhile.content).toContain('"web" cannot be reached: ');
    await running(startTestServer(first.port));
    expect(await call(server, "echo", { arguments: { text: "back" } })).toEqual({
      type: "success",
      content: "back",
    });
  });

  test("gets a new session after its restart", async () => {
    const first = await running(startEverything());
    const server = await getServer(serversOf([httpSettings("web", first.url)]), "web");
    const waiting = call(server, "trigger-long-running-operation", {
      arguments: { duration: 60, steps: 600 },
      onProgress: () => void first.stop(),
    });
    expect((await waiting).content).toContain("the connection ended before the response");
    await running(startEverything(first.port));
    const echo = () => call(server, "echo", { arguments: { message: "back" } });
    expect(await echo()).toEqual({ type: "success", content: "Echo: back" });
  });
});

async function running(started: Promise<HttpProgram>): Promise<HttpProgram> {
  const program = await started;
  onTestFinished(() => program.stop());
  return program;
}

/** The URL of a server that redirects every request. */
async function redirecting(status: number, location: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(status, { location }).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return `http://127.0.0.1:${port}/mcp`;
}

/** The test server in this process, and the lines that it logs. */
async function listening(token?: string) {
  const log: string[] = [];
  const { url, close } = await serveHttp({
    log: (line) => log.push(line),
    ...(token !== undefined && { token }),
  });
  onTestFinished(close);
  return { url, log };
}
