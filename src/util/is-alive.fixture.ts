/** Whether a process still runs. */
import { readFileSync } from "node:fs";

export function isAlive(pid: number): boolean {
  try {
    // Nobody may have reaped it yet: then it is dead all the same.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
