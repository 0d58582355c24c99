/** An open file that jp writes. */
import {
  closeSync,
  fchmodSync,
  fdatasync,
  fsync,
  ftruncateSync,
  openSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { settled } from "../../util/index.ts";

/** The part of a `FileHandle` that writes a record. */
export interface RecordHandle extends Pick<FileHandle, "fd" | "truncate" | "datasync" | "close"> {
  write(
    bytes: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesWritten: number }>;
}

/**
 * Synchronous except for syncs: each call takes microseconds, while a `FileHandle` goes through Node's threads and
 * takes longer.
 */
export class DirectHandle implements RecordHandle, Disposable {
  readonly fd: number;

  constructor(file: string, flags: number | string, mode?: number) {
    this.fd = openSync(file, flags, mode);
  }

  // oxlint-disable-next-line max-params -- those of a `FileHandle`
  async write(bytes: Buffer, offset: number, length: number, position: number) {
    return { bytesWritten: writeSync(this.fd, bytes, offset, length, position) };
  }

  writeFile(content: Buffer): void {
    writeFileSync(this.fd, content);
  }

  chmod(mode: number): void {
    fchmodSync(this.fd, mode);
  }

  async truncate(length: number): Promise<void> {
    ftruncateSync(this.fd, length);
  }

  datasync(): Promise<void> {
    return settled((done) => fdatasync(this.fd, done));
  }

  sync(): Promise<void> {
    return settled((done) => fsync(this.fd, done));
  }

  async close(): Promise<void> {
    closeSync(this.fd);
  }

  [Symbol.dispose](): void {
    closeSync(this.fd);
  }
}
