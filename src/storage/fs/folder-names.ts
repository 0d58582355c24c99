/**
 * The names of the folders in a folder, remembered as long as it does not change. Whoever reads a
 * thousand conversations, one after the other, looks each of them up. Links are among them: what is
 * opened in such a folder says what is wrong with it.
 */
import { readdirSync, statSync } from "node:fs";
import { readFailed, systemCode } from "../storage-error.ts";

interface Listing {
  readonly changed: number;
  readonly names: readonly string[];
}

/** File systems tell times in steps; what changed more recently than this may change again unseen. */
const SETTLED_AFTER = 2000;

export class FolderNames {
  readonly #listings = new Map<string, Listing>();

  /** Empty if there is no such folder. */
  in(folder: string): readonly string[] {
    const changed = statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
    if (changed === undefined) return [];
    const known = this.#listings.get(folder);
    if (known?.changed === changed) return known.names;
    const names = listFolders(folder);
    if (Date.now() - changed > SETTLED_AFTER) this.#listings.set(folder, { changed, names });
    return names;
  }
}

function listFolders(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map((entry) => entry.name);
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return [];
    throw readFailed(folder, error);
  }
}
