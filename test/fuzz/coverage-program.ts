/**
 * `node test/fuzz/coverage-program.ts [words]`: prints which branches of the fuzzed files the short mode
 * covers, according to V8. With words: only files whose path contains one of them, with the uncovered lines.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.join(import.meta.dirname, "..", "..");
const TARGETS = [
  /^src\/conversation\/(?:event-codec|inquiry-codec|entry|metadata|timestamp)\.ts$/,
  /^src\/storage\/fs\/(?:event-reader|element-scan|byte-window)\.ts$/,
  /^src\/tool\/(?:outcome|question-codec|answer)\.ts$/,
  /^src\/(?:executor\/local\/local-executor|process\/output)\.ts$/,
  /^src\/config\/(?:assignment|environment|parse-config|layers|config-error|schema-node|config-file|load-config|key-lines)\.ts$/,
  /^src\/mcp\/(?:remote-tool|elicitation|pending-calls)\.ts$/,
  /^src\/(?:json-schema\/(?!.*test).*|util\/find-closest|executor\/mcp\/(?:form-field|question-round|remote-description))\.ts$/,
  /^src\/terminal\/(?:key|key-menu|select-list|text-entry|text-buffer|question-rows|pager|show-widget|live-region)\.ts$/,
  /^src\/render\/(?:stream\/(?!.*test).*|neutralize)\.ts$/,
];

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface Script {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly Range[] }[];
}

const words = process.argv.slice(2);
const folder = mkdtempSync(path.join(tmpdir(), "jp-fuzz-coverage-"));
try {
  run();
  report(merged());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Without Vite's loader, so that offsets match the files, and each test file in isolation. */
function run(): void {
  const vitest = path.join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const options = [
    "--experimental.viteModuleRunner=false",
    "--pool=forks",
    "--isolate",
    // Code with block coverage is compiled differently, so its growth means nothing.
    "--testNamePattern=^(?!.*takes? no longer)",
  ];
  const { status } = spawnSync(process.execPath, [vitest, "run", "test/fuzz", ...options], {
    cwd: ROOT,
    env: { ...process.env, NODE_V8_COVERAGE: folder },
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new Error(`The tests ended with ${String(status)}.`);
}

/** The counts of each worker, by file. */
function merged(): ReadonlyMap<string, readonly (readonly Range[])[]> {
  const files = new Map<string, (readonly Range[])[]>();
  for (const name of readdirSync(folder)) {
    const text = readFileSync(path.join(folder, name), "utf8");
    const { result } = JSON.parse(text) as { readonly result: readonly Script[] }; // As V8 writes it.
    for (const { url, functions } of result) {
      if (!url.startsWith("file:")) continue;
      const file = path.relative(ROOT, fileURLToPath(url.replace(/\?.*$/, "")));
      if (!TARGETS.some((target) => target.test(file))) continue;
      const ranges = functions.flatMap((each) => each.ranges);
      files.set(file, [...(files.get(file) ?? []), ranges]);
    }
  }
  return files;
}

function report(files: ReadonlyMap<string, readonly (readonly Range[])[]>): void {
  const shown = [...files].filter(
    ([file]) => words.length === 0 || words.some((word) => file.includes(word)),
  );
  let [reached, all] = [0, 0];
  for (const [file, workers] of shown.toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const ranges = new Map(workers.flat().map((range) => [keyOf(range), range]));
    const missed = [...ranges.values()].filter((range) => !isReached(range, workers));
    reached += ranges.size - missed.length;
    all += ranges.size;
    console.log(`${file.padEnd(55)} ${ranges.size - missed.length} of ${ranges.size}`);
    if (words.length > 0) for (const range of missed) console.log(`  ${describe(file, range)}`);
  }
  console.log(
    `${reached} of ${all} branches and functions: ${((100 * reached) / all).toFixed(1)} %`,
  );
}

function keyOf({ startOffset, endOffset }: Range): string {
  return `${startOffset}-${endOffset}`;
}

/** V8 reports a branch only if its count differs from that of the enclosing block. */
function isReached(branch: Range, workers: readonly (readonly Range[])[]): boolean {
  return workers.some((ranges) => {
    const around = ranges.filter(
      (range) => range.startOffset <= branch.startOffset && range.endOffset >= branch.endOffset,
    );
    const innermost = around.toSorted((one, other) => lengthOf(one) - lengthOf(other))[0];
    return innermost !== undefined && innermost.count > 0;
  });
}

function lengthOf({ startOffset, endOffset }: Range): number {
  return endOffset - startOffset;
}

function describe(file: string, { startOffset, endOffset }: Range): string {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  const line = text.slice(0, startOffset).split("\n").length;
  const missed = text.slice(startOffset, endOffset).replaceAll(/\s+/g, " ").slice(0, 100);
  return `${line}: ${missed}`;
}
