/** A file that the command line names. */
import { readFile } from "node:fs/promises";
import { CodedError } from "../util/index.ts";

/** Throws `file_not_read`. */
export async function readTextFile(file: string, hint?: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException; // What the file system throws.
    throw new CodedError("file_not_read", `${file} could not be read: ${code}.`, {
      cause: error,
      ...(hint !== undefined && { hint }),
    });
  }
}
