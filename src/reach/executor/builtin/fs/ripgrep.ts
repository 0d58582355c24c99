/**
 * Asks ripgrep, if there is one, which of many files cannot have a match, so that they need not be read here. What it finds is
 * never shown: every other file is searched as without it, so the results are the same.
 */
import { lstatSync, realpathSync } from "node:fs";
import path from "node:path";
import { type FoundFile, openFolder } from "../../../files/index.ts";
import { findProgram, runProcess } from "../../../process/index.ts";
import { MAX_FILE_BYTES } from "./save-file.ts";

export interface RipgrepPlaces {
  /** Without links. */
  readonly root: string;
  /** The `PATH`. Without one, there is none. */
  readonly searchPath: string | undefined;
}

/** The user's own program. A workspace cannot provide it: folders of the `PATH` that are relative, or inside it, do not count. */
export function findRipgrep({ root, searchPath }: RipgrepPlaces): string | undefined {
  // Windows limits command lines to a size at which it is not worth it.
  if (searchPath === undefined || process.platform === "win32") return undefined;
  const isOutside = (file: string) => {
    const relative = path.relative(root, realPathOf(file));
    return relative === ".." || relative.startsWith(`..${path.sep}`);
  };
  const folders = searchPath
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder) && isOutside(folder));
  const found = findProgram("rg", folders.join(path.delimiter));
  return found !== undefined && isOutside(found) ? found : undefined;
}

function realPathOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

export interface RipgrepSearch {
  readonly program: string;
  /** Without links; the paths of the files are relative to it. */
  readonly root: string;
  /** A file without any of these texts has no match. */
  readonly required: readonly string[];
  /** How many files to leave to the search itself: if there are not more, no process starts. */
  readonly after: number;
  readonly signal: AbortSignal;
}

/** A file to search. */
export interface Candidate {
  readonly file: FoundFile;
  /** `excluded`: it has no match, and nothing about it needs to be reported. `lost`: its folder cannot be opened again. */
  readonly state: "open" | "excluded" | "lost";
}

/** All files, in their order. */
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

/** Systems allow at least a quarter of a megabyte. On Linux each argument has a pointer of its own. */
const MAX_ARGUMENT_BYTES = 200_000;
const PATH_OVERHEAD = 12;
/** ripgrep itself uses all processors. One more is prepared meanwhile. */
const MAX_RUNNING = 1;

interface ListedFile {
  readonly file: FoundFile;
  /** An ordinary file of which nothing would be reported. */
  readonly isPlain: boolean;
}

interface Batch {
  readonly files: readonly ListedFile[];
  /** The paths of those that have no match. */
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

/** The folder of each file was closed when the walk went on. */
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

/** No config, no preprocessor, no ignore files, no other encoding, no guesses about binary files. */
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

/** None, if ripgrep failed on any of them: one that it cannot read, for example. */
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
  // 1: there is no match at all. 2: there was an error.
  if (paths.length === 0 || end.type !== "exited" || !("status" in end.exit)) return new Set();
  if (end.exit.status > 1 || end.stdout.isTruncated) return new Set();
  const excluded = new Set(paths);
  for (const found of end.stdout.text.split("\0").filter(Boolean)) {
    // It is not the program that was expected.
    if (!excluded.delete(found.slice("./".length))) return new Set();
  }
  return excluded;
}
