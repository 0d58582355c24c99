/** Opens files for `await using`. */
import { fdatasync, fsync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { promisify } from "node:util";

/**
 * As `open` of Node. With Yarn's Plug'n'Play that returns handles of Yarn, which can neither be disposed nor synced. These
 * can.
 */
export async function openHandle(...args: Parameters<typeof open>): Promise<FileHandle> {
  const handle: { [Symbol.asyncDispose]?: () => Promise<void> } & FileHandle = await open(...args);
  if (handle[Symbol.asyncDispose] !== undefined) return handle;
  return Object.assign(handle, {
    [Symbol.asyncDispose]: () => handle.close(),
    sync: () => promisify(fsync)(handle.fd),
    datasync: () => promisify(fdatasync)(handle.fd),
  });
}
