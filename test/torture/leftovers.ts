/** What a dead turn may have left behind: processes, locks, files that belong to nobody. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isAlive } from "../../src/util/is-alive.fixture.ts";

export interface Place {
  /** All of the round is in it. */
  readonly folder: string;
  /** Its mark in the environment of processes. */
  readonly round: string;
}

const PATIENCE_MS = 10_000;

/**
 * Processes of the round that are still there when nobody could blame the machine any more. They
 * are ended then.
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

/** By where they work, and by their environment. Ids tell nothing: they are given again. */
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

/** It may be gone by now. */
function look(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

const EXPECTED = /^(events|metadata|base_config)\.json$|^events\.torn(-\d+)?$/;

/** Files beside a record that belong to no record, and locks. */
export function findStrayFiles(root: string, data: string): string[] {
  const conversations = filesBelow(path.join(root, ".jp", "conversations"));
  const stray = conversations.filter((file) => !EXPECTED.test(path.basename(file)));
  const hidden = conversations.filter((file) => path.basename(path.dirname(file)).startsWith("."));
  const own = filesBelow(data).filter((file) => !file.includes(`${path.sep}storage${path.sep}`));
  return [...stray, ...hidden, ...own.filter((file) => path.basename(file) !== "storage")];
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

/** Files that have the text in them, as it is or as the record writes texts. */
export function findFilesWith(folder: string, text: string): string[] {
  const forms = [text, Buffer.from(text).toString("base64").slice(0, -4)];
  return filesBelow(folder).filter((file) => {
    const content = look(() => readFileSync(file, "latin1"));
    return forms.some((form) => content.includes(form));
  });
}
