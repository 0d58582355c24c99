import { createHash } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { isNotLoaded, JpError } from "../../src/util/index.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import {
  call,
  errorOf,
  getServer,
  isRunning,
  never,
  programSettings,
  serversOf,
  TEST_PROGRAM,
  testServer,
  until,
} from "./support.ts";
import { counters } from "../security/threats.ts";

describe("a server", () => {
  test("starts once, in the background, before it is needed", async () => {
    const { servers, get, pids } = testServer();
    servers.start(["test", "unknown"]);
    await until(() => pids().length === 1);
    const [server, same] = await Promise.all([get(), get()]);
    expect(server).toBe(same);
    expect(await call(server, "pid")).toEqual({ type: "success", content: String(pids()[0]) });
    expect(pids()).toHaveLength(1);
  });

  test("gets safe variables, configured ones, and the marker of its process group", async () => {
    counters("T-SEC-8");
    const settings = programSettings("test", [TEST_PROGRAM]);
    const variables = {
      HOME: "/home/me",
      LC_ALL: "C",
      NAMED: "yes",
      SECRET: "no",
      NODE_OPTIONS: "--no-warnings",
    };
    const named = { ...settings, variables: ["NAMED", "NOT_SET"] };
    const servers = serversOf([named], { variables });
    const { content } = await call(await getServer(servers, "test"), "variables");
    expect(JSON.parse(content)).toEqual({
      PATH: process.env["PATH"],
      HOME: "/home/me",
      LC_ALL: "C",
      NAMED: "yes",
      JP_PROCESS_GROUP: expect.any(String) as string,
    });
  });

  test("may print a greeting on standard output", async () => {
    const server = await testServer(["--greet"]).get();
    expect(await call(server, "echo", { arguments: { text: "hello" } })).toEqual({
      type: "success",
      content: "hello",
    });
  });
});

describe("a server that cannot be started", () => {
  test("is an error with its name, the reason, and its last output", async () => {
    const { get } = testServer(["--mode=exit", "--greet"]);
    const error = await errorOf(get());
    expect(error.code).toBe("mcp_start_failed");
    expect(error.message).toBe(
      'The MCP server "test" did not start: it exited with status 3.\n\n' +
        "It wrote:\n  Welcome to the test server!\n  no moon tonight",
    );
    expect(error.hint).toContain(`Run it yourself to see why: ${process.execPath}`);
  });

  test("is ended if it takes too long", async () => {
    const { get, pids } = testServer(["--mode=hang"], { startupTimeoutMs: 1000 });
    const error = await errorOf(get());
    expect(error).toMatchObject({
      code: "mcp_start_timeout",
      message:
        'The MCP server "test" was not ready within 1 s.\n\nIt wrote:\n  waiting for the moon',
    });
    expect(error.hint).toContain("providers.mcp.test.startup_timeout_secs");
    expect(pids().map(isRunning)).toEqual([false]);
  });

  test("is an error that names its program if that does not exist", async () => {
    const servers = serversOf([{ ...programSettings("moon", []), command: "no-such-program" }]);
    expect(await errorOf(servers.get("moon", never))).toMatchObject({
      code: "mcp_program_not_found",
      message: 'The MCP server "moon" did not start: program "no-such-program" not found.',
      hint: "Install it, or correct providers.mcp.moon.command.",
    });
  });

  test("is an error, even if it is optional, if jp cannot load a part of itself", async () => {
    const gone = new JpError("module_not_loaded", "jp cannot load a part of itself: it is gone.");
    const createLink = () => {
      throw gone;
    };
    const settings = { ...programSettings("test", []), isOptional: true };
    const error = await errorOf(serversOf([settings], { createLink }).get("test", never));
    expect(isNotLoaded(error)).toBe(true);
  });

  test("is a warning if it is optional, the same for every caller", async () => {
    const { servers, pids } = testServer(["--mode=exit"], { isOptional: true });
    const reached = await servers.get("test", never);
    const started = pids().length;
    expect(reached).toMatchObject({ type: "absent", warning: { code: "mcp_start_failed" } });
    expect(await servers.get("test", never)).toEqual(reached);
    expect(pids()).toHaveLength(started);
  });

  test("is an error if it is not configured", async () => {
    const { servers } = testServer();
    expect(await errorOf(servers.get("moon", never))).toMatchObject({
      code: "mcp_unknown_server",
      message: 'Unknown MCP server "moon".',
      hint: "Set a command or a url in providers.mcp.moon. Configured servers: test.",
    });
  });
});

describe("waiting for a server", () => {
  test("ends on abort, and the start continues", async () => {
    const { servers, get, pids } = testServer();
    const reason = new Error("never mind");
    await expect(servers.get("test", AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const waiting = servers.get("test", controller.signal);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await get();
    expect(pids()).toHaveLength(1);
  });
});

describe("a program with a checksum", () => {
  test("runs if its file matches, wherever it is in PATH", async () => {
    const { folder, sha256, settings } = wrapper();
    const checksum = { algorithm: "sha256", value: sha256.toUpperCase() } as const;
    const servers = serversOf([{ ...settings, checksum }], { variables: pathTo(folder) });
    const server = await getServer(servers, "test");
    expect(await call(server, "echo", { arguments: { text: "checked" } })).toMatchObject({
      content: "checked",
    });
  });

  test("is not started if its file does not match, and the error has both checksums", async () => {
    const { folder, file, sha256, settings } = wrapper();
    const expected = "0".repeat(64);
    const checksum = { algorithm: "sha256", value: expected } as const;
    const log = path.join(folder, "log");
    const args = [...settings.arguments, `--log=${log}`];
    const servers = serversOf([{ ...settings, arguments: args, checksum }], {
      variables: pathTo(folder),
    });
    const error = await errorOf(servers.get("test", never));
    expect(error.code).toBe("mcp_checksum_mismatch");
    expect(error.message).toContain(
      `  ${file}\n  expected sha256 ${expected}\n  actual   sha256 ${sha256}`,
    );
    expect(() => readFileSync(log)).toThrow("ENOENT");
  });

  test("must exist", async () => {
    const checksum = { algorithm: "sha1", value: "0" } as const;
    const settings = { ...programSettings("test", []), command: "no-such-program", checksum };
    const error = await errorOf(serversOf([settings]).get("test", never));
    expect(error.code).toBe("mcp_program_not_found");
  });
});

/** A script that runs the test server. */
function wrapper() {
  const folder = temporaryFolder();
  const file = path.join(folder, "moon-server");
  writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "$@"\n`);
  chmodSync(file, 0o755);
  const sha256 = createHash("sha256").update(readFileSync(file)).digest("hex");
  const settings = { ...programSettings("test", [TEST_PROGRAM]), command: "moon-server" };
  return { folder, file, sha256, settings };
}

function pathTo(folder: string) {
  return { PATH: ["", "/nowhere", folder, process.env["PATH"]].join(path.delimiter) };
}
