/** A small file system in memory, where the machine allows one. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** Mounts it over an existing folder. Returns false if the machine does not allow it. */
export function mountDisk(folder: string): boolean {
  return mount("-t", "tmpfs", "-o", "size=256k", "tmpfs", folder);
}

/** Throws if the machine does not allow it. */
export function remountDisk(folder: string, mode: "ro" | "rw"): void {
  if (!mount("-o", `remount,${mode}`, folder)) throw new Error(`cannot remount ${folder}`);
}

/** Works even while a process has a file open. */
export function unmountDisk(folder: string): void {
  spawnSync("umount", ["--lazy", folder]);
}

/** Only root may mount, and not in every container. */
export function canMountDisk(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(path.join(tmpdir(), "jp-disk-"));
  const isMounted = mountDisk(folder);
  if (isMounted) unmountDisk(folder);
  rmdirSync(folder);
  return isMounted;
}

function mount(...options: readonly string[]): boolean {
  return spawnSync("mount", options).status === 0;
}
