/** Contents of files, each stored once under its digest. A crash never leaves a partial one under a digest. */
import {
  closeSync,
  existsSync,
  fsync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { JpError, randomName, settled, sha256, systemErrorCode } from "../../util/index.ts";

/** Only the user may read stored contents. */
export const OWNER_FOLDER = 0o700;
export const OWNER_FILE = 0o600;

/** Contents without a reference are deleted only after this time: another process may be about to refer to them. */
const GRACE_MS = 60 * 60 * 1000;
const CHUNK_BYTES = 1024 * 1024;

export interface PutOptions {
  /**
   * Whether it is on disk when this resolves. Otherwise it survives a crash of the process, but perhaps not of the
   * machine.
   */
  readonly isDurable: boolean;
}

export class Contents {
  readonly #folder: string;
  /** When known contents were last used, in milliseconds since the epoch. */
  readonly #known = new Map<string, number>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Throws system errors. */
  async put(bytes: Buffer, { isDurable }: PutOptions): Promise<string> {
    const digest = sha256(bytes);
    if (this.#has(digest)) return digest;
    const temporary = this.#temporary();
    await this.#write(temporary, { isDurable }, (fd) => writeAll(fd, bytes));
    await this.#moveIn(temporary, digest, isDurable);
    return digest;
  }

  /** Stores the content of an open file, in chunks of bounded size. Throws system errors. */
  async putFile(
    source: number,
    { isDurable }: PutOptions,
  ): Promise<{ digest: string; size: number }> {
    const { createHash } = process.getBuiltinModule("node:crypto"); // Slow to load at start-up.
    const hash = createHash("sha256");
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const first = readSync(source, chunk, 0, chunk.length, 0);
    if (first < chunk.length) {
      const bytes = chunk.subarray(0, first);
      return { digest: await this.put(bytes, { isDurable }), size: first };
    }
    const temporary = this.#temporary();
    let size = 0;
    await this.#write(temporary, { isDurable }, (fd) => {
      for (;;) {
        const length = readSync(source, chunk, 0, chunk.length, size);
        if (length === 0) return;
        const bytes = chunk.subarray(0, length);
        hash.update(bytes);
        writeAll(fd, bytes);
        size += length;
      }
    });
    const digest = hash.digest("hex");
    if (this.#has(digest)) rmSync(temporary, { force: true });
    else await this.#moveIn(temporary, digest, isDurable);
    return { digest, size };
  }

  /** Throws `kept_content_lost` if it is missing or damaged. */
  get(digest: string): Buffer {
    const bytes = readKept(this.#fileOf(digest));
    if (bytes !== undefined && sha256(bytes) === digest) return bytes;
    const message = `A file that was kept is missing or damaged: ${this.#fileOf(digest)}`;
    throw new JpError("kept_content_lost", message);
  }

  /** Whether it is there, and protects it from deletion for a while. */
  has(digest: string): boolean {
    return this.#has(digest);
  }

  /** All contents, oldest first. */
  list(): readonly StoredContent[] {
    const stored = listNames(this.#folder).flatMap((parent) =>
      listNames(path.join(this.#folder, parent)).flatMap((name): StoredContent[] => {
        const file = path.join(this.#folder, parent, name);
        const stats = statSync(file, { throwIfNoEntry: false });
        if (stats === undefined) return [];
        return [{ digest: `${parent}${name}`, file, size: stats.size, usedAt: stats.mtimeMs }];
      }),
    );
    return stored.toSorted((left, right) => left.usedAt - right.usedAt);
  }

  /** Deletes contents that are not in `used`, unless they were used recently. Returns the size of the rest. */
  prune(used: ReadonlySet<string>, now: Date): number {
    let size = 0;
    removeTorn(this.#folder, now);
    for (const { digest, file, size: bytes, usedAt } of this.list()) {
      if (used.has(digest) || now.getTime() - usedAt < GRACE_MS) size += bytes;
      else {
        this.#known.delete(digest);
        rmSync(file, { force: true });
      }
    }
    return size;
  }

  #has(digest: string): boolean {
    const now = new Date();
    const usedAt = this.#known.get(digest);
    if (usedAt !== undefined && now.getTime() - usedAt < GRACE_MS / 2) return true;
    try {
      utimesSync(this.#fileOf(digest), now, now); // Protects it from deletion.
      this.#known.set(digest, now.getTime());
      return true;
    } catch (error) {
      if (systemErrorCode(error) === "ENOENT") return false;
      throw error;
    }
  }

  #fileOf(digest: string): string {
    return path.join(this.#folder, digest.slice(0, 2), digest.slice(2));
  }

  #temporary(): string {
    mkdirSync(this.#folder, { recursive: true, mode: OWNER_FOLDER });
    return path.join(this.#folder, `${randomName()}.tmp`);
  }

  async #write(
    temporary: string,
    { isDurable }: PutOptions,
    write: (fd: number) => void,
  ): Promise<void> {
    const fd = openSync(temporary, "wx", OWNER_FILE);
    try {
      write(fd);
      if (isDurable) await settled((done) => fsync(fd, done));
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    } finally {
      closeSync(fd);
    }
  }

  async #moveIn(temporary: string, digest: string, isDurable: boolean): Promise<void> {
    const file = this.#fileOf(digest);
    const parent = path.dirname(file);
    const isNew = mkdirSync(parent, { recursive: true, mode: OWNER_FOLDER }) !== undefined;
    renameSync(temporary, file);
    if (isDurable) {
      await syncFolder(parent);
      if (isNew) await syncFolder(this.#folder);
    }
    this.#known.set(digest, Date.now());
  }
}

export interface StoredContent {
  readonly digest: string;
  readonly file: string;
  readonly size: number;
  /** In milliseconds since the epoch. */
  readonly usedAt: number;
}

export function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at);
}

/** A created or renamed file is on disk only after its folder has been synced. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return; // Folders cannot be opened there.
  const fd = openSync(folder, "r");
  try {
    await settled((done) => fsync(fd, done));
  } finally {
    closeSync(fd);
  }
}

/** Removes leftovers of killed processes. */
export function removeTorn(folder: string, now: Date): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".tmp"))) {
    const file = path.join(folder, name);
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats !== undefined && now.getTime() - stats.mtimeMs >= GRACE_MS) rmSync(file);
  }
}

export function listNames(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !name.endsWith(".tmp"))
    .map(({ name }) => name)
    .toSorted();
}

function readKept(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
