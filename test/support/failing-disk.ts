/** A real file whose operations fail on request. */
import { readFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { OpenFile } from "../../src/stores/index.ts";

type Operation = "write" | "truncate" | "datasync" | "close";

interface PlannedFailure {
  readonly operation: Operation;
  readonly code: string;
  /** The number of bytes written before the failure. */
  readonly after: number;
}

export class FailingDisk {
  /** The file's content after each operation that changed it. */
  readonly states: Buffer[] = [];
  /** Called before each sync, which waits for it. */
  onSync: () => void | Promise<void> = () => undefined;
  readonly #plan: PlannedFailure[] = [];

  /** Makes the next call of this operation fail once. Failures happen in the order they are planned. */
  failNext(operation: Operation, code: string, after = 0): void {
    this.#plan.push({ operation, code, after });
  }

  /** For the `openFile` option of a workspace. */
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
      datasync: async () => {
        await this.onSync();
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
