/** A small file in the user's data folder that controls access, such as the people who may use the desk. */
import {
  type BigIntStats,
  type Stats,
  closeSync,
  fstatSync,
  lstatSync,
  readFileSync,
  rmSync,
} from "node:fs";
import path from "node:path";
import { systemErrorCode } from "../../util/index.ts";
import { UnsafePathError } from "../storage-error.ts";
import { makeFolder, writeDurably } from "./durable.ts";
import { withFileLock } from "./lock.ts";
import { openRegularFile } from "./safe-open.ts";

/** The format of the file. */
export interface PrivateFileOptions<Value> {
  /** The value if there is no file. */
  readonly empty: Value;
  /** Throws if the text is invalid. */
  readonly parse: (text: string) => Value;
  readonly format: (value: Value) => string;
  /**
   * Called once for each version of the file that is damaged, or that someone else could have written or read. Returns
   * the value to use instead, which the next change stores. May throw: then nothing is changed.
   */
  readonly onInvalid: (file: string, error: unknown) => Value;
}

/**
 * Rereads the file when it has changed, so that a change by another process takes effect at once. Changes wait for each
 * other, across processes, so none is lost.
 */
export class PrivateFile<Value> {
  readonly #file: string;
  readonly #options: PrivateFileOptions<Value>;
  #cached: { readonly version: string; readonly value: Value } | undefined;
  /** Changes run in the order they were requested. */
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(file: string, options: PrivateFileOptions<Value>) {
    this.#file = file;
    this.#options = options;
  }

  /** Throws what `onInvalid` throws. */
  read(): Value {
    const stats = findStats(this.#file);
    if (stats === undefined) return this.#options.empty;
    // A change replaces the file, so its inode changes.
    const version = `${stats.ino} ${stats.ctimeNs} ${stats.size}`;
    if (this.#cached?.version !== version) this.#cached = { version, value: this.#parse() };
    return this.#cached.value;
  }

  /** `change` returns undefined if there is nothing to do. Throws what it throws, and `write_failed`. */
  async change(change: (value: Value) => Value | undefined): Promise<void> {
    const write = async () => {
      await makeFolder(path.dirname(this.#file), 0o700);
      await withFileLock(`${this.#file}.lock`, () => this.#write(change));
    };
    const done = this.#lastChange.then(write, write);
    this.#lastChange = done;
    await done;
  }

  async #write(change: (value: Value) => Value | undefined): Promise<void> {
    const value = change(this.read());
    if (value === undefined) return;
    const stats = lstatSync(this.#file, { throwIfNoEntry: false });
    // Otherwise the new file would get the mode of the old one.
    if (stats !== undefined && findDanger(stats) !== undefined) rmSync(this.#file);
    await writeDurably(this.#file, Buffer.from(this.#options.format(value)), 0o600);
  }

  #parse(): Value {
    const { empty, parse, onInvalid } = this.#options;
    try {
      return parse(readPrivate(this.#file));
    } catch (error) {
      return systemErrorCode(error) === "ENOENT" ? empty : onInvalid(this.#file, error);
    }
  }
}

/** Throws `UnsafePathError`, also if someone else could have written or read it, and system errors. */
export function readPrivate(file: string): string {
  const { fd } = openRegularFile(file);
  try {
    const danger = findDanger(fstatSync(fd));
    if (danger !== undefined) throw new UnsafePathError(danger);
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

/** On Windows, Node shows neither owners nor modes. */
function findDanger({ uid, mode }: Stats): string | undefined {
  const user = process.getuid?.();
  if (user === undefined) return undefined;
  if (uid !== user) return "it belongs to another user";
  return (mode & 0o077) === 0 ? undefined : "other users may read or write it";
}

/** Undefined if it does not exist, or cannot. */
function findStats(file: string): BigIntStats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false, bigint: true });
  } catch (error) {
    if (systemErrorCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}
