import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { findOwnPackage } from "../../src/reach/shell/own-package.ts";
import { counters } from "../security/threats.ts";
import { scene, type Scene, useSandbox } from "./support.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const KOFFI = `@koromix/koffi-linux-${process.arch}`;
const UNATTENDED = { conversation: { tools: { shell_run: { enable: true, run: "unattended" } } } };

/** Installs jp in the workspace as npm does. */
function installed(): Scene & {
  readonly modules: string;
  readonly shell: (line: string) => string;
} {
  const current = scene();
  const modules = path.join(current.root, "node_modules");
  const own = path.join(modules, "jp-ts");
  mkdirSync(path.join(current.root, ".jp"));
  mkdirSync(own, { recursive: true });
  for (const name of ["package.json", "dist/bin", "dist/minijinja_js_bg.wasm"]) {
    cpSync(path.join(ROOT, name), path.join(own, name), { recursive: true });
  }
  const native = path.join("node_modules", KOFFI);
  cpSync(path.join(ROOT, native), path.join(current.root, native), { recursive: true });
  const words = ["tool", "run", "--non-interactive", "shell_run"];
  const config = ["-c", JSON.stringify(UNATTENDED)];
  const shell = (line: string) => {
    const args = [path.join(own, "dist/bin/jp.cjs"), ...words, ...config, "-a", `command=${line}`];
    const env = { PATH: process.env["PATH"], HOME: current.home };
    const { stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: current.root,
      env,
      encoding: "utf8",
    });
    return stdout + stderr;
  };
  return { ...current, modules, shell };
}

describe("a command of a jp that is installed in the workspace", () => {
  useSandbox();

  test("cannot change the code of jp or of what jp needs, nor replace the folders on the way there", () => {
    counters("T-PROG-11");
    const { modules, shell } = installed();
    const files = ["jp-ts/dist/bin/jp.cjs", "jp-ts/package.json", `${KOFFI}/package.json`];
    const before = files.map((name) => readFileSync(path.join(modules, name), "utf8"));
    const attacks = [
      ...files.map((name) => `echo evil >node_modules/${name}`),
      "touch node_modules/jp-ts/dist/bin/new",
      "mv node_modules x",
      "mv node_modules/jp-ts x",
      "mv node_modules/@koromix x",
      `mv node_modules/${KOFFI} x`,
      "rm -rf node_modules/jp-ts node_modules/@koromix",
    ];
    const line = `{ ${attacks.join("; ")}; } 2>/dev/null; ls node_modules/jp-ts/dist/bin/new 2>/dev/null; touch node_modules/y`;
    expect(shell(line)).toBe("[No output.]\n[Exit status 0.]\n");
    expect(files.map((name) => readFileSync(path.join(modules, name), "utf8"))).toEqual(before);
  });

  test("that fails on it is told why", () => {
    const { shell } = installed();
    expect(shell("rm -rf node_modules")).toContain(
      "[jp runs from node_modules/jp-ts, which a command cannot change: npm ci fails on it, and so does npm install if it would replace it.]",
    );
  });
});

test("a checkout of jp is not protected, and neither is jp outside of the workspace", () => {
  expect([findOwnPackage(ROOT), findOwnPackage(path.join(ROOT, "docs"))]).toEqual([[], []]);
});
