/**
 * `npm run test:times`: runs the quick tests and writes how long the files of each folder take to docs/project/tests.md, with
 * the date and the commit.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ROOT } from "./documents.ts";

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly unknown[];
  }[];
}

interface Folder {
  readonly files: number;
  readonly tests: number;
  readonly seconds: number;
}

/** The folder that a test file counts for: two levels, such as `test/cli`. */
export function folderOf(file: string): string {
  const [first = "", second = "", ...rest] = file.split("/");
  return rest.length === 0 ? first : `${first}/${second}`;
}

if (import.meta.main) {
  const folder = mkdtempSync(path.join(tmpdir(), "jp-times-"));
  const file = path.join(folder, "report.json");
  const begin = performance.now();
  const reporters = ["--reporter=json", `--outputFile=${file}`];
  const words = ["run", "--project", "quick", "--reporter=default", ...reporters];
  const { status } = spawnSync("vitest", words, { cwd: ROOT, stdio: "inherit" });
  const seconds = (performance.now() - begin) / 1000;
  const report = JSON.parse(readFileSync(file, "utf8")) as Report; // As Vitest writes it.
  rmSync(folder, { recursive: true });
  if (status === 0)
    writeFileSync(path.join(ROOT, "docs/project/tests.md"), render(report, seconds));
  process.exitCode = status ?? 1;
}

function render({ testResults }: Report, seconds: number): string {
  const folders = new Map<string, Folder>();
  for (const { name, startTime, endTime, assertionResults } of testResults) {
    const key = folderOf(path.relative(ROOT, name));
    const {
      files,
      tests,
      seconds: before,
    } = folders.get(key) ?? { files: 0, tests: 0, seconds: 0 };
    folders.set(key, {
      files: files + 1,
      tests: tests + assertionResults.length,
      seconds: before + (endTime - startTime) / 1000,
    });
  }
  const sorted = [...folders].toSorted(([, left], [, right]) => right.seconds - left.seconds);
  const rows = sorted.map(
    ([name, { files, tests, seconds: own }]) =>
      `| \`${name}\` | ${files} | ${tests} | ${own.toFixed(1)} |`,
  );
  const words = ["rev-parse", "--short", "HEAD"];
  const commit = execFileSync("git", words, { encoding: "utf8", cwd: ROOT }).trim();
  const date = new Date().toISOString().slice(0, 10);
  const text = `# The time that the tests take

How long \`npm test\` takes, by folder. \`npm run test:times\` writes this page; run it on a quiet machine after adding tests that start
processes. Most of the time is spent on starting programs: test in the process of the test where that shows the same.

**${Math.round(seconds)} s** in all, on two cores, on ${date} at ${commit}. Files run side by side, so that the sum of the
seconds is larger.

| folder | files | tests | seconds |
| --- | --- | --- | --- |
${rows.join("\n")}
`;
  const formatted = spawnSync("oxfmt", ["--stdin-filepath", "docs/project/tests.md"], {
    cwd: ROOT,
    input: text,
    encoding: "utf8",
  });
  return formatted.stdout;
}
