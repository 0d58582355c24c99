import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../src/reach/shell/index.ts";
import { counters } from "../security/threats.ts";
import { runIn, scene, type Scene, useSandbox } from "./support.ts";

/** A program that counts who connects to its socket, and then runs elsewhere. */
async function serve(name: string, { folder }: { readonly folder: string }) {
  const program = `
    const socket = require("net").createServer((client) => { process.stdout.write("connected "); client.destroy(); });
    socket.listen(${JSON.stringify(name)}, () => { process.chdir("/"); process.stdout.write("ready "); });`;
  const server = spawn(process.execPath, ["--eval", program], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void server.kill("SIGKILL"));
  let output = "";
  server.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(server.stdout, "data");
  return { connections: () => output.split("connected").length - 1 };
}

/** Connects to each file, and prints what came of it. */
function connectTo(...files: readonly string[]): string {
  const program = `for (const file of process.argv.slice(1)) require("net").connect(file).on("connect", () => console.log("reached")).on("error", () => console.log("no"))`;
  return `./node -e '${program}' ${files.join(" ")}`;
}

function socketScene(): Scene {
  const current = scene();
  // A copy in the workspace: where the tests' own Node is may be hidden.
  copyFileSync(process.execPath, path.join(current.root, "node"));
  mkdirSync(path.join(current.root, "sub/deep"), { recursive: true });
  return current;
}

describe("a command in the sandbox", () => {
  useSandbox();

  test("runs even if a socket that was to be covered goes away while the sandbox is set up", async () => {
    const { root, home, outside, run: _run, ...place } = scene();
    const socket = path.join(outside, "s");
    await serve(socket, { folder: "/" });
    const variables = {
      PATH: process.env["PATH"],
      /** Read once the sockets are listed. */
      get GONE() {
        rmSync(socket, { force: true });
        return "";
      },
    };
    const end = await runCommand({
      line: "echo ran >>ran",
      cwd: root,
      variables,
      input: "",
      timeoutMs: 20_000,
      signal: new AbortController().signal,
      onLine: () => undefined,
      output: { shownBytes: 8192, folder: path.join(home, "output"), keptBytes: 8192 },
      sandbox: { place: { ...place, root, home }, network: false, git: false },
    });
    expect(end).toMatchObject({ type: "ended", exit: { status: 0 } });
    expect(readFileSync(path.join(root, "ran"), "utf8")).toBe("ran\n");
  });
});

describe("a socket in the workspace on which a program of the user's listens", () => {
  useSandbox();

  test("cannot be reached, with or without a network", async () => {
    counters("T-SHELL-2");
    const { root, run } = socketScene();
    const { connections } = await serve(path.join(root, "sub/s"), { folder: "/" });
    expect([
      await run(connectTo("sub/s")),
      await run(connectTo("sub/s"), { network: true }),
      connections(),
    ]).toEqual(["no\n0", "no\n0", 0]);
  });

  test("cannot be uncovered: by a link, by another name, or with its folder", async () => {
    counters("T-SHELL-2");
    const { root, run } = socketScene();
    const { connections } = await serve(path.join(root, "sub/deep/s"), { folder: "/" });
    const attack =
      "ln sub/deep/s hard; mv sub/deep/s moved; ln -s sub/deep/s soft; mv sub other; rm -f other/deep/s";
    const files = ["hard", "moved", "soft", "other/deep/s", "sub/deep/s"];
    expect([
      await run(`{ ${attack}; } 2>/dev/null; ${connectTo(...files)}`),
      connections(),
    ]).toEqual(["no\nno\nno\nno\nno\n0", 0]);
  });

  test("cannot be reached if it was bound by a relative name, or through a link", async () => {
    counters("T-SHELL-2");
    const { root, outside, run } = socketScene();
    symlinkSync(root, path.join(outside, "link"));
    const servers = [
      await serve("a", { folder: root }),
      await serve("./deep/b", { folder: path.join(root, "sub") }),
      await serve(path.join(outside, "link/c"), { folder: "/" }),
    ];
    expect([
      await run(connectTo("a", "sub/deep/b", "c")),
      ...servers.map(({ connections }) => connections()),
    ]).toEqual(["no\nno\nno\n0", 0, 0, 0]);
  });

  test("cannot be reached in a folder of the home that the user lets commands read", async () => {
    counters("T-SHELL-2");
    const { run: _run, ...place } = socketScene();
    const tools = path.join(place.home, "tools");
    mkdirSync(tools);
    const { connections } = await serve(path.join(tools, "s"), { folder: "/" });
    const output = await runIn({ ...place, readable: [tools] }, connectTo(`${tools}/s`));
    expect([output, connections()]).toEqual(["no\n0", 0]);
  });
});

describe("a command in the sandbox", () => {
  useSandbox();

  test("reaches an abstract socket of this machine only with a network", async () => {
    counters("T-SHELL-2");
    const { run } = socketScene();
    const name = `\\0jp-test-${process.pid}`;
    const { connections } = await serve(`\0jp-test-${process.pid}`, { folder: "/" });
    const line = `./node -e 'require("net").connect("${name}").on("connect", () => console.log("reached")).on("error", () => console.log("no"))'`;
    expect([await run(line), connections()]).toEqual(["no\n0", 0]);
    expect([await run(line, { network: true }), connections()]).toEqual(["reached\n0", 1]);
  });

  test("uses sockets of its own, also in the place of one that nothing listens on any more", async () => {
    const { root, run } = socketScene();
    const own = `require("net").createServer((c) => c.end()).listen("sub/s", function () { require("net").connect("sub/s").on("connect", () => { console.log("reached"); process.exit(); }); })`;
    const line = `rm -f sub/s; ./node -e '${own}'`;
    await run(
      `./node -e 'require("net").createServer().listen("sub/s", () => process.kill(process.pid, "SIGKILL"))'; true`,
    );
    expect(await run(`[ -S ${root}/sub/s ] && ${line}`)).toBe("reached\n0");
  });
});
