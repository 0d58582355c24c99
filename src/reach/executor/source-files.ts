/** Describes the regular files that the words of a command name, as they are now. */
import { type BigIntStats, lstatSync, realpathSync } from "node:fs";
import path from "node:path";
import { findRelative } from "../files/index.ts";
import { canonicalJson, type JsonObject } from "../../util/index.ts";
import { digestContent, identifyContent } from "./file-identity.ts";
import type { DescribeOptions } from "./port.ts";

/** Where to look for files, and the audience of the description. */
export interface SourcePlace extends DescribeOptions {
  /** The workspace. */
  readonly root: string;
  /** The folder that names are relative to; the workspace if absent. */
  readonly folder?: string;
  readonly ignored?: readonly string[];
}

/**
 * The regular files of one description. On this machine, a file is identified by its real path and its content or, if
 * that is long, its size and time. In shared descriptions, by its content and its path in the workspace or, outside of
 * it, its base name.
 */
export class SourceFiles {
  readonly #root: string;
  readonly #folder: string;
  readonly #isShared: boolean;
  readonly #ignored: ReadonlySet<string>;
  readonly #described = new Map<string, JsonObject>();

  constructor({ root, folder = root, ignored = [], isShared = false }: SourcePlace) {
    this.#root = root;
    this.#folder = folder;
    this.#isShared = isShared;
    this.#ignored = new Set(ignored.map((file) => path.resolve(folder, file)));
  }

  /** Compares the path as written: a link must not hide another file. */
  isIgnored(file: string): boolean {
    return this.#ignored.has(path.resolve(this.#folder, file));
  }

  /** Undefined if it is not a regular file, or ignored. */
  async describe(file: string): Promise<JsonObject | undefined> {
    const found = this.isIgnored(file) ? undefined : this.#find(file);
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
    const found = this.#find(file);
    return found && this.#nameOf(found.path);
  }

  async #identify(real: string, stats: BigIntStats): Promise<JsonObject> {
    const sha256 = this.#isShared ? await digestContent(real, stats) : undefined;
    if (sha256 !== undefined) return { ...this.#nameOf(real), sha256 };
    // Without a digest, it can be identified only on this machine.
    return { path: real, ...identifyContent(real, stats) };
  }

  #nameOf(real: string): JsonObject {
    if (!this.#isShared) return { path: real };
    const inside = findRelative(realpathSync.native(this.#root), real);
    return inside === undefined ? { name: path.basename(real) } : { path: inside };
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
