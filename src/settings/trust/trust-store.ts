/**
 * Stores what a user has trusted, as digests, outside the workspace. Instructions are stored in full, to show the user
 * later changes. The file is tied to the path of the workspace: a clone elsewhere is not trusted, even with the same id.
 */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import {
  makeFolder,
  OWNER_FILE,
  OWNER_FOLDER,
  securePrivateFolder,
  StorageError,
  writeDurably,
} from "../../stores/index.ts";
import { isJsonObject } from "../../util/index.ts";

export class TrustStore {
  readonly #folder: string;
  readonly #root: string;

  constructor(dataFolder: string, root: string) {
    this.#folder = path.join(dataFolder, "trust");
    this.#root = root;
  }

  /** Returns the trusted texts. */
  async filterTrusted(texts: readonly string[]): Promise<ReadonlySet<string>> {
    const { file, digestOf } = this.#open();
    const { digests } = readStored(file);
    return new Set(texts.filter((text) => digests.has(digestOf(text))));
  }

  /** The instructions that were trusted last, by file name. */
  trustedTexts(): ReadonlyMap<string, string> {
    return readStored(this.#open().file).shown;
  }

  /** `shown` has instructions that the user has seen. Throws `write_failed`. */
  async add(
    texts: readonly string[],
    shown: ReadonlyMap<string, string> = new Map(),
  ): Promise<void> {
    if (texts.length === 0) return;
    const { root, file, digestOf } = this.#open();
    const stored = readStored(file);
    const all = new Set([...stored.digests, ...texts.map(digestOf)]);
    if (all.size === stored.digests.size && shown.size === 0) return;
    await makeFolder(this.#folder, OWNER_FOLDER);
    const instructions = Object.fromEntries([...stored.shown, ...shown]);
    const json = JSON.stringify({ workspace: root, trusted: [...all], instructions }, null, 2);
    await writeDurably(file, Buffer.from(`${json}\n`), OWNER_FILE);
  }

  /** Throws `write_failed`. */
  async clear(): Promise<void> {
    const { file } = this.#open();
    try {
      await rm(file, { force: true });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new StorageError("write_failed", `Cannot delete ${file}: ${reason}`, { cause });
    }
  }

  #open() {
    const root = realpathSync(this.#root);
    securePrivateFolder(this.#folder);
    const { createHash } = process.getBuiltinModule("node:crypto"); // Slow to load at start-up.
    const hash = (text: string) => createHash("sha256").update(text).digest("hex");
    return {
      root,
      file: path.join(this.#folder, `${hash(root)}.json`),
      digestOf: (text: string) => hash(`${root}\0${text}`),
    };
  }
}

interface Stored {
  readonly digests: ReadonlySet<unknown>;
  readonly shown: ReadonlyMap<string, string>;
}

const NOTHING: Stored = { digests: new Set(), shown: new Map() };

/** Nothing is trusted if the file cannot be read, or could have been written by someone else. */
function readStored(file: string): Stored {
  try {
    const { uid, mode } = statSync(file);
    const user = process.geteuid?.();
    const isOwn = user === undefined || (uid === user && (mode & 0o022) === 0);
    const value: unknown = isOwn ? JSON.parse(readFileSync(file, "utf8")) : undefined;
    const { trusted, instructions } = isJsonObject(value) ? value : {};
    const shown = Object.entries(isJsonObject(instructions) ? instructions : {});
    return {
      digests: new Set(Array.isArray(trusted) ? trusted : []),
      shown: new Map(
        shown.flatMap(([name, text]) => (typeof text === "string" ? [[name, text]] : [])),
      ),
    };
  } catch {
    return NOTHING;
  }
}
