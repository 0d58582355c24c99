/** A workspace in a folder, including its user data and config. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { openWorkspace, type Workspace } from "../src/stores/index.ts";
import { systemClock } from "../src/util/index.ts";
import { writeRecord } from "./data.ts";

/** Runs something in a temporary folder. */
export async function inFolder<Result>(run: (folder: string) => Promise<Result>): Promise<Result> {
  const parent = mkdtempSync(path.join(tmpdir(), "jp-bench-"));
  const folder = path.join(parent, "project");
  mkdirSync(folder);
  try {
    return await run(folder);
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
}

/**
 * A separate cache: compiled code from earlier benches would be loaded too. Outside the workspace, where jp caches
 * nothing.
 */
function makeCacheBeside(folder: string): string {
  const cache = path.join(path.dirname(folder), "cache");
  mkdirSync(cache, { recursive: true });
  return cache;
}

export function makeWorkspace(folder: string): void {
  mkdirSync(path.join(folder, ".jp"), { recursive: true });
}

export function openBenchWorkspace(folder: string): Workspace {
  makeWorkspace(folder);
  return openWorkspace({
    from: folder,
    environment: { variables: benchEnvironment(folder), home: folder, platform: process.platform },
    clock: systemClock,
    pid: process.pid,
  });
}

export function benchEnvironment(folder: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    JP_USER_DATA_DIR: path.join(folder, "user-data"),
    JP_GLOBAL_CONFIG_DIR: path.join(folder, "user-config"),
    XDG_CACHE_HOME: makeCacheBeside(folder),
    NO_COLOR: "1",
  };
}

/** The environment without undefined variables. */
export function benchVariables(folder: string): Readonly<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(benchEnvironment(folder))) {
    if (value !== undefined) variables[name] = value;
  }
  return variables;
}

/** Writes the user's own config, which needs no trust. */
export function writeUserConfig(folder: string, lines: readonly string[]): void {
  const { JP_GLOBAL_CONFIG_DIR: config = "" } = benchEnvironment(folder);
  mkdirSync(config, { recursive: true });
  writeFileSync(path.join(config, "config.toml"), `${lines.join("\n")}\n`);
}

/** The folder of a conversation. */
export function recordFolder(folder: string, id: string): string {
  return path.join(folder, ".jp", "conversations", id);
}

/** Writes many conversations with `events` each, and returns their IDs. */
export function writeRecords(folder: string, count: number, events: number): readonly string[] {
  makeWorkspace(folder);
  const ids = Array.from({ length: count }, (_, index) => String(17_000_000_000 + index * 100));
  for (const [index, id] of ids.entries()) {
    writeRecord(recordFolder(folder, `${id}-bench`), events, `Conversation ${index}`);
  }
  // jp does not cache a folder that has just changed.
  const before = new Date(Date.now() - 60_000);
  utimesSync(path.join(folder, ".jp", "conversations"), before, before);
  return ids;
}
