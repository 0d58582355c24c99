/**
 * Process groups, and empty files and folders, that must not outlive this process, however it ends. On exit, this process
 * removes them itself. If it is killed, a watchdog does: a small shell that notices the end of its input.
 */
import type { Socket } from "node:net";
import { randomName } from "../../util/index.ts";
import { findSystemProgram, SYSTEM_PATH } from "./find-program.ts";

export interface GroupGuard extends Disposable {
  /** Add these to the program's environment. */
  readonly variables: Readonly<Record<string, string>>;
  /** Must be called right after the program has started, or failed to start. */
  track(pid: number | undefined): void;
}

/** Identifies a program to the watchdog before its process id is known. */
const MARK_VARIABLE = "JP_PROCESS_GROUP";
/** Sent to the watchdog in place of a process id. */
const RELEASED = "released";

/** Sent to the watchdog in place of a mark. */
const STAND_IN = "stand_in";
const STAND_IN_GONE = "stand_in_gone";

/** The process ids of the group leaders. */
const groups = new Set<number>();
const standIns = new Set<string>();
let sendToWatchdog: ((line: string) => void) | undefined;

/**
 * Guards a program that is about to be started with `detached`. Its group is killed when this process ends, unless the
 * guard is disposed of first.
 */
export function guardGroup(): GroupGuard {
  const send = ensureWatchdog();
  const mark = `${process.pid}-${randomName()}`;
  let leader = 0;
  send(mark);
  return {
    variables: { [MARK_VARIABLE]: mark },
    track: (pid) => {
      leader = pid ?? 0;
      if (pid !== undefined) groups.add(pid);
      send(`${mark} ${pid ?? RELEASED}`);
    },
    [Symbol.dispose]: () => {
      groups.delete(leader);
      send(`${mark} ${RELEASED}`);
    },
  };
}

/**
 * Guards an empty file or folder that is needed only while a group runs. It is removed when the guard is disposed of, or
 * when this process ends, if it is still empty.
 */
export function guardStandIn(file: string): Disposable {
  const send = ensureWatchdog();
  standIns.add(file);
  const isOneLine = !/[\n\0]|\s$/.test(file);
  if (isOneLine) send(`${STAND_IN} ${file}`);
  return {
    [Symbol.dispose]: () => {
      if (!standIns.delete(file)) return;
      removeIfEmpty(file);
      if (isOneLine) send(`${STAND_IN_GONE} ${file}`);
    },
  };
}

function ensureWatchdog(): (line: string) => void {
  if (sendToWatchdog === undefined) process.on("exit", cleanUp);
  return (sendToWatchdog ??= startWatchdog());
}

/** Runs while the process exits, so nothing can be awaited. */
function cleanUp(): void {
  for (const pid of groups) {
    try {
      process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
    } catch {
      // The group is empty.
    }
  }
  standIns.forEach(removeIfEmpty);
}

function removeIfEmpty(file: string): void {
  const { lstatSync, rmdirSync, unlinkSync } = process.getBuiltinModule("node:fs");
  try {
    const stats = lstatSync(file);
    if (stats.isDirectory()) rmdirSync(file);
    else if (stats.isFile() && stats.size === 0) unlinkSync(file);
  } catch {
    // Something else has filled or removed it.
  }
}

/**
 * Reads lines until this process is gone: a mark, then the process id of its group or `released`; or a stand-in. A
 * mark without either belongs to a program that was being started. On Linux, the mark in its
 * environment identifies it: the program holds a copy of the pipe until its environment is in place, so
 * the input does not end before that.
 */
const WATCHDOG = `
groups=' '
forget() {
  case $groups in *" $1:"*) rest=\${groups#*" $1:"}; groups="\${groups%%" $1:"*} \${rest#* }" ;; esac
}
while read -r mark pid; do
  case $mark in
    ${STAND_IN}) set -- "$@" "$pid"; continue ;;
    ${STAND_IN_GONE}) for file do shift; [ "$file" = "$pid" ] || set -- "$@" "$file"; done; continue ;;
  esac
  forget "$mark"
  [ "$pid" = ${RELEASED} ] || groups="$groups$mark:$pid "
done
for group in $groups; do
  leaders=\${group##*:}
  [ -n "$leaders" ] ||
    leaders=$(grep -lszxF "${MARK_VARIABLE}=\${group%:*}" /proc/[0-9]*/environ | tr -dc '0-9\\n')
  for leader in $leaders; do kill -s KILL -- "-$leader"; done
done
for file do
  if [ -L "$file" ]; then :; elif [ -d "$file" ]; then rmdir -- "$file"; elif [ -f "$file" ] && [ ! -s "$file" ]; then rm -f -- "$file"; fi
done`;

/** Returns a function that sends it a line. POSIX only: elsewhere, only `cleanUp` ends the groups. */
function startWatchdog(): (line: string) => void {
  const shell = process.platform === "win32" ? undefined : findSystemProgram("sh");
  if (shell === undefined) return () => undefined;
  // Loaded on demand: it takes a tenth of Node's own start.
  const { spawn } = process.getBuiltinModule("node:child_process");
  const watchdog = spawn(shell, ["-c", WATCHDOG], {
    stdio: ["pipe", "ignore", "ignore"],
    cwd: "/",
    // It starts grep, tr, rmdir and rm, which a folder of the workspace in the user's PATH could provide.
    env: { PATH: SYSTEM_PATH },
    detached: true, // So that Ctrl-C in the terminal does not end it.
  });
  watchdog.on("error", () => undefined); // Then only `cleanUp` ends the groups.
  // Neither the watchdog nor its pipe keeps this process running.
  watchdog.unref();
  const input = watchdog.stdin as Socket; // It is one, though its type does not say so.
  input.on("error", () => undefined);
  input.unref();
  return (line) => void input.write(`${line}\n`);
}
