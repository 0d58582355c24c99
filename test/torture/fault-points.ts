/**
 * Intercepts system calls: counts fault points before and after every write, sync, rename, deletion and
 * spawn, and injects the planned fault there. It replaces functions of Node, so our code does not
 * know about it.
 */
import childProcess from "node:child_process";
import fs from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import type { Fault } from "./plan.ts";

type Operation = (this: unknown, ...given: unknown[]) => unknown;
/** Writes only a part of the data of the operation. */
type Tear = (self: unknown, given: readonly unknown[], share: number) => void;

/** The original functions, for everything that is not under test. */
export const writeSync = fs.writeSync;

export class FaultPoints {
  /** The fault points passed so far. */
  readonly names: string[] = [];
  readonly #fault: Fault;
  #isOver = false;

  private constructor(fault: Fault) {
    this.#fault = fault;
  }

  static async install(fault: Fault): Promise<FaultPoints> {
    const points = new FaultPoints(fault);
    await using handle = await open("/dev/null", "r");
    const handles = Object.getPrototypeOf(handle) as object;
    points.#replace(handles, "write", tearWrite);
    points.#replace(handles, "writeFile", tearWriteFile);
    for (const name of ["datasync", "sync", "truncate"]) points.#replace(handles, name);
    for (const name of ["rename", "mkdir", "rm"]) points.#replace(fs.promises, name);
    points.#replace(fs, "writeSync", tearWriteSync);
    for (const name of [
      "ftruncateSync",
      "mkdirSync",
      "renameSync",
      "rmSync",
      "unlinkSync",
      "writeFileSync",
    ]) {
      points.#replace(fs, name);
    }
    for (const name of ["fdatasync", "fsync"]) points.#replaceWithCallback(name);
    for (const name of ["spawn", "spawnSync"]) points.#replaceSpawn(name);
    syncBuiltinESMExports();
    return points;
  }

  /** Ends the fault injection. */
  end(): void {
    this.#isOver = true;
  }

  #replace(owner: object, name: string, tear?: Tear): void {
    const original = Reflect.get(owner, name) as Operation;
    const enter = (self: unknown, given: readonly unknown[]) =>
      this.#enter(name, self, given, tear);
    const leave = () => this.#pass(`after ${name}`);
    const replaced = name.endsWith("Sync")
      ? function (this: unknown, ...given: unknown[]): unknown {
          enter(this, given);
          const value = original.apply(this, given);
          leave();
          return value;
        }
      : async function (this: unknown, ...given: unknown[]): Promise<unknown> {
          enter(this, given);
          const value: unknown = await original.apply(this, given);
          leave();
          return value;
        };
    Reflect.set(owner, name, replaced);
  }

  /** A function of `fs` whose last parameter is called when it is done. */
  #replaceWithCallback(name: string): void {
    const original = Reflect.get(fs, name) as Operation;
    const replaced = (...given: unknown[]): unknown => {
      this.#enter(name, fs, given, undefined);
      const done = given.at(-1) as (error: Error | null) => void;
      const leave = (error: Error | null) => {
        if (error === null) this.#pass(`after ${name}`);
        done(error);
      };
      return original.apply(fs, [...given.slice(0, -1), leave]);
    };
    Reflect.set(fs, name, replaced);
  }

  #replaceSpawn(name: string): void {
    const original = Reflect.get(childProcess, name) as Operation;
    const replaced = (...given: unknown[]): unknown => {
      this.#pass(`before ${name}`);
      const value = original.apply(childProcess, given);
      this.#pass(`after ${name}`);
      return value;
    };
    Reflect.set(childProcess, name, replaced);
  }

  #enter(name: string, self: unknown, given: readonly unknown[], tear: Tear | undefined): void {
    this.#pass(`before ${name}`);
    const fault = this.#fault;
    if (this.#isOver || fault.type === "none") return;
    if (fault.type === "torn_file") {
      if (!fileOf(self, given).endsWith(fault.file)) return;
      tear?.(self, given, fault.share);
      return die();
    }
    if (this.names.length < fault.point) return;
    if (fault.type === "torn" && tear !== undefined) {
      tear(self, given, fault.share);
      die();
    }
    if (fault.type === "error") {
      this.#isOver = !fault.isLasting;
      throw Object.assign(new Error(`EIO: i/o error, ${name}`), { code: "EIO" });
    }
  }

  #pass(name: string): void {
    if (this.#isOver) return;
    this.names.push(name);
    if (this.#fault.type === "kill" && this.names.length === this.#fault.point) die();
  }
}

/** The file of an operation on a handle, a descriptor, or the target of a rename. */
function fileOf(self: unknown, given: readonly unknown[]): string {
  const [first, second] = given;
  const fd = typeof first === "number" ? first : (self as Partial<FileHandle> | undefined)?.fd;
  if (fd !== undefined) return fs.readlinkSync(`/proc/self/fd/${fd}`);
  return typeof second === "string" || Buffer.isBuffer(second) ? String(second) : String(first);
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

const tearWrite: Tear = (self, [bytes, offset, length, position], share) => {
  const part = Math.floor(Number(length) * share);
  writeSync(fdOf(self), bytes as Buffer, Number(offset), part, Number(position));
};

const tearWriteFile: Tear = (self, [content], share) => {
  const bytes = Buffer.from(content as Buffer);
  writeSync(fdOf(self), bytes, 0, Math.floor(bytes.length * share));
};

const tearWriteSync: Tear = (_self, [fd, text, offset, length, position], share) => {
  if (Buffer.isBuffer(text)) {
    const part = Math.floor(Number(length) * share);
    writeSync(Number(fd), text, Number(offset), part, Number(position));
    return;
  }
  const bytes = Buffer.from(text as string);
  writeSync(Number(fd), bytes, 0, Math.floor(bytes.length * share));
};

function fdOf(handle: unknown): number {
  return (handle as FileHandle).fd;
}
