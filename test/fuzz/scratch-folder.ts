/** One folder for all runs of a test file: creating one per run would take longer than the run. */
import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export interface ScratchFolder extends Disposable {
  readonly path: string;
}

export function scratchFolder(): ScratchFolder {
  const parent = existsSync("/dev/shm") ? "/dev/shm" : realpathSync(tmpdir());
  const folder = mkdtempSync(path.join(parent, "jp-fuzz-"));
  return {
    path: folder,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
