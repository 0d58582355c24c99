/** Counts which files a test's code opens, and how many bytes of them it reads. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { onTestFinished } from "vitest";

export interface FileAccess {
  /** In order, except for the workspace's id, which is read repeatedly. */
  readonly opened: string[];
  /** By file name. Counts only partial reads. */
  readonly bytes: Map<string, number>;
}

/** Active until the end of the test. Calls the original functions of Node. */
export function watchFiles(): FileAccess {
  const access: FileAccess = { opened: [], bytes: new Map() };
  const { openSync, readSync } = fs;
  const names = new Map<number, string>();
  fs.openSync = (...given) => {
    const fd = openSync(...given);
    const file = String(given[0]);
    if (path.basename(file) !== ".id") access.opened.push(file);
    names.set(fd, path.basename(file));
    return fd;
  };
  const read = (fd: number, ...given: unknown[]) => {
    const count = (readSync as (...all: unknown[]) => number)(fd, ...given);
    const name = names.get(fd) ?? "";
    access.bytes.set(name, (access.bytes.get(name) ?? 0) + count);
    return count;
  };
  fs.readSync = read;
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { openSync, readSync });
    syncBuiltinESMExports();
  });
  return access;
}
