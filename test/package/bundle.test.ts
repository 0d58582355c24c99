import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeFolder, ROOT, run } from "./tarball.ts";

const BINARY = `@koromix/koffi-${process.platform}-${process.arch}`;

describe("a program that is bundled into one CommonJS file", () => {
  const root = makeFolder();
  const bundle = path.join(root, "bundle.cjs");

  beforeAll(async () => {
    await build({
      entryPoints: [path.join(import.meta.dirname, "bundle-program.ts")],
      outfile: bundle,
      bundle: true,
      platform: "node",
      format: "cjs",
      logLevel: "error",
      logOverride: { "empty-import-meta": "silent" },
    });
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  /** Runs it in a folder of its own, with a package beside it. */
  const runBeside = async (name: string, place: (modules: string) => void) => {
    const folder = path.join(root, name);
    const modules = path.join(folder, "node_modules");
    mkdirSync(modules, { recursive: true });
    cpSync(bundle, path.join(folder, "bundle.cjs"));
    place(modules);
    const words = [path.join(folder, "bundle.cjs"), path.join(folder, "store")];
    return await run("node", words, { cwd: folder });
  };

  test("finds the binary for locks beside itself", async () => {
    const ended = await runBeside("binary", (modules) => {
      mkdirSync(path.join(modules, "@koromix"));
      symlinkSync(path.join(ROOT, "node_modules", BINARY), path.join(modules, BINARY));
    });
    expect(ended).toEqual({ status: 0, stdout: "Done.\n", stderr: "" });
  });

  test("finds it through jp-ts, where a package manager has put it there only", async () => {
    const ended = await runBeside("package", (modules) => {
      symlinkSync(ROOT, path.join(modules, "jp-ts"));
    });
    expect(ended).toEqual({ status: 0, stdout: "Done.\n", stderr: "" });
  });

  test("says what is missing, and where to install it", async () => {
    const { stdout } = await runBeside("nothing", () => undefined);
    expect(JSON.parse(stdout)).toEqual({
      code: "write_failed",
      message: "The native module that locks conversations is missing.",
      hint: expect.stringMatching(
        new RegExp(`^Install ${BINARY} where your bundle runs: npm install ${BINARY}$`),
      ) as unknown,
    });
  });

  test("says why a binary that is there cannot be used", async () => {
    const { stdout } = await runBeside("broken", (modules) => {
      const folder = path.join(modules, BINARY);
      mkdirSync(path.dirname(folder), { recursive: true });
      mkdirSync(folder);
      writeFileSync(path.join(folder, "index.js"), `throw new Error("wrong libc\\nand more");`);
    });
    expect(JSON.parse(stdout)).toEqual({
      code: "write_failed",
      message: "The native module that locks conversations cannot be loaded: wrong libc.",
      hint: expect.stringContaining(BINARY) as unknown,
    });
  });
});
