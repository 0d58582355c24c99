/**
 * Limits of what a command takes from the machine. The shell that starts it sets them on itself, where the system has them
 * (`setrlimit`), and they are inherited.
 */
import { release } from "node:os";
import { findSystemProgram } from "../process/index.ts";

/** Zero for none. */
export interface CommandLimits {
  /** Of all its processes and threads together. */
  readonly processes: number;
  /** Of each process: what it has for itself to write to. */
  readonly memoryBytes: number;
  /** Of each process. */
  readonly openFiles: number;
}

/**
 * Limits that are already lower stay. Processes are counted in the user namespace of the sandbox: outside of one, all of the
 * user's would count. When memory runs out, the kernel ends the command before the user's programs.
 */
const SET_LIMITS = `
lower() {
  [ "$2" -gt 0 ] || return 0
  for kind in S H; do
    now=$(ulimit "-$kind$1") || return 1
    [ "$now" = unlimited ] || [ "$now" -gt "$2" ] || continue
    ulimit "-$kind$1" "$2"
  done
}
{
  read -r _ _ users </proc/self/uid_map
  case \${users:-all} in all | 4294967295) ;; *) lower u "$1" || lower p "$1" ;; esac
  lower d "$2"
  lower n "$3"
  echo 500 >/proc/self/oom_score_adj
} 2>/dev/null
shift 3
exec "$@"`;

/** The words that start a program with limits. */
export function withLimits(
  words: readonly string[],
  { processes, memoryBytes, openFiles }: CommandLimits,
  version = release(),
): readonly [program: string, ...args: string[]] {
  const counts = [
    countsInNamespace(version) ? processes : 0,
    Math.ceil(memoryBytes / 1024),
    openFiles,
  ];
  const shell = findSystemProgram("sh") ?? "/bin/sh";
  return [shell, "-c", SET_LIMITS, "sh", ...counts.map(String), ...words];
}

/** Since Linux 5.14. Before, all processes of the user count everywhere. */
function countsInNamespace(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}
