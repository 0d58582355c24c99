/** Bundles each program into one file, because loading hundreds of files is slow. */
import { rm } from "node:fs/promises";
import path from "node:path";
import { rolldown } from "rolldown";

const ROOT = path.join(import.meta.dirname, "..", "..");

export interface BundledPrograms extends AsyncDisposable {
  /** Contains `name.mjs` for each program. */
  readonly folder: string;
}

/** Writes them inside the project, where their dependencies resolve. Disposing removes them. */
export async function bundlePrograms(
  programs: Readonly<Record<string, string>>,
): Promise<BundledPrograms> {
  const folder = path.join(ROOT, "node_modules", ".cache", `programs-${crypto.randomUUID()}`);
  const bundle = await rolldown({
    input: programs,
    platform: "node",
    cwd: ROOT,
    // These load a binary relative to their own files.
    external: ["minijinja-js", /^@koromix\//, /^node:/],
    logLevel: "silent",
  });
  await bundle.write({ dir: folder, format: "esm", entryFileNames: "[name].mjs" });
  await bundle.close();
  return {
    folder,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
