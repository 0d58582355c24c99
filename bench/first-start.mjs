// Measures how much CPU time the tour takes to start in a fresh clone: of npm, the installation, the build and the tour.
// `node bench/first-start.mjs` clones the last commit, runs `npm start` there, and stops at the tour's first line. It
// exits with 1 if that took more than the limit. Plain JavaScript, like the bootstrap that it measures. Linux only: it
// reads /proc.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** Seconds of CPU time, user and system. */
const LIMIT = 35;
const FIRST_LINE = "jp: tools and the assistant ask you questions";
/** The unit of times in /proc, on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(path.join(os.tmpdir(), "jp-first-start-"));
try {
  const clone = path.join(folder, "clone");
  const cloned = spawnSync("git", ["clone", "--quiet", root, clone], { stdio: "inherit" });
  if (cloned.status !== 0) throw new Error("git clone failed: see above.");
  const seconds = await measure(clone);
  const rounded = seconds.toFixed(1);
  process.stdout.write(
    `The tour starts after ${rounded} s of CPU time; the limit is ${LIMIT} s.\n`,
  );
  process.exitCode = seconds > LIMIT ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The CPU time until the tour's first line. */
async function measure(cwd) {
  // A process group of its own holds all that it starts.
  const started = spawn("npm", ["start"], {
    cwd,
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { pid } = started;
  if (pid === undefined) throw new Error("npm cannot be started.");
  try {
    let output = "";
    for await (const piece of started.stdout) {
      output += piece;
      if (output.includes(FIRST_LINE)) return cpuSeconds(pid);
    }
    throw new Error("npm start ended before the tour began.");
  } finally {
    process.kill(-pid, "SIGKILL");
  }
}

/** Of the running processes of a group, and of those that have ended. */
function cpuSeconds(group) {
  let ticks = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const fields = fieldsOf(name);
    if (Number(fields[2]) !== group) continue;
    const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number);
    ticks += user + system + endedUser + endedSystem;
  }
  return ticks / TICKS_PER_SECOND;
}

/** Of `/proc/PID/stat`, from the state on: the name before it may contain anything. Empty if it has just ended. */
function fieldsOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}
