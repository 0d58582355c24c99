/** A workspace in a folder, including its user data. */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { openWorkspace, type Workspace } from "../src/storage/index.ts";
import { systemClock } from "../src/util/index.ts";

export function openBenchWorkspace(folder: string): Workspace {
  mkdirSync(path.join(folder, ".jp"), { recursive: true });
  return openWorkspace({
    from: folder,
    environment: { variables: benchEnvironment(folder), home: folder, platform: process.platform },
    clock: systemClock,
    pid: process.pid,
  });
}

export function benchEnvironment(folder: string): NodeJS.ProcessEnv {
  return { ...process.env, JP_USER_DATA_DIR: path.join(folder, "user-data"), NO_COLOR: "1" };
}
