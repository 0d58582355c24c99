/** Process groups that must not outlive this process, however it ends. */
import { MARK, OVER, startWatch } from "./exit-watch.ts";

export interface GroupGuard extends Disposable {
  /** Has to be in the environment of the program. */
  readonly variables: Readonly<Record<string, string>>;
  /** Has to be called as soon as the program was started, or could not be. */
  hold(pid: number | undefined): void;
}

/** By the process that leads each. */
const groups = new Set<number>();
let watch: ((line: string) => void) | undefined;

/**
 * For a program that is about to be started, with `detached`. Its group is killed when this process
 * is gone, unless the guard was disposed of before.
 */
export function guardGroup(): GroupGuard {
  const tell = (watch ??= beginWatch());
  const mark = crypto.randomUUID();
  let leader = 0;
  tell(mark);
  return {
    variables: { [MARK]: mark },
    hold: (pid) => {
      leader = pid ?? 0;
      if (pid !== undefined) groups.add(pid);
      tell(`${mark} ${pid ?? OVER}`);
    },
    [Symbol.dispose]: () => {
      groups.delete(leader);
      tell(`${mark} ${OVER}`);
    },
  };
}

function beginWatch(): (line: string) => void {
  process.on("exit", killAll);
  return startWatch();
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
