/** Finds what a killed turn left behind: processes, locks, orphaned files. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isAlive } from "../../src/util/is-alive.fixture.ts";

export interface Place {
  /** The folder of the whole round. */
  readonly folder: string;
  /** A variable in the environment of its processes. */
  readonly round: string;
}

const PATIENCE_MS = 10_000;

/**
 * Processes of the round that are still running after more than enough time to exit. They are then
 * killed.
 */
export async function endOrphans(place: Place): Promise<string[]> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = processesOf(place);
    if (found.length === 0) return [];
    if (Date.now() > deadline) return found.map(end);
    await delay(5);
  }
}

interface FoundProcess {
  readonly pid: number;
  readonly command: string;
}

function end({ pid, command }: FoundProcess): string {
  process.kill(pid, "SIGKILL");
  return command;
}

/** By working directory and environment, not by process id: ids are reused. */
function processesOf({ folder, round }: Place): FoundProcess[] {
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || !isAlive(pid)) return [];
    const isOfRound =
      look(() => readlinkSync(`/proc/${pid}/cwd`)).startsWith(folder) ||
      look(() => readFileSync(`/proc/${pid}/environ`, "utf8")).includes(`TORTURE_ROUND=${round}`);
    if (!isOfRound) return [];
    const command = look(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    return [{ pid, command: command.slice(0, 80).replaceAll(/[\0\n]/g, " ") }];
  });
}

/** Undefined if the process has exited. */
function look(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

const EXPECTED = /^(events|metadata|base_config)\.json$|^events\.torn(-\d+)?$|^decisions\.jsonl$/;
/** The links to what is stored elsewhere, and the log of heads. */
const KEPT = new Set(["storage", "heads.jsonl"]);

/** Locks, and files next to a record that are not part of it. */
export function findStrayFiles(root: string, data: string): string[] {
  const conversations = filesBelow(path.join(root, ".jp", "conversations"));
  const stray = conversations.filter((file) => !EXPECTED.test(path.basename(file)));
  const hidden = conversations.filter((file) => path.basename(path.dirname(file)).startsWith("."));
  const own = filesBelow(data).filter((file) => !file.includes(`${path.sep}storage${path.sep}`));
  return [...stray, ...hidden, ...own.filter((file) => !KEPT.has(path.basename(file)))];
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => path.join(entry.parentPath, entry.name));
  } catch {
    return [];
  }
}

/** Files that contain the text, plain or encoded as in the record. */
export function findFilesWith(folder: string, text: string): string[] {
  const forms = [text, Buffer.from(text).toString("base64").slice(0, -4)];
  return filesBelow(folder).filter((file) => {
    const content = look(() => readFileSync(file, "latin1"));
    return forms.some((form) => content.includes(form));
  });
}
