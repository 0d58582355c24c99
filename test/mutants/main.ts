/**
 * Makes one small mistake at a time in a copy of the sources, and runs the tests of its area. A mistake that no test
 * notices is printed as a survivor: it needs a test, or is equivalent to the original.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { Random } from "../torture/random.ts";
import { AREAS } from "./areas.ts";
import { applyMutant, type Mutant, mutantsOf } from "./mutants.ts";

interface PlacedMutant extends Mutant {
  readonly file: string;
}

const { values } = parseArgs({
  options: {
    area: { type: "string" },
    count: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    /** Seconds for the tests of one mutant. */
    timeout: { type: "string", default: "300" },
    /** Instead of the area's tests. */
    tests: { type: "string", multiple: true },
    /** Leaves out the slower tests. */
    near: { type: "boolean", default: false },
    /** A JSON file with mutants of your own: a list of `{ file, from, to }`. */
    chosen: { type: "string" },
  },
});
const area = AREAS[values.area ?? ""];
if (area === undefined) throw new Error(`Pass --area: ${Object.keys(AREAS).join(", ")}`);

const copy = mkdtempSync(path.join(tmpdir(), "jp-mutants-"));
let running: ChildProcess | undefined;
process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop());
copyProject();

const near = [...area.sources.flatMap(testsBeside), ...(area.near ?? [])];
const stages = values.tests ? [values.tests] : values.near ? [near] : [near, area.far];
const checked = new Set<readonly string[]>();
const mutants = values.chosen === undefined ? pick() : readChosen(values.chosen);
let survivors = 0;
for (const [index, mutant] of mutants.entries()) {
  const outcome = await tryMutant(mutant);
  if (outcome === "survived") survivors += 1;
  console.log(`\n${index + 1}. ${outcome}: ${describe(mutant)}`);
}
console.log(`\n${survivors} of ${mutants.length} survived.`);

function stop(): never {
  if (running?.pid !== undefined) process.kill(-running.pid, "SIGKILL");
  process.exit(1);
}

/** Every file of the project, with packages and the build shared: mutants are never written to the original. */
function copyProject(): void {
  const listed = spawnSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
    encoding: "utf8",
  });
  for (const file of listed.stdout.split("\0").filter(Boolean)) cpSync(file, path.join(copy, file));
  for (const folder of ["node_modules", ...globSync("tools/*/node_modules")]) {
    symlinkSync(path.resolve(folder), path.join(copy, folder));
  }
  if (existsSync("dist")) cpSync("dist", path.join(copy, "dist"), { recursive: true });
}

function pick(): readonly PlacedMutant[] {
  console.log(`seed ${values.seed}`);
  const random = new Random(Number(values.seed));
  const all = sourcesOf().flatMap((file) =>
    mutantsOf(readFileSync(file, "utf8")).map((mutant) => ({ ...mutant, file })),
  );
  const keyed = all.map((mutant) => ({ mutant, key: random.next() }));
  const shuffled = keyed.toSorted((left, right) => left.key - right.key);
  return shuffled.slice(0, Number(values.count)).map(({ mutant }) => mutant);
}

function sourcesOf(): readonly string[] {
  const found = area?.sources.flatMap((source) =>
    source.endsWith(".ts") ? [source] : globSync(`${source}/**/*.ts`),
  );
  return (found ?? [])
    .filter((file) => !/\.(?:test|fixture)\.ts$|\/index\.ts$/.test(file))
    .toSorted();
}

function readChosen(file: string): readonly PlacedMutant[] {
  const edits = JSON.parse(readFileSync(file, "utf8")) as readonly {
    readonly file: string;
    readonly from: string;
    readonly to: string;
  }[];
  return edits.map((edit) => {
    const parts = readFileSync(edit.file, "utf8").split(edit.from);
    if (parts.length !== 2) throw new Error(`Not once in ${edit.file}: ${edit.from}`);
    const start = parts[0]?.length ?? 0;
    const end = start + edit.from.length;
    return { file: edit.file, start, end, replacement: edit.to, change: "chosen" };
  });
}

/** The tests in a folder, or the test of a file. */
function testsBeside(source: string): readonly string[] {
  return globSync(
    source.endsWith(".ts") ? source.replace(/\.ts$/, ".test.ts") : `${source}/**/*.test.ts`,
  );
}

async function tryMutant(mutant: PlacedMutant): Promise<string> {
  const place = path.join(copy, mutant.file);
  const original = readFileSync(place, "utf8");
  for (const tests of stages) {
    await checkWithout(tests);
    writeFileSync(place, applyMutant(original, mutant));
    const outcome = await runTests(tests);
    writeFileSync(place, original);
    if (outcome !== "survived") return outcome;
  }
  return "survived";
}

/** Throws if the tests fail without a mutant, and so prove nothing. */
async function checkWithout(tests: readonly string[]): Promise<void> {
  if (checked.has(tests)) return;
  const outcome = await runTests(tests);
  if (outcome !== "survived") throw new Error(`Without a mutant: ${outcome}`);
  checked.add(tests);
}

/** A test that hangs has noticed the mutant too. */
async function runTests(tests: readonly string[]): Promise<string> {
  const report = path.join(copy, "mutant-report.json");
  rmSync(report, { force: true });
  const reporting = ["--bail", "1", "--reporter", "json", "--outputFile", report];
  const words = ["run", "--fsModuleCache", ...reporting, ...tests];
  const child = spawn("vitest", words, { cwd: copy, detached: true, stdio: "ignore" });
  running = child;
  let isLate = false;
  const timer = setTimeout(
    () => {
      isLate = true;
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    },
    Number(values.timeout) * 1000,
  );
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.on("close", resolve);
  const status = await promise;
  clearTimeout(timer);
  if (status === 0) return "survived";
  return isLate ? "killed by the timeout" : `killed by ${firstFailure(report)}`;
}

function firstFailure(report: string): string {
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as {
    readonly testResults: readonly {
      readonly name: string;
      readonly status: string;
      readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
    }[];
  };
  const file = testResults.find(({ status }) => status === "failed");
  const test = file?.assertionResults.find(({ status }) => status === "failed");
  const name = path.relative(copy, file?.name ?? copy);
  if (file === undefined) return "an error outside of the tests";
  return test === undefined ? name : `"${test.fullName}" (${name})`;
}

/** As a diff of whole lines. */
function describe({ file, start, end, replacement, change }: PlacedMutant): string {
  const text = readFileSync(file, "utf8");
  const from = text.lastIndexOf("\n", start - 1) + 1;
  const to = text.indexOf("\n", end);
  const line = text.slice(0, start).split("\n").length;
  return [
    `${change}, ${file}:${line}`,
    ...marked("-", text.slice(from, to)),
    ...marked("+", text.slice(from, start) + replacement + text.slice(end, to)),
  ].join("\n");
}

function marked(sign: string, lines: string): readonly string[] {
  return lines.split("\n").map((line) => `${sign} ${line}`);
}
