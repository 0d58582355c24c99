/**
 * Another process that sees this one end, even by SIGKILL, and ends what it has left. It reads what
 * is told until nobody is there who could tell more. POSIX only.
 */
import type { Socket } from "node:net";
import { findProgram } from "./find-program.ts";

/** The variable by which a program is found. */
export const MARK = "JP_PROCESS_GROUP";
/** Told in place of a process id. */
export const OVER = "over";

/**
 * Lines are a mark, then its group or that it is over. A mark without a group is one whose program
 * was being started: on Linux, the mark in its environment tells who it is. A program has its
 * environment when the last copy of the pipe's end is closed, for it held one until then.
 */
const SCRIPT = `
groups=' '
forget() {
  case $groups in *" $1:"*) rest=\${groups#*" $1:"}; groups="\${groups%%" $1:"*} \${rest#* }" ;; esac
}
while read -r mark pid; do
  forget "$mark"
  [ "$pid" = ${OVER} ] || groups="$groups$mark:$pid "
done
for group in $groups; do
  leaders=\${group##*:}
  [ -n "$leaders" ] ||
    leaders=$(grep -lszxF "${MARK}=\${group%:*}" /proc/[0-9]*/environ | tr -dc '0-9\\n')
  for leader in $leaders; do kill -s KILL -- "-$leader"; done
done`;

/** Returns how it is told a line. It keeps nothing of ours open, and this process not running. */
export function startWatch(): (line: string) => void {
  const shell = process.platform === "win32" ? undefined : findProgram("sh");
  if (shell === undefined) return () => undefined; // Then only an exit ends them.
  // Nobody pays for loading it who starts no program.
  const { spawn } = process.getBuiltinModule("node:child_process");
  const watch = spawn(shell, ["-c", SCRIPT], {
    stdio: ["pipe", "ignore", "ignore"],
    cwd: "/", // What it runs by name is not looked for in the workspace, either.
    detached: true, // A Ctrl-C in the terminal is not for it.
  });
  watch.on("error", () => undefined); // The same if it cannot be started.
  watch.unref();
  const input = watch.stdin as Socket; // What a pipe to a child is; its type does not say so.
  input.on("error", () => undefined);
  input.unref();
  return (line) => void input.write(`${line}\n`);
}
