/** Opens and reads regular files in a folder that is held open. Never uses a link, symbolic or hard. */
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { type Folder, openFolder } from "./folder.ts";
import type { Target } from "./place.ts";
import { explainFailure, Refusal, systemCode } from "./refusal.ts";

/** Files that are compared, changed or searched are held in memory. */
export const MOST_BYTES = 8 * 1024 * 1024;

/** What a file held at a moment, and whose it was. */
export interface Version {
  readonly bytes: Buffer;
  readonly stats: Pick<Stats, "mode" | "uid" | "gid">;
}

export interface OpenOptions {
  readonly shown: string;
  /** `write` fails for files that one may not write to, though they could be replaced. */
  readonly access: "read" | "write";
}

/** Throws a refusal for what is no file; errors of the system as they are. */
export async function openFile(
  folder: Folder,
  name: string,
  { shown, access }: OpenOptions,
): Promise<FileHandle> {
  const file = folder.entry(name);
  const { O_NOFOLLOW: noFollow, O_NONBLOCK: noWaiting = 0 } = POSIX_FLAGS;
  if (noFollow === undefined) refuseOther(await lstat(file), shown);
  const mode = access === "write" ? constants.O_RDWR : constants.O_RDONLY;
  const handle = await open(file, mode | (noFollow ?? 0) | noWaiting);
  try {
    refuseOther(await handle.stat(), shown);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** What a file to be changed holds now; undefined if it is not there. Throws refusals only. */
export async function findVersion(target: Target): Promise<Version | undefined> {
  if (target.newFolders.length > 0) return undefined;
  try {
    await using folder = await openFolder(target.folder);
    return await readVersion(folder, target);
  } catch (error) {
    throw explainFailure("change", target.shown, error);
  }
}

/** The same in a folder that is open already. */
export async function readVersion(
  folder: Folder,
  { name, shown }: Pick<Target, "name" | "shown">,
): Promise<Version | undefined> {
  try {
    await using handle = await openFile(folder, name, { shown, access: "write" });
    const stats = await handle.stat();
    if (stats.size > MOST_BYTES) {
      throw new Refusal(`${shown} is larger than 8 MiB: too large to be changed with this tool.`);
    }
    return { bytes: await handle.readFile(), stats };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The types know no Windows: there these are undefined. */
const POSIX_FLAGS: Partial<Pick<typeof constants, "O_NOFOLLOW" | "O_NONBLOCK">> = constants;

function refuseOther(stats: Stats, shown: string): void {
  if (stats.isDirectory()) {
    throw new Refusal(`${shown} is a folder, not a file. fs_list_files shows what is in it.`);
  }
  if (!stats.isFile()) throw new Refusal(`${shown} is not a regular file.`);
  // Where the others are cannot be told, and may be outside the root.
  if (stats.nlink > 1) {
    throw new Refusal(
      `${shown} is a hard link: the same file has ${stats.nlink} names, and some may be outside the ` +
        "workspace. It can be neither read nor changed.",
    );
  }
}
