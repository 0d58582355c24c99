/** A real file on a disk that fails when it is told to. */
import { readFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { OpenFile } from "../../src/storage/index.ts";

type Operation = "write" | "truncate" | "datasync" | "close";

interface PlannedFailure {
  readonly operation: Operation;
  readonly code: string;
  /** How many bytes the write takes before it fails. */
  readonly after: number;
}

export class FailingDisk {
  /** What the file was after each operation that changed it. */
  readonly states: Buffer[] = [];
  /** Runs when data is about to be synced. */
  onSync: () => void = () => undefined;
  readonly #plan: PlannedFailure[] = [];

  /** The next call of the operation fails, once; those planned later fail after it. */
  failNext(operation: Operation, code: string, after = 0): void {
    this.#plan.push({ operation, code, after });
  }

  /** Is passed to the workspace. */
  readonly openFile: OpenFile = async (file) => {
    const handle = await open(file, "r+");
    const change = async <Value>(result: Promise<Value>): Promise<Value> => {
      const value = await result;
      this.states.push(readFileSync(file));
      return value;
    };
    const replaced = {
      write: (bytes: Buffer, offset: number, length: number, position: number) =>
        change(this.#write(handle, { bytes, offset, length, position })),
      truncate: (length: number) => {
        this.#failIfPlanned("truncate");
        return change(handle.truncate(length));
      },
      datasync: () => {
        this.onSync();
        this.#failIfPlanned("datasync");
        return handle.datasync();
      },
      close: async () => {
        await handle.close();
        this.#failIfPlanned("close");
      },
    };
    return new Proxy(handle, {
      get(target, key) {
        if (Object.hasOwn(replaced, key)) return Reflect.get(replaced, key) as unknown;
        const value = Reflect.get(target, key) as unknown;
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  };

  async #write(handle: FileHandle, part: WrittenPart) {
    const failure = this.#plan[0];
    if (failure?.operation !== "write") return writePart(handle, part);
    if (failure.after === 0) this.#failIfPlanned("write");
    this.#plan[0] = { ...failure, after: 0 };
    return writePart(handle, { ...part, length: Math.min(failure.after, part.length) });
  }

  #failIfPlanned(operation: Operation): void {
    const failure = this.#plan[0];
    if (failure?.operation !== operation) return;
    this.#plan.shift();
    throw Object.assign(new Error(`${failure.code}: ${operation}`), { code: failure.code });
  }
}

interface WrittenPart {
  readonly bytes: Buffer;
  readonly offset: number;
  readonly length: number;
  readonly position: number;
}

function writePart(handle: FileHandle, { bytes, offset, length, position }: WrittenPart) {
  return handle.write(bytes, offset, length, position);
}
