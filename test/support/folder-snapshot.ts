/** Everything about a folder that a program could change: names, bytes, times, permissions. */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import path from "node:path";

export interface FileSnapshot {
  readonly name: string;
  readonly mode: number;
  readonly changed: bigint;
  readonly content: string;
}

export function snapshotOf(...folders: readonly string[]): readonly FileSnapshot[] {
  return folders.flatMap(walk);
}

function walk(name: string): FileSnapshot[] {
  const stat = lstatSync(name, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined) return [];
  const below = stat.isDirectory() ? readdirSync(name).toSorted() : [];
  const content = stat.isSymbolicLink()
    ? readlinkSync(name)
    : stat.isDirectory()
      ? below.join("\n")
      : readFileSync(name, "base64");
  const self = { name, mode: Number(stat.mode), changed: stat.mtimeNs, content };
  return [self, ...below.flatMap((entry) => walk(path.join(name, entry)))];
}
