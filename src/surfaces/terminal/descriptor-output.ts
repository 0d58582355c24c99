/**
 * Writes to a file or a pipe. `process.stdout` would do the same, but first loads Node's streams and sockets, which
 * takes longer than the rest of a short command.
 */
import { writeSync } from "node:fs";
import { systemErrorCode } from "../../util/index.ts";

type ErrorListener = (error: NodeJS.ErrnoException) => void;

/** The part of a stream that output needs. */
export interface OutputStream {
  readonly isTTY: boolean;
  readonly columns: number;
  write(text: string): unknown;
  on(event: "error", listener: ErrorListener): unknown;
}

export class DescriptorOutput implements OutputStream {
  readonly isTTY = false;
  readonly columns = 0;
  readonly #descriptor: number;
  readonly #openStream: () => OutputStream;
  readonly #listeners: ErrorListener[] = [];
  /** Opened on demand. */
  #stream: OutputStream | undefined;
  #isBroken = false;

  /** `openStream` opens a stream for the same descriptor. */
  constructor(descriptor: number, openStream: () => OutputStream) {
    this.#descriptor = descriptor;
    this.#openStream = openStream;
  }

  write(text: string): void {
    if (this.#stream !== undefined) this.#stream.write(text);
    else if (!this.#isBroken) this.#writeAll(Buffer.from(text));
  }

  on(_event: "error", listener: ErrorListener): void {
    this.#listeners.push(listener);
    this.#stream?.on("error", listener);
  }

  #writeAll(bytes: Buffer): void {
    let rest = bytes;
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#descriptor, rest));
    } catch (error) {
      // If another process made a full pipe non-blocking, the stream has to wait for it.
      if (systemErrorCode(error) === "EAGAIN") this.#useStream(rest);
      else this.#fail(error as NodeJS.ErrnoException); // A system error.
    }
  }

  #useStream(rest: Buffer): void {
    this.#stream = this.#openStream();
    for (const listener of this.#listeners) this.#stream.on("error", listener);
    this.#stream.write(rest.toString());
  }

  /** Asynchronous, like a stream's errors: the writer does not expect an exception. */
  #fail(error: NodeJS.ErrnoException): void {
    this.#isBroken = true;
    process.nextTick(() => this.#listeners.forEach((listener) => listener(error)));
  }
}
