/** The output of a command: its start and end for a model, and all of it in a file if that is longer. */
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { randomName } from "../../util/index.ts";

export interface OutputLimits {
  /** Limit for the start, and for the end. */
  readonly shownBytes: number;
  /** The folder for longer output. Created if missing. */
  readonly folder: string;
  /** The limit per saved output. */
  readonly keptBytes: number;
}

/** Beyond this, the oldest are removed. */
const MAX_FILES = 50;

export class CommandOutput implements Disposable {
  readonly #limits: OutputLimits;
  #head: Buffer = Buffer.alloc(0);
  #tail: Buffer = Buffer.alloc(0);
  #total = 0;
  #file: { readonly name: string; readonly fd: number } | undefined;
  #problem: unknown;

  constructor(limits: OutputLimits) {
    this.#limits = limits;
  }

  /** Never throws: output that cannot be saved is only shown. */
  add(chunk: Buffer): void {
    const { shownBytes } = this.#limits;
    const before = this.#total;
    this.#total += chunk.length;
    const rest = Math.max(0, shownBytes - this.#head.length);
    if (rest > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, rest)]);
    const beyond = chunk.subarray(rest);
    const seen = this.#tail;
    this.#tail = Buffer.concat([seen, beyond]).subarray(-shownBytes);
    if (this.#total <= 2 * shownBytes) return;
    if (before <= 2 * shownBytes) this.#keep(Buffer.concat([this.#head, seen, beyond]), 0);
    else this.#keep(chunk, before);
  }

  get totalBytes(): number {
    return this.#total;
  }

  /** Undefined if all of it is shown, or it could not be saved. */
  get file(): string | undefined {
    return this.#problem === undefined ? this.#file?.name : undefined;
  }

  get isKeptWhole(): boolean {
    return this.file !== undefined && this.#total <= this.#limits.keptBytes;
  }

  /** `middle` replaces the omitted part. */
  toText(middle: string): string {
    const isWhole = this.#total <= 2 * this.#limits.shownBytes;
    if (isWhole) return toPlainText(Buffer.concat([this.#head, this.#tail]));
    return `${toPlainText(withoutPartAtEnd(this.#head))}\n${middle}\n${toPlainText(withoutPartAtStart(this.#tail))}`;
  }

  #keep(bytes: Buffer, position: number): void {
    if (this.#problem !== undefined) return;
    try {
      this.#file ??= createFile(this.#limits.folder);
      const kept = bytes.subarray(0, Math.max(0, this.#limits.keptBytes - position));
      for (let at = 0; at < kept.length;) at += writeSync(this.#file.fd, kept, at);
    } catch (error) {
      this.#problem = error;
    }
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file.fd);
  }
}

/** Readable only by its owner, because commands print secrets. */
function createFile(folder: string): { readonly name: string; readonly fd: number } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const names = readdirSync(folder).filter((name) => name.endsWith(".log"));
  for (const old of names.toSorted().slice(0, -(MAX_FILES - 1)))
    rmSync(path.join(folder, old), { force: true });
  const time = new Date().toISOString().replaceAll(/[-:.]/g, "");
  const name = path.join(folder, `${time}-${randomName()}.log`);
  return { name, fd: openSync(name, "wx", 0o600) };
}

/** Removes colours and other controls; an overwritten line, such as progress, counts as a line. */
function toPlainText(bytes: Buffer): string {
  return (
    stripVTControlCharacters(bytes.toString())
      .replaceAll(/\r\n?/g, "\n")
      // oxlint-disable-next-line no-control-regex -- These are meant.
      .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd")
  );
}

/** Drops the bytes of a truncated character. */
function withoutPartAtEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? bytes.subarray(0, -back) : bytes;
    }
  }
  return bytes;
}

function withoutPartAtStart(bytes: Buffer): Buffer {
  const start = bytes.subarray(0, 4).findIndex((byte) => byte < 0x80 || byte >= 0xc0);
  return start === -1 ? bytes : bytes.subarray(start);
}
