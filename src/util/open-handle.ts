/** Opens files for `await using`, and without following links. */
import { constants, fdatasync, fsync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/**
 * Like Node's `open`. With Yarn's Plug'n'Play, that returns Yarn's handles, which can be neither disposed nor synced.
 * These can.
 */
export async function openHandle(...args: Parameters<typeof open>): Promise<FileHandle> {
  const handle: { [Symbol.asyncDispose]?: () => Promise<void> } & FileHandle = await open(...args);
  if (handle[Symbol.asyncDispose] !== undefined) return handle;
  return Object.assign(handle, {
    [Symbol.asyncDispose]: () => handle.close(),
    sync: () => settled((done) => fsync(handle.fd, done)),
    datasync: () => settled((done) => fdatasync(handle.fd, done)),
  });
}

/** Like `promisify`, whose module takes a tenth of Node's own start to load. */
export function settled(action: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    action((error) => (error === null ? resolve() : reject(error)));
  });
}

/** To read a file that may have been replaced by a link, or by a pipe without a writer, which would block. */
export function safeReadFlags(): number {
  const { O_NOFOLLOW: noFollow = 0, O_NONBLOCK: nonBlocking = 0 } = POSIX_FLAGS;
  return constants.O_RDONLY | noFollow | nonBlocking;
}

/** Undefined on Windows, contrary to the types. */
const POSIX_FLAGS: Partial<Pick<typeof constants, "O_NOFOLLOW" | "O_NONBLOCK">> = constants;
