/** Process groups that must not outlive this process. A SIGKILL to ourselves is beyond us. */

/** By the process that leads each. */
const groups = new Set<number>();
let isWatching = false;

/** The group is killed when this process exits, unless that was disposed of before. */
export function killOnExit(pid: number | undefined): Disposable {
  if (pid !== undefined) {
    groups.add(pid);
    if (!isWatching) process.on("exit", killAll);
    isWatching = true;
  }
  return { [Symbol.dispose]: () => groups.delete(pid ?? 0) };
}

/** Nothing can be waited for any more. */
function killAll(): void {
  for (const pid of groups) {
    try {
      process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
    } catch {
      // Nothing of it is left.
    }
  }
}
