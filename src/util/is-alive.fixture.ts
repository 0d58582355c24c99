/** Whether a process still runs. */
import { readFileSync } from "node:fs";

export function isAlive(pid: number): boolean {
  try {
    // A zombie that has not been reaped yet counts as dead.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
