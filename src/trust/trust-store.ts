/**
 * Stores what a user has trusted, as digests, outside the workspace. The file is tied to the path of the
 * workspace: a clone elsewhere is not trusted, whatever id it brings.
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
} from "../storage/index.ts";
import { isJsonObject } from "../util/index.ts";

export class TrustStore {
  readonly #folder: string;
  readonly #root: string;

  constructor(dataFolder: string, root: string) {
    this.#folder = path.join(dataFolder, "trust");
    this.#root = root;
  }

  /** Returns the texts that are trusted. */
  async filterTrusted(texts: readonly string[]): Promise<ReadonlySet<string>> {
    const { file, digestOf } = await this.#open();
    const digests = readDigests(file);
    return new Set(texts.filter((text) => digests.has(digestOf(text))));
  }

  /** Throws `write_failed`. */
  async add(texts: readonly string[]): Promise<void> {
    if (texts.length === 0) return;
    const { root, file, digestOf } = await this.#open();
    const known = readDigests(file);
    const all = new Set([...known, ...texts.map(digestOf)]);
    if (all.size === known.size) return;
    await makeFolder(this.#folder, OWNER_FOLDER);
    const json = JSON.stringify({ workspace: root, trusted: [...all] }, null, 2);
    await writeDurably(file, Buffer.from(`${json}\n`), OWNER_FILE);
  }

  /** Throws `write_failed`. */
  async clear(): Promise<void> {
    const { file } = await this.#open();
    try {
      await rm(file, { force: true });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new StorageError("write_failed", `Cannot delete ${file}: ${reason}`, { cause });
    }
  }

  async #open() {
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

/** If the file cannot be read, or someone else could have written it, nothing is trusted. */
function readDigests(file: string): ReadonlySet<unknown> {
  try {
    const { uid, mode } = statSync(file);
    const user = process.geteuid?.();
    const isOwn = user === undefined || (uid === user && (mode & 0o022) === 0);
    if (!isOwn) return new Set();
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    const trusted = isJsonObject(value) ? value["trusted"] : undefined;
    return new Set(Array.isArray(trusted) ? trusted : []);
  } catch {
    return new Set();
  }
}
