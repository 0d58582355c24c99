/**
 * `npm run budget`: compares what each path loads, runs and opens with `budget.json`. `npm run budget -- --write`
 * measures several times, and writes the current needs.
 */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { joined, type Use, writeBudget } from "./budget.ts";
import { checkBudget, measureUse, PATHS } from "./measure.ts";
import { checkTake, writeTake } from "./take.ts";

/**
 * This many runs in sequence, and as many concurrently: on a busy machine, other things happen before the request.
 */
const TIMES = 4;

const names = Object.keys(PATHS) as (keyof typeof PATHS)[];
if (process.argv.includes("--write")) {
  const uses: Record<string, Use> = {};
  for (const name of names) {
    const all: Use[] = [];
    for (let time = 0; time < TIMES; time += 1) all.push(await measureUse(name));
    all.push(...(await Promise.all(Array.from({ length: TIMES }, () => measureUse(name)))));
    uses[name] = joined(all);
  }
  await writeTake();
  spawnSync("oxfmt", [writeBudget(uses)], { stdio: "inherit" });
} else {
  const problems = [...(await checkTake())];
  for (const name of names) problems.push(...(await checkBudget(name)));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
