/** Maps the code of a built file to its source file, using the source maps in `dist/maps`. */
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import path from "node:path";
import { WRAPPER } from "../../src/cli/code-loader.ts";
import { JP } from "../measure.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");
const DIST = path.join(ROOT, "dist");
/** A package's file, in any `node_modules`. */
const PACKAGE_FILE = /^.*\bnode_modules\/((?:@[^/]+\/)?[^/]+)/;

const NO_MAP = '{ "version": 3, "sources": [], "mappings": "" }';

/** A built file. */
export class BuiltFile {
  readonly bytes: number;
  /** Paths such as `src/core/agent/turn.ts`, and package names. */
  readonly modules: readonly string[];
  readonly #map: SourceMap;
  readonly #folder: string;
  readonly #lines: readonly number[];
  /** The length of the wrapper in front of it. */
  readonly #before: number;

  constructor(file: string) {
    const relative = path.relative(DIST, file);
    const map = path.join(DIST, "maps", `${relative}.map`);
    this.#folder = path.dirname(file);
    this.#before = this.#folder === path.dirname(JP) && file !== JP ? WRAPPER.length : 0;
    const text = readFileSync(file, "utf8");
    this.bytes = Buffer.byteLength(text);
    // A file that only re-exports has no map.
    const content = JSON.parse(existsSync(map) ? readFileSync(map, "utf8") : NO_MAP) as {
      readonly sources: readonly string[];
    };
    this.modules = [...new Set(content.sources.map((source) => this.#nameOf(source)))].toSorted();
    this.#map = new SourceMap(content as ConstructorParameters<typeof SourceMap>[0]);
    this.#lines = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  }

  /** The module of the code at an offset in the compiled text. */
  moduleAt(place: number): string | undefined {
    const offset = Math.max(0, place - this.#before);
    const line = this.#lines.findLastIndex((start) => start <= offset);
    return this.moduleOf(line, offset - (this.#lines[line] ?? 0));
  }

  /** The module by line and column, which start at 0. Undefined for the bundler's own code. */
  moduleOf(line: number, column: number): string | undefined {
    const entry: { readonly originalSource?: string } = this.#map.findEntry(line, column);
    return entry.originalSource === undefined ? undefined : this.#nameOf(entry.originalSource);
  }

  #nameOf(source: string): string {
    const [, owner] = PACKAGE_FILE.exec(source) ?? [];
    return owner ?? path.relative(ROOT, path.resolve(this.#folder, source));
  }
}

/** Undefined for files that are not part of the build, such as Node's. */
export function builtFileOf(url: string): string | undefined {
  const file = url.startsWith("file://") ? new URL(url).pathname : url;
  return file.startsWith(`${DIST}/`) ? file : undefined;
}

/** The folder of one of our modules, at most two levels below `src`, such as `src/core/agent`, or the package. */
export function groupOf(module: string): string {
  if (!module.startsWith("src/")) return module;
  return module.split("/").slice(0, -1).slice(0, 3).join("/");
}
