/**
 * Finds workspace files by fragments of their paths, for completion. Files are listed in the background, so that
 * typing never waits for a disk.
 */
import path from "node:path";
import { namesSecretFile } from "../../../settings/config/index.ts";
import { type Clock, loadModule } from "../../../util/index.ts";

export interface FileSearchOptions {
  /** Finds the files below it, except those that Git ignores. */
  readonly root: string;
  /** Paths are relative to it. */
  readonly folder: string;
  readonly clock: Clock;
  /** Ends the listing. */
  readonly signal: AbortSignal;
  /** Called when the list of files has changed. */
  readonly onListed: () => void;
}

/** More would slow down typing. Other files are found by their folder. */
const MAX_FILES = 50_000;
/** How long a listing stays fresh. */
const FRESH_MS = 5000;

export class FileSearch {
  readonly #options: FileSearchOptions;
  #files: readonly string[] = [];
  #listedAt = Number.NEGATIVE_INFINITY;
  #isListing = false;
  #last: { readonly word: string; readonly found: readonly string[] } | undefined;

  constructor(options: FileSearchOptions) {
    this.#options = options;
  }

  /** True while files are being listed and none is known yet. */
  get isListing(): boolean {
    return this.#isListing && this.#files.length === 0;
  }

  /** Best match first. Empty without a fragment. */
  find(word: string): readonly string[] {
    this.#refresh();
    if (this.#last?.word !== word) this.#last = { word, found: matchFiles(this.#files, word) };
    return this.#last.found;
  }

  #refresh(): void {
    const { clock, signal } = this.#options;
    const age = clock.now().getTime() - this.#listedAt;
    if (this.#isListing || signal.aborted || (age >= 0 && age < FRESH_MS)) return;
    this.#isListing = true;
    void this.#list();
  }

  async #list(): Promise<void> {
    const { root, folder, clock, signal, onListed } = this.#options;
    const files: string[] = [];
    try {
      const { resolvePath, walkFiles } = await loadModule(
        () => import("../../../reach/files/index.ts"),
      );
      const start = await resolvePath(root, ".");
      for await (const { path: found } of walkFiles(start, { signal, onUnreadable: () => {} })) {
        const relative = path.relative(folder, path.join(root, found)).split(path.sep).join("/");
        // A name with control characters cannot be shown as it is.
        if (!/\p{Cc}/u.test(found) && !namesSecretFile(found)) files.push(relative);
        if (files.length >= MAX_FILES) break;
      }
    } catch {
      // Files that cannot be listed can still be typed.
    }
    this.#isListing = false;
    this.#listedAt = clock.now().getTime();
    if (signal.aborted) return;
    this.#files = files;
    this.#last = undefined;
    onListed();
  }
}

const MIN_PART_LENGTH = 3;
const MAX_WORD_LENGTH = 100;

/**
 * Files whose paths contain all fragments of the word, in any order and case; any character other than a letter or
 * digit ends a fragment. If no file matches, a fragment may also be split in two, as in `parsrc` for `src/parser.ts`.
 * Sorted by most fragments in the file's own name, then names that start with a fragment, then shorter paths.
 */
export function matchFiles(files: readonly string[], word: string): readonly string[] {
  const fragments = word.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  if (fragments.length === 0 || word.length > MAX_WORD_LENGTH) return [];
  const whole = rank(
    files,
    fragments.map((fragment) => [[fragment]]),
  );
  return whole.length > 0 ? whole : rank(files, fragments.map(readingsOf));
}

/** The fragment itself, and every split into two parts that are long enough to be meaningful. */
function readingsOf(fragment: string): readonly (readonly string[])[] {
  const count = Math.max(0, fragment.length - 2 * MIN_PART_LENGTH + 1);
  const ends = Array.from({ length: count }, (_, index) => index + MIN_PART_LENGTH);
  return [[fragment], ...ends.map((end) => [fragment.slice(0, end), fragment.slice(end)])];
}

/** Files that contain every fragment, in one of its readings. */
function rank(
  files: readonly string[],
  wanted: readonly (readonly (readonly string[])[])[],
): readonly string[] {
  return files
    .flatMap((file) => {
      const text = file.toLowerCase();
      const found = wanted.map((readings) =>
        readings.find((parts) => parts.every((part) => text.includes(part))),
      );
      if (found.includes(undefined)) return [];
      const fragments = found.flatMap((parts) => parts ?? []);
      const name = text.slice(text.lastIndexOf("/") + 1);
      const inName = fragments.filter((fragment) => name.includes(fragment)).length;
      const isStart = fragments.some((fragment) => name.startsWith(fragment));
      return [{ file, inName, isStart }];
    })
    .toSorted(
      (one, two) =>
        two.inName - one.inName ||
        Number(two.isStart) - Number(one.isStart) ||
        one.file.length - two.file.length ||
        (one.file < two.file ? -1 : 1),
    )
    .map(({ file }) => file);
}
