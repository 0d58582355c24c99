/** A file that a command writes for the user, under a name that was free. */
import { closeSync, openSync, rmSync, writeFileSync } from "node:fs";
import { JpError, systemErrorCode } from "../util/index.ts";

/** Readable only by its owner. Removed again unless it is complete. */
export class NewFile implements Disposable {
  readonly #file: string;
  readonly #descriptor: number;
  #isWhole = false;

  /** Throws `file_not_written`. */
  constructor(file: string) {
    this.#file = file;
    this.#descriptor = this.#try(() => openSync(file, "wx", 0o600));
  }

  /** Throws `file_not_written`. */
  write(data: string | Uint8Array): void {
    this.#try(() => writeFileSync(this.#descriptor, data));
  }

  keep(): void {
    this.#isWhole = true;
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
    if (!this.#isWhole) rmSync(this.#file, { force: true });
  }

  #try<Result>(action: () => Result): Result {
    try {
      return action();
    } catch (cause) {
      const reason = systemErrorCode(cause) ?? "";
      throw new JpError("file_not_written", `${this.#file} could not be written: ${reason}.`, {
        cause,
        ...(reason === "EEXIST" && { hint: "Choose another name, or delete it first." }),
      });
    }
  }
}
