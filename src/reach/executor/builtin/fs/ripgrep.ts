/**
 * Uses ripgrep, if installed, to rule out files that cannot match, so that they need not be read here. Its matches are
 * never shown: every other file is searched as usual, so the results are the same.
 */
import { lstatSync } from "node:fs";
import path from "node:path";
import { type FoundFile, openFolder } from "../../../files/index.ts";
import { findProgram, runProcess } from "../../../process/index.ts";
import { MAX_FILE_BYTES } from "./save-file.ts";

export interface RipgrepPlaces {
  /** A path without links. */
  readonly root: string;
  /** The `PATH`. If undefined, ripgrep is not used. */
  readonly searchPath: string | undefined;
}

/** The user's own ripgrep. A workspace cannot provide it. */
export function findRipgrep({ root, searchPath }: RipgrepPlaces): string | undefined {
  // Command lines on Windows are too short to make it worthwhile.
  if (searchPath === undefined || process.platform === "win32") return undefined;
  return findProgram("rg", { root, searchPath });
}

export interface RipgrepSearch {
  readonly program: string;
  /** A path without links; file paths are relative to it. */
  readonly root: string;
  /** A file that contains none of these texts has no match. */
  readonly required: readonly string[];
  /** How many files to search without ripgrep first; if there are no more, no process starts. */
  readonly after: number;
  readonly signal: AbortSignal;
}

/** A file to search. */
export interface Candidate {
  readonly file: FoundFile;
  /** `excluded`: it has no match, and nothing about it needs to be reported. `lost`: its folder cannot be reopened. */
  readonly state: "open" | "excluded" | "lost";
}

/** Yields all files in their original order. */
export async function* excludeWithRipgrep(
  files: AsyncIterable<FoundFile>,
  search: RipgrepSearch,
): AsyncGenerator<Candidate, void, undefined> {
  const stop = new AbortController();
  const signal = AbortSignal.any([search.signal, stop.signal]);
  const running: Batch[] = [];
  let batch: ListedFile[] = [];
  let [count, bytes] = [0, 0];
  const start = () => {
    running.push({ files: batch, excluded: findExcluded(batch, { ...search, signal }) });
    [batch, bytes] = [[], 0];
  };
  try {
    for await (const file of files) {
      count += 1;
      if (count <= search.after) {
        yield { file, state: "open" };
        continue;
      }
      batch.push({ file, isPlain: isPlain(file) });
      bytes += Buffer.byteLength(file.path) + PATH_OVERHEAD;
      if (bytes < MAX_ARGUMENT_BYTES) continue;
      start();
      if (running.length > MAX_RUNNING) yield* finish(running.shift(), search);
    }
    if (batch.length > 0) start();
    while (running.length > 0) yield* finish(running.shift(), search);
  } finally {
    stop.abort();
    for (const each of running) await each.excluded;
  }
}

/** Systems allow at least 256 kB. On Linux, each argument also needs a pointer. */
const MAX_ARGUMENT_BYTES = 200_000;
const PATH_OVERHEAD = 12;
/** ripgrep itself uses all processors. The next batch is prepared meanwhile. */
const MAX_RUNNING = 1;

interface ListedFile {
  readonly file: FoundFile;
  /** An ordinary file that would cause no notice. */
  readonly isPlain: boolean;
}

interface Batch {
  readonly files: readonly ListedFile[];
  /** The paths of files without a match. */
  readonly excluded: Promise<ReadonlySet<string>>;
}

function isPlain({ folder, name, isStart }: FoundFile): boolean {
  if (isStart) return false;
  try {
    const stats = lstatSync(folder.entry(name));
    return stats.isFile() && stats.nlink === 1 && stats.size <= MAX_FILE_BYTES;
  } catch {
    return false;
  }
}

/** Reopens each file's folder, which the walk has closed. */
async function* finish(
  batch: Batch | undefined,
  { root }: RipgrepSearch,
): AsyncGenerator<Candidate, void, undefined> {
  const excluded = await batch?.excluded;
  for (const { file, isPlain: isExcludable } of batch?.files ?? []) {
    if (isExcludable && excluded?.has(file.path) === true) {
      yield { file, state: "excluded" };
      continue;
    }
    const parent = path.dirname(path.join(root, file.path));
    await using folder = await openFolder(parent).catch(() => undefined);
    yield folder === undefined
      ? { file, state: "lost" }
      : { file: { ...file, folder }, state: "open" };
  }
}

/** Disables config, preprocessors, ignore files, other encodings, and binary detection. */
const OPTIONS = [
  "--no-config",
  "--no-pre",
  "--no-ignore",
  "--no-mmap",
  "--no-messages",
  "--hidden",
  "--text",
  "--encoding=none",
  "--case-sensitive",
  "--color=never",
  "--files-with-matches",
  "--null",
  "--fixed-strings",
];
const TIMEOUT_MS = 30_000;
const LIMITS = {
  stdoutBytes: 2 * MAX_ARGUMENT_BYTES,
  stderrBytes: 1024,
  killGraceMs: 100,
  pipeGraceMs: 100,
};

/** Empty if ripgrep failed on any file, such as an unreadable one. */
async function findExcluded(
  batch: readonly ListedFile[],
  { program, root, required, signal }: RipgrepSearch,
): Promise<ReadonlySet<string>> {
  const paths = batch.flatMap(({ file, isPlain: isExcludable }) => (isExcludable ? file.path : []));
  const patterns = required.map((text) => `--regexp=${text}`);
  const end = await runProcess({
    program,
    args: [...OPTIONS, ...patterns, "--", ...paths.map((each) => `./${each}`)],
    cwd: root,
    variables: {},
    input: "",
    signal,
    timeoutMs: TIMEOUT_MS,
    limits: LIMITS,
  });
  // 1: no match at all. 2: an error.
  if (paths.length === 0 || end.type !== "exited" || !("status" in end.exit)) return new Set();
  if (end.exit.status > 1 || end.stdout.isTruncated) return new Set();
  const excluded = new Set(paths);
  for (const found of end.stdout.text.split("\0").filter(Boolean)) {
    // This is not the expected program.
    if (!excluded.delete(found.slice("./".length))) return new Set();
  }
  return excluded;
}
