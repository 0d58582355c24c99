#!/usr/bin/env node
/** The entry point. It stays tiny, so that `--version` and `--help` are as fast as Node itself. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { findUserCache, IMPORTS, makeUserCache } from "../util/index.ts";
import { createCodeLoader } from "./code-loader.ts";
import { isTerminal, writeOut } from "./host.ts";
import type * as code from "./run.ts";

declare const JP_VERSION: string;
/** The text of `--version`, with the commit that was built if that is known. */
declare const JP_LONG_VERSION: string;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const [word = "", ...rest] = process.argv.slice(2);
/** Compiled code of other versions is removed after this long. */
const OLD_MS = 7 * 24 * 60 * 60 * 1000;
/** Each of these has its own compiled code. All others share theirs. */
const COMMANDS = new Set(["query", "q", "conversation", "c", "inquiry", "serve", "complete"]);
/** Written by the build: the help at a fixed width, for output that is not a terminal. */
const helpFile = path.join(import.meta.dirname, "help.txt");

if (major < 22 || (major === 22 && minor < 22)) {
  process.stderr.write(`jp needs Node 22.22 or newer; this is ${process.versions.node}.\n`);
  process.exitCode = 1;
} else if (process.platform === "win32") {
  process.stderr.write("jp runs on Linux and macOS. On Windows, use it inside WSL.\n");
  process.exitCode = 1;
} else if (rest.length === 0 && (word === "--version" || word === "-V")) {
  writeOut(`jp ${JP_LONG_VERSION}\n`);
} else if (rest.length === 0 && isHelp(word) && !isTerminal() && existsSync(helpFile)) {
  writeOut(readFileSync(helpFile, "utf8"));
} else {
  const { load, loadImports, save } = createCodeLoader({
    folder: import.meta.dirname,
    cache: cacheFolder(),
    command: process.argv.find((one) => COMMANDS.has(one)) ?? "other",
    requireOther: require,
  });
  process.once("exit", save);
  Reflect.set(globalThis, IMPORTS, loadImports);
  const { runInProcess } = load("./run.cjs") as typeof code; // Built from it.
  void runInProcess(JP_VERSION);
}

/** The cache of compiled code. Undefined if it is not writable, or if others could have written to it. */
function cacheFolder(): string | undefined {
  const { HOME: home = "", NODE_COMPILE_CACHE: chosen } = process.env;
  const { NODE_DISABLE_COMPILE_CACHE: isOff } = process.env;
  if (isOff === "1" || (chosen !== undefined && !path.isAbsolute(chosen))) return undefined;
  const variables = chosen === undefined ? process.env : { XDG_CACHE_HOME: chosen };
  const name = `${JP_LONG_VERSION} ${process.version}`.replaceAll(/[^\w.-]+/g, "-");
  const environment = { variables, home, platform: process.platform };
  const found = findUserCache(environment, "node", name);
  if (found !== undefined) return found;
  const made = makeUserCache(environment, "node", name);
  try {
    if (made !== undefined) removeOldCaches(made);
  } catch {
    // Another jp may be removing them too.
  }
  return made;
}

/** Removes the caches of other versions of jp and Node, when a new version first starts. */
function removeOldCaches(folder: string): void {
  const parent = path.dirname(folder);
  for (const name of readdirSync(parent)) {
    const other = path.join(parent, name);
    const age = Date.now() - statSync(other).mtimeMs;
    // A younger one may be in use, such as a clone's beside an installed jp.
    if (other !== folder && age > OLD_MS) rmSync(other, { recursive: true, force: true });
  }
}

function isHelp(text: string): boolean {
  return text === "--help" || text === "-h";
}
