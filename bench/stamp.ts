/** When figures were measured, and on which code. */
import { spawnSync } from "node:child_process";
import path from "node:path";

export interface Stamp {
  /** Such as `2026-11-17`. */
  readonly date: string;
  /** Such as `3fa2c1d`, with a plus if the code has changed since. Empty outside a clone. */
  readonly commit: string;
}

/** The files that figures depend on. */
const CODE = ["src", "scripts", "bench", "package.json", "package-lock.json", ":!bench/*.json"];

export function stampNow(): Stamp {
  return { date: today(), commit: findCommit() };
}

export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

function findCommit(): string {
  const commit = git("rev-parse", "--short=7", "HEAD");
  if (commit === "") return "";
  return git("status", "--porcelain", "--", ...CODE) === "" ? commit : `${commit}+`;
}

function git(...words: readonly string[]): string {
  const cwd = path.join(import.meta.dirname, "..");
  return spawnSync("git", words, { cwd, encoding: "utf8" }).stdout.trim();
}
