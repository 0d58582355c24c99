/** The program of the torture in one file: hundreds of files take longer to load than its turn. */
import { rm } from "node:fs/promises";
import path from "node:path";
import { rolldown } from "rolldown";

const ROOT = path.join(import.meta.dirname, "..", "..");

export interface BundledProgram extends AsyncDisposable {
  readonly file: string;
}

/** It is inside the project, from where its dependencies are found, until it is disposed of. */
export async function bundleProgram(): Promise<BundledProgram> {
  const folder = path.join(ROOT, "node_modules", ".cache", `torture-${crypto.randomUUID()}`);
  const bundle = await rolldown({
    input: { turn: path.join(import.meta.dirname, "turn-program.ts") },
    platform: "node",
    cwd: ROOT,
    // These find a binary beside their own files.
    external: ["fs-native-extensions", "minijinja-js", /^node:/],
    logLevel: "silent",
  });
  await bundle.write({ dir: folder, format: "esm", entryFileNames: "[name].mjs" });
  await bundle.close();
  return {
    file: path.join(folder, "turn.mjs"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
