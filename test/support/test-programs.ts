/** Bundles the programs that many tests start, once for all tests, and fetches PostgreSQL if it is not there. */
import { spawnSync } from "node:child_process";
import { lstatSync, realpathSync } from "node:fs";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { identifyFile } from "../../src/reach/executor/file-identity.ts";
import { bundlePrograms } from "./bundle-programs.ts";

const TESTS = path.join(import.meta.dirname, "..");
const BOOTSTRAP = path.join(TESTS, "..", "scripts", "bootstrap.mjs");

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the programs. It is also the data folder of someone who has run Node as a tool before. */
    readonly programs: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (process.env["JP_TEST_POSTGRES"] === undefined) {
    spawnSync(process.execPath, [BOOTSTRAP, "--postgres"], {
      stdio: ["ignore", "inherit", "inherit"],
    });
  }
  const programs = await bundlePrograms({
    prompter: path.join(TESTS, "support", "prompter-program.ts"),
    server: path.join(TESTS, "mcp", "test-server-program.ts"),
  });
  const node = realpathSync(process.execPath);
  await identifyFile(node, lstatSync(node, { bigint: true }), programs.folder);
  project.provide("programs", programs.folder);
  return async () => programs[Symbol.asyncDispose]();
}
