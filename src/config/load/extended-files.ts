/** The files that an entry of `extends` means. */
import { globSync } from "node:fs";
import path from "node:path";
import type { PartialConfig } from "../schema/config-schema.ts";
import { EXTENSIONS, isFile } from "./config-file.ts";

export interface ExtendedFiles {
  /** As it is written. */
  readonly pattern: string;
  /** In the order of their names. */
  readonly files: readonly string[];
  /** They come over the file that extends them, and not under it. */
  readonly isAfter: boolean;
  /** One file was meant, and it is not there. */
  readonly isMissing: boolean;
}

type Extends = NonNullable<PartialConfig["extends"]>[number];

/** Relative to the file it stands in, which is never one of them. */
export function findExtended(file: string, entry: Extends): ExtendedFiles {
  const { path: pattern, strategy = "before" } =
    typeof entry === "string" ? { path: entry } : entry;
  const cwd = path.dirname(file);
  const literal = path.resolve(cwd, pattern);
  const isNamed = isFile(literal);
  const files = isNamed ? [literal] : matching(pattern, cwd).filter((found) => found !== file);
  const isMissing = !isNamed && !/[*?[\]{}()!]/.test(pattern);
  return { pattern, files, isAfter: strategy === "after", isMissing };
}

function matching(pattern: string, cwd: string): readonly string[] {
  return globSync(pattern, { cwd })
    .map((name) => path.resolve(cwd, name))
    .filter((name) => EXTENSIONS.some((extension) => name.endsWith(`.${extension}`)))
    .filter(isFile)
    .toSorted();
}
