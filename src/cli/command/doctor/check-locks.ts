/** Who is writing to conversations of this workspace. No lock is taken to find out. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { findProgram } from "../../../process/index.ts";
import { isJsonObject } from "../../../util/index.ts";
import type { Workspace } from "../../../storage/index.ts";
import type { CommandContext } from "../../compose.ts";
import type { Finding } from "./finding.ts";

export function checkLocks(
  workspace: Workspace,
  { environment }: CommandContext,
): readonly Finding[] {
  const check = "locks";
  const userFolder = workspace.findUserFolder();
  const files = userFolder === undefined ? [] : lockFiles(path.join(userFolder, "locks"));
  const findings = files.map((file): Finding => {
    const id = path.basename(file, ".lock");
    const owner = readOwner(file);
    if (owner === undefined) {
      return { check, state: "ok", message: `${id} is just being taken or given back` };
    }
    const { pid, since } = owner;
    return isAlive(pid)
      ? { check, state: "ok", message: `${id} is in use by process ${pid}${since}` }
      : {
          check,
          state: "ok",
          message: `${id} was in use by process ${pid}${since}, which has ended; that holds nobody up`,
        };
  });
  const { platform, variables } = environment;
  if (platform === "linux" && findProgram("flock", variables["PATH"]) === undefined) {
    const message =
      "The command flock is missing: the Rust version of jp does not see which conversations are in use.";
    findings.push({
      check,
      state: "warning",
      message,
      hint: "Install util-linux if you use both.",
    });
  }
  return findings.length > 0 ? findings : [{ check, state: "ok", message: "none is held" }];
}

function lockFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".lock"))
      .map((name) => path.join(folder, name));
  } catch {
    return []; // Nobody has ever written.
  }
}

function readOwner(file: string): { readonly pid: number; readonly since: string } | undefined {
  try {
    const owner: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (!isJsonObject(owner) || typeof owner["pid"] !== "number") return undefined;
    const since = owner["acquired_at"];
    return { pid: owner["pid"], since: typeof since === "string" ? ` since ${since}` : "" };
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is there, and somebody else's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
