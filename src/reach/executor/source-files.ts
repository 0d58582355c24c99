/** Describes the regular files that a command runs or reads, as far as its words say, as they are now. */
import { type BigIntStats, lstatSync, realpathSync } from "node:fs";
import path from "node:path";
import { findRelative } from "../files/index.ts";
import { resolveProgram } from "../process/index.ts";
import type { ToolSource } from "../../record/tool/index.ts";
import { canonicalJson, isJsonArray, type Json, type JsonObject } from "../../util/index.ts";
import { identifyFile, MAX_DIGESTED_BYTES, MAX_SHORT_BYTES } from "./file-identity.ts";
import type { DescribeOptions } from "./port.ts";

/** Where to look for files, and the audience of the description. */
export interface SourcePlace extends DescribeOptions {
  /** The workspace. */
  readonly root: string;
  /** The folder that names are relative to; the workspace if absent. */
  readonly folder?: string;
  readonly ignored?: readonly string[];
  /** The environment that the command gets. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The user's data folder, which keeps the digests of long files. Without it, they are kept for the process. */
  readonly dataFolder?: string | undefined;
}

/** No person would read a longer list. */
export const MAX_DESCRIBED_WORDS = 500;
/** How many folders a command may enter before jp stops looking for its files in more of them. */
const MAX_FOLDERS = 16;

/**
 * The regular files of one description. On this machine, a file is identified by its real path and its content or, if
 * that is too long, its size and change time. In shared descriptions, by its content and its path in the workspace or,
 * outside of it, its base name.
 */
export class SourceFiles {
  readonly #place: SourcePlace;
  readonly #folder: string;
  readonly #ignored: ReadonlySet<string>;
  readonly #found = new Map<string, FoundPath | undefined>();
  readonly #described = new Map<string, JsonObject>();
  /** The `#!` lines of the described files, without `#!`. */
  readonly #scripts = new Set<string>();
  /** The folders that the command may be in, in which it finds files by relative names. */
  readonly #folders: string[];
  #isComparable = true;

  constructor(place: SourcePlace) {
    const { root, folder = root, ignored = [] } = place;
    this.#place = place;
    this.#folder = folder;
    this.#folders = [folder];
    this.#ignored = new Set(ignored.map((file) => path.resolve(folder, file)));
  }

  /** Compares the path as written: a link must not hide another file. */
  isIgnored(file: string): boolean {
    return this.#ignored.has(path.resolve(this.#folder, file));
  }

  /** Undefined if it is not a regular file, or ignored. */
  async describe(file: string): Promise<JsonObject | undefined> {
    const found = this.isIgnored(file) ? undefined : this.#findFile(file);
    if (found === undefined) return undefined;
    const { path: real, stats } = found;
    const described = this.#described.get(real) ?? (await this.#identify(real, stats));
    this.#described.set(real, described);
    return described;
  }

  /** Describes each file once, in order, leaving out those without a description. */
  async describeAll(files: readonly string[]): Promise<readonly JsonObject[]> {
    const unique = new Map<string, JsonObject>();
    for (const file of files) {
      const described = await this.describe(file);
      if (described !== undefined) unique.set(canonicalJson(described), described);
    }
    return [...unique.values()];
  }

  /** Describes it without its content. */
  locate(file: string): JsonObject | undefined {
    const found = this.#findFile(file);
    return found && this.#nameOf(found.path);
  }

  /**
   * The program and the files that words name, with all that the command reaches through them: files named in an option
   * or an assignment, or relative to a folder that a word names, and the programs of `#!` lines.
   */
  async withReached(
    { program, file = [] }: NamedFiles,
    { words, programs = [] }: ReachingWords,
  ): Promise<Pick<ToolSource, "program" | "file" | "earlier">> {
    const earlier = this.#isComparable
      ? { program, ...(file.length > 0 && { file }) }
      : ("incomparable" as const);
    const run = isJsonArray(program) ? program : [program];
    const files = united(file, await this.describeAll(this.#reach(words)));
    const others = await this.describeAll(this.#findPrograms(programs));
    const added = united(run, [...others, ...(await this.#describeInterpreters())]);
    const isSame = files.length === file.length && added.length === run.length;
    return {
      program: added.length === run.length ? program : added,
      ...(files.length > 0 && { file: files }),
      ...(!(isSame && this.#isComparable) && { earlier }),
    };
  }

  async #describeInterpreters(): Promise<readonly JsonObject[]> {
    const all: JsonObject[] = [];
    // An interpreter may be a script too: the set grows.
    for (const script of this.#scripts) {
      const [interpreter = "", ...words] = script.split(/[\s'"]+/).filter((word) => word !== "");
      // Behind `env` and its like, any word may be the program.
      const names = this.#findPrograms(words.flatMap(valuesIn));
      const files = [interpreter, ...names, ...this.#reach(words)];
      all.push(...(await this.describeAll(files)));
    }
    return all;
  }

  #findPrograms(names: readonly string[]): readonly string[] {
    const place = { cwd: this.#folder, searchPath: this.#place.variables["PATH"] };
    const unique = new Set(names.filter((name) => !/^-|^$|\0/.test(name)));
    return [...unique].flatMap((name) => resolveProgram(name, place) ?? []);
  }

  /** All paths that the words may lead to. */
  #reach(words: readonly string[]): readonly string[] {
    const names = words.flatMap(valuesIn).map((name) => this.#expandHome(name));
    for (const name of names) {
      const entered = this.#folders.map((folder) => path.resolve(folder, name));
      for (const folder of entered) this.#enter(folder);
    }
    const unique = [...new Set(names)];
    return this.#folders.flatMap((folder) => unique.map((name) => path.resolve(folder, name)));
  }

  #enter(folder: string): void {
    if (this.#folders.length >= MAX_FOLDERS || this.#folders.includes(folder)) return;
    if (this.#find(folder)?.stats.isDirectory() === true) this.#folders.push(folder);
  }

  #expandHome(name: string): string {
    const home = this.#place.variables["HOME"];
    return home === undefined ? name : name.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/, () => home);
  }

  async #identify(real: string, stats: BigIntStats): Promise<JsonObject> {
    const { isShared = false, dataFolder } = this.#place;
    if (stats.size > (isShared ? MAX_DIGESTED_BYTES : MAX_SHORT_BYTES)) this.#isComparable = false;
    const { identity, script } = await identifyFile(real, stats, dataFolder);
    if (script !== undefined) this.#scripts.add(script);
    // Without a digest, it can be identified only on this machine.
    return "sha256" in identity
      ? { ...this.#nameOf(real), ...identity }
      : { path: real, ...identity };
  }

  #nameOf(real: string): JsonObject {
    if (this.#place.isShared !== true) return { path: real };
    const inside = findRelative(realpathSync.native(this.#place.root), real);
    return inside === undefined ? { name: path.basename(real) } : { path: inside };
  }

  #findFile(file: string): FoundPath | undefined {
    const found = this.#find(path.resolve(this.#folder, file));
    return found?.stats.isFile() === true ? found : undefined;
  }

  #find(file: string): FoundPath | undefined {
    if (!this.#found.has(file)) this.#found.set(file, findPath(file));
    return this.#found.get(file);
  }
}

/** The program and the files as the words name them. */
interface NamedFiles {
  readonly program: Json;
  readonly file?: readonly JsonObject[];
}

interface ReachingWords {
  readonly words: readonly string[];
  /** Names of programs that the command runs besides. */
  readonly programs?: readonly string[];
}

interface FoundPath {
  /** Without links. */
  readonly path: string;
  readonly stats: BigIntStats;
}

function findPath(file: string): FoundPath | undefined {
  try {
    const real = realpathSync.native(file);
    return { path: real, stats: lstatSync(real, { bigint: true }) };
  } catch {
    return undefined;
  }
}

/** The word itself, and the value in it: of `--file=a`, `-fa`, `VARIABLE=a` or `@a`. */
function valuesIn(word: string): readonly string[] {
  const [, value] = /^(?:[^=/]*=|-[A-Za-z]|@)(.+)$/s.exec(word) ?? [];
  return value === undefined ? [word] : [word, ...valuesIn(value)];
}

/** The values that are not among `first` are added to them. */
function united<Value extends Json>(
  first: readonly Value[],
  others: readonly Value[],
): readonly Value[] {
  const all = new Map([...first, ...others].map((value) => [canonicalJson(value), value]));
  return [...all.values()];
}
