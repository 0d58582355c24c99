/**
 * Plays the end of a process in this one: from a given step on, nothing more reaches the disk, as if the process had been
 * killed there. A write at that step is torn. Replaces functions of Node, so that our code does not know about it.
 */
import fs from "node:fs";
import { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

type Operation = (this: unknown, ...given: unknown[]) => unknown;

const SYNC = ["writeSync", "renameSync", "writeFileSync", "mkdirSync", "rmSync"];
const PROMISED = ["rename", "rm", "rmdir", "unlink", "symlink", "link", "mkdir", "chmod"];
const HANDLED = ["write", "writeFile", "sync", "chmod"];

export class DyingDisk implements AsyncDisposable {
  /** The steps so far. */
  steps = 0;
  readonly #diesAt: number;
  readonly #undo: (() => void)[] = [];

  private constructor(diesAt: number) {
    this.#diesAt = diesAt;
  }

  /** Infinite to count the steps. */
  static async install(diesAt: number): Promise<DyingDisk> {
    const disk = new DyingDisk(diesAt);
    await using handle = await open("/dev/null", "r");
    const handles = Object.getPrototypeOf(handle) as object;
    for (const name of SYNC) disk.#replace(fs, name);
    for (const name of PROMISED) disk.#replaceAsync(fs.promises, name);
    for (const name of HANDLED) disk.#replaceAsync(handles, name);
    const { fsync } = fs;
    const sync = (fd: number, done: (error: Error | null) => void) => {
      try {
        disk.#step();
        fsync(fd, done);
      } catch (error) {
        done(error as Error);
      }
    };
    Reflect.set(fs, "fsync", sync);
    disk.#undo.push(() => Reflect.set(fs, "fsync", fsync));
    syncBuiltinESMExports();
    return disk;
  }

  get isDead(): boolean {
    return this.steps >= this.#diesAt;
  }

  #step(): void {
    this.steps += 1;
    if (this.isDead) throw Object.assign(new Error("EIO: the process is gone"), { code: "EIO" });
  }

  #replace(owner: object, name: string): void {
    const original = Reflect.get(owner, name) as Operation;
    const step = (given: unknown[]) => {
      const [fd, bytes] = given;
      const isFirst = this.steps + 1 === this.#diesAt;
      if (isFirst && name === "writeSync" && Buffer.isBuffer(bytes)) {
        original.call(fs, fd, bytes.subarray(0, Math.floor(bytes.length / 2)));
      }
      this.#step();
    };
    Reflect.set(owner, name, function (this: unknown, ...given: unknown[]): unknown {
      step(given);
      return original.apply(this, given);
    });
    this.#undo.push(() => Reflect.set(owner, name, original));
  }

  #replaceAsync(owner: object, name: string): void {
    const original = Reflect.get(owner, name) as Operation;
    const step = () => this.#step();
    Reflect.set(owner, name, async function (this: unknown, ...given: unknown[]) {
      step();
      return await original.apply(this, given);
    });
    this.#undo.push(() => Reflect.set(owner, name, original));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const undo of this.#undo) undo();
    syncBuiltinESMExports();
  }
}
