/** Programs in one file each: hundreds of files take longer to load than the program to run. */
import { rm } from "node:fs/promises";
import path from "node:path";
import { rolldown } from "rolldown";

const ROOT = path.join(import.meta.dirname, "..", "..");

export interface BundledPrograms extends AsyncDisposable {
  /** Has `name.mjs` for each. */
  readonly folder: string;
}

/** They are inside the project, from where their dependencies are found, until they are disposed of. */
export async function bundlePrograms(
  programs: Readonly<Record<string, string>>,
): Promise<BundledPrograms> {
  const folder = path.join(ROOT, "node_modules", ".cache", `programs-${crypto.randomUUID()}`);
  const bundle = await rolldown({
    input: programs,
    platform: "node",
    cwd: ROOT,
    // These find a binary beside their own files.
    external: ["fs-native-extensions", "minijinja-js", /^node:/],
    logLevel: "silent",
  });
  await bundle.write({ dir: folder, format: "esm", entryFileNames: "[name].mjs" });
  await bundle.close();
  return {
    folder,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
