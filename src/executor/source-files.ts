/** Describes the regular files that the words of a command name, as they are right now. */
import { type BigIntStats, lstatSync, realpathSync } from "node:fs";
import path from "node:path";
import type { Json } from "../util/index.ts";
import { identifyContent } from "./file-identity.ts";

export interface DescribedFile {
  /** Without symbolic links. */
  readonly path: string;
  readonly [key: string]: Json;
}

/** The regular files of one description. */
export class SourceFiles {
  readonly #folder: string;
  readonly #ignored: ReadonlySet<string>;
  readonly #described = new Map<string, DescribedFile>();

  constructor(folder: string, ignored: readonly string[] = []) {
    this.#folder = folder;
    this.#ignored = new Set(ignored.map((file) => path.resolve(folder, file)));
  }

  /** By its path as it is written: a link must not hide another file. */
  isIgnored(file: string): boolean {
    return this.#ignored.has(path.resolve(this.#folder, file));
  }

  /** Undefined if it is not a regular file, or ignored. */
  describe(file: string): DescribedFile | undefined {
    const found = this.isIgnored(file) ? undefined : this.#find(file);
    if (found === undefined) return undefined;
    const { path: real, stats } = found;
    const described = this.#described.get(real) ?? { path: real, ...identifyContent(real, stats) };
    this.#described.set(real, described);
    return described;
  }

  /** Without its content. */
  locate(file: string): DescribedFile | undefined {
    const found = this.#find(file);
    return found && { path: found.path };
  }

  #find(file: string): { readonly path: string; readonly stats: BigIntStats } | undefined {
    try {
      const real = realpathSync.native(path.resolve(this.#folder, file));
      const stats = lstatSync(real, { bigint: true });
      return stats.isFile() ? { path: real, stats } : undefined;
    } catch {
      return undefined;
    }
  }
}
