/**
 * A sandbox can only protect paths that exist. While commands run, empty files and folders stand in for those that do not.
 */
import { lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { guardStandIn } from "../process/index.ts";

export interface MissingPath {
  readonly file: string;
  readonly kind: "file" | "folder";
}

interface StandIn {
  readonly guard: Disposable;
  /** The number of running commands that need it: the last one removes it. */
  users: number;
}

const standIns = new Map<string, StandIn>();

/** Whether what is there only stands in for a running command. */
export function isStandIn(file: string): boolean {
  return standIns.has(file);
}

/** It is removed when the last user disposes of it, if it is still empty. Undefined if the path exists. */
export function standIn(missing: MissingPath): Disposable | undefined {
  const { file } = missing;
  const entry = standIns.get(file) ?? makeStandIn(missing);
  if (entry === undefined) return undefined;
  entry.users += 1;
  return {
    [Symbol.dispose]: () => {
      entry.users -= 1;
      if (entry.users > 0) return;
      standIns.delete(file);
      entry.guard[Symbol.dispose]();
    },
  };
}

function makeStandIn({ file, kind }: MissingPath): StandIn | undefined {
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) return undefined;
  const entry = { guard: guardStandIn(file), users: 0 };
  if (kind === "folder") mkdirSync(file, { mode: 0o700 });
  else writeFileSync(file, "", { mode: 0o600, flag: "wx" });
  standIns.set(file, entry);
  return entry;
}
