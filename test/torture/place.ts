/** A workspace, a user's folder and a folder for notes, for one round. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Place } from "./leftovers.ts";

export interface Workplace extends Place {
  readonly root: string;
  readonly data: string;
  readonly notes: string;
  remove(): void;
}

/** In memory if possible: a killed process leaves its writes to the kernel, so no disk is needed. */
const PARENT = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export function makePlace(): Workplace {
  const folder = mkdtempSync(path.join(PARENT, "jp-torture-"));
  const [root, data, notes] = ["project", "data", "notes"].map((name) =>
    path.join(folder, name),
  ) as [string, string, string];
  mkdirSync(path.join(root, ".jp"), { recursive: true });
  mkdirSync(data);
  mkdirSync(notes);
  writeFileSync(path.join(root, ".jp", ".id"), "abc12");
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { folder, round: path.basename(folder), root, data, notes, remove };
}
