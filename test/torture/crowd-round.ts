/** One round: a writer, readers and those who answer, all at once on the same conversation. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import type { JsonObject } from "../../src/util/index.ts";
import { makePlace, type Workplace } from "./place.ts";
import { conversationFolders, type RoundResult } from "./round.ts";

export interface CrowdRound {
  readonly name: string;
  readonly seed: number;
  readonly turns: number;
}

export interface CrowdPlan extends Pick<Workplace, "root" | "data" | "notes"> {
  readonly role: "write" | "read" | "answer";
  readonly seed: number;
  readonly turns: number;
}

export interface CrowdReport {
  /** The answers that count. */
  readonly recorded: number;
  readonly reads: number;
  readonly problems: readonly string[];
}

const OTHERS = ["read", "read", "answer", "answer"] as const;
const TIMEOUT_MS = 120_000;
const run = promisify(execFile);

export function roundsOfCrowds(count: number, seed: number): CrowdRound[] {
  return Array.from({ length: count }, (_, index) => {
    const own = seed + index;
    return { name: `crowd with seed ${own}`, seed: own, turns: 30 };
  });
}

export async function runCrowdRound(
  { name, seed, turns }: CrowdRound,
  program: string,
): Promise<RoundResult> {
  const place = makePlace();
  try {
    const start = (role: CrowdPlan["role"]) => runRole({ ...place, role, seed, turns }, program);
    const others = OTHERS.map(start);
    const written = await start("write");
    writeFileSync(path.join(place.notes, "over"), "");
    const reports = await Promise.all(others);
    const recorded = reports.reduce((sum, report) => sum + report.recorded, 0);
    const problems = [...new Set([written, ...reports].flatMap((report) => report.problems))];
    // Fewer: whoever answers may be told after the next turn has begun, and then that nothing waits.
    const wrong = recorded <= turns ? [] : [`${recorded} answers count to ${turns} questions`];
    return {
      name,
      isHit: reports.every(({ reads }) => reads > 1),
      recorded,
      problems: [...problems, ...wrong, ...problemsOfRecord(place, turns)],
    };
  } finally {
    place.remove();
  }
}

async function runRole(
  { root, data, notes, role, seed, turns }: CrowdPlan,
  program: string,
): Promise<CrowdReport> {
  const plan: CrowdPlan = { root, data, notes, role, seed, turns };
  try {
    const { stdout } = await run(process.execPath, [program, JSON.stringify(plan)], {
      cwd: "/",
      timeout: TIMEOUT_MS,
    });
    return JSON.parse(stdout) as CrowdReport;
  } catch (error) {
    return { recorded: 0, reads: 0, problems: [`${role} has failed: ${String(error)}`] };
  }
}

/** Each question has one answer. */
function problemsOfRecord(place: Workplace, turns: number): readonly string[] {
  const [folder] = conversationFolders(place);
  if (folder === undefined) return ["there is no record"];
  const events = JSON.parse(readFileSync(path.join(folder, "events.json"), "utf8")) as JsonObject[];
  const ids = events.flatMap(({ type, id }) => (type === "inquiry_response" ? [id] : []));
  const isFine = ids.length === turns && new Set(ids).size === turns;
  return isFine ? [] : [`${new Set(ids).size} questions have ${ids.length} answers`];
}
