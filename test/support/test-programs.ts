/** Bundles the programs that many tests start, once for all tests. */
import path from "node:path";
import type { TestProject } from "vitest/node";
import { bundlePrograms } from "./bundle-programs.ts";

const TESTS = path.join(import.meta.dirname, "..");

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the programs. */
    readonly programs: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const programs = await bundlePrograms({
    prompter: path.join(TESTS, "support", "prompter-program.ts"),
    server: path.join(TESTS, "mcp", "test-server-program.ts"),
  });
  project.provide("programs", programs.folder);
  return async () => programs[Symbol.asyncDispose]();
}
