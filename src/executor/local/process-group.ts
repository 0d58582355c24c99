/** All processes that a tool has started, as far as none has left the group on purpose. POSIX only. */
import { setTimeout as delay } from "node:timers/promises";

/** How long to wait between two looks at a group that was asked to end. */
const POLL_MS = 20;
/** A process that even SIGKILL does not end is stuck in the kernel; nobody waits for it. */
const STUCK_MS = 1000;

export interface ProcessGroup {
  /** Of the process that leads it. */
  readonly pid: number;
  /** Resolves when that process has ended. */
  readonly exited: Promise<unknown>;
}

/** Asks all of them to end, and makes those end that have not after the grace period. */
export async function endGroup(group: ProcessGroup, graceMs: number): Promise<void> {
  if (!signalGroup(group.pid, "SIGTERM")) return;
  const deadline = AbortSignal.timeout(graceMs);
  while (!deadline.aborted) {
    await delay(POLL_MS);
    if (!signalGroup(group.pid, 0)) return;
  }
  signalGroup(group.pid, "SIGKILL");
  await Promise.race([group.exited, delay(STUCK_MS, undefined, { ref: false })]);
}

/** False if there is nobody left in it. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}
