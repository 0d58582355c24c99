/** Bundles the torture program into one file. */
import path from "node:path";
import { bundlePrograms } from "../support/bundle-programs.ts";

export interface BundledProgram extends AsyncDisposable {
  readonly file: string;
}

export async function bundleProgram(): Promise<BundledProgram> {
  const turn = path.join(import.meta.dirname, "turn-program.ts");
  const programs = await bundlePrograms({ turn });
  return {
    file: path.join(programs.folder, "turn.mjs"),
    [Symbol.asyncDispose]: () => programs[Symbol.asyncDispose](),
  };
}
