import { execFileSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  realpathSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { counters } from "../../../../../test/security/threats.ts";
import { temporaryFolder } from "../../../../stores/temporary-workspace.fixture.ts";
import type { JsonObject } from "../../../../util/index.ts";
import { createGrepFilesTool } from "./grep-files-tool.ts";
import { findRipgrep } from "./ripgrep.ts";

const { PATH: searchPath = "" } = process.env;
const ripgrep = findRipgrep({ root: import.meta.dirname, searchPath });
if (ripgrep === undefined) {
  process.stderr.write("Skipped: without ripgrep (rg), its results cannot be compared.\n");
}

async function grep(root: string, args: JsonObject, withPath?: string): Promise<string> {
  const { signal } = new AbortController();
  const { tool } = createGrepFilesTool({ root, searchPath: withPath, ripgrepAfter: 0 });
  const outcome = await tool.execute({ arguments: args, answers: {}, signal });
  if (outcome.type === "needs_input") throw new Error("it asks");
  return outcome.type === "success" ? outcome.content : `error: ${outcome.message}`;
}

/** Without ripgrep, and with it. */
async function both(root: string, args: JsonObject): Promise<readonly [string, string]> {
  return [await grep(root, args), await grep(root, args, searchPath)];
}

function place(root: string, file: string, content: string | Buffer): void {
  mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  writeFileSync(path.join(root, file), content);
}

/** A program that only says that it was started. */
function fakeRipgrep(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, "rg");
  writeFileSync(file, `#!/bin/sh\ntouch "${folder}/started"\nexit 1\n`);
  chmodSync(file, 0o755);
  return file;
}

describe("ripgrep is", () => {
  test("found on the PATH", () => {
    const [root, other] = [temporaryFolder(), temporaryFolder()];
    const file = fakeRipgrep(path.join(other, "bin"));
    const found = findRipgrep({ root, searchPath: `/nowhere:${path.join(other, "bin")}` });
    expect([found, findRipgrep({ root, searchPath: undefined })]).toEqual([file, undefined]);
  });

  test.each<readonly [how: string, searchPath: (root: string, outside: string) => string]>([
    ["by a folder inside it", (root) => path.join(root, "bin")],
    ["by the root itself", (root) => root],
    ["by a relative folder", () => "bin"],
    ["by an empty entry", () => ":"],
    ["by a link to a folder inside it", (_root, outside) => path.join(outside, "to-bin")],
    ["by a link to a program inside it", (_root, outside) => path.join(outside, "linked")],
  ])("never one that a workspace provides: %s", (_how, toPath) => {
    counters("T-PROG-1");
    const [root, outside] = [realpathSync(temporaryFolder()), temporaryFolder()];
    fakeRipgrep(path.join(root, "bin"));
    fakeRipgrep(root);
    symlinkSync(path.join(root, "bin"), path.join(outside, "to-bin"));
    mkdirSync(path.join(outside, "linked"));
    symlinkSync(path.join(root, "bin", "rg"), path.join(outside, "linked", "rg"));
    const found = findRipgrep({ root, searchPath: toPath(root, outside) });
    expect([root, outside].some((folder) => found?.startsWith(folder))).toBe(false);
  });

  test("skipped in the workspace and found behind it", () => {
    const [root, other] = [realpathSync(temporaryFolder()), temporaryFolder()];
    fakeRipgrep(path.join(root, "bin"));
    const file = fakeRipgrep(other);
    expect(findRipgrep({ root, searchPath: `${path.join(root, "bin")}:${other}` })).toBe(file);
  });
});

describe("a ripgrep that fails", () => {
  test.each([
    ["fails", "exit 2"],
    ["is killed", "kill -9 $$"],
    ["says something else", "echo rg 1.0"],
    ["does not know its options", "exit 64"],
  ])("changes nothing: one that %s", async (_what, script) => {
    const [root, bin] = [temporaryFolder(), temporaryFolder()];
    place(root, "a.txt", "needle\n");
    place(root, "b/c.txt", "needle\n");
    fakeRipgrep(bin);
    writeFileSync(path.join(bin, "rg"), `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`);
    expect(await grep(root, { pattern: "needle" }, bin)).toBe("a.txt:1:needle\nb/c.txt:1:needle");
  });
});

describe.skipIf(ripgrep === undefined)("results with ripgrep are those without", () => {
  test("for files of every kind", async () => {
    const root = temporaryFolder();
    const outside = temporaryFolder();
    place(outside, "secret", "needle");
    place(root, ".gitignore", "*.log\n!keep.log\n/dist\n");
    place(root, ".ignore", "*.txt\n");
    place(root, ".rgignore", "*.txt\n");
    place(root, "sub/.gitignore", "*.tmp\n");
    for (const name of ["a.txt", "b.log", "keep.log", "dist/x", "sub/y.tmp", ".hidden/z", "-e"]) {
      place(root, name, "a needle\r\nand a needle\n");
    }
    place(root, "name with\nbreak", "needle");
    place(root, ".git/config", "needle");
    place(root, "node_modules/m.js", "needle");
    place(root, "binary", "needle\0");
    place(root, "late-binary", `needle\n${"x".repeat(9000)}\0`);
    place(root, "latin", Buffer.from("caf\xE9 needle\n", "latin1"));
    place(root, "utf16", Buffer.from("\uFEFFneedle\n", "utf16le"));
    place(root, "bom", "\uFEFFneedle\n");
    place(root, "odd-bom", Buffer.from("\xFF\xFEneedle\n", "latin1"));
    place(root, "long", `${"x".repeat(100_000)}needle${"y".repeat(100_000)}`);
    place(root, "returns", "a\rneedle\rb");
    place(root, "huge", "needle");
    truncateSync(path.join(root, "huge"), 8 * 1024 ** 2 + 1);
    linkSync(path.join(outside, "secret"), path.join(root, "hard"));
    symlinkSync(path.join(outside, "secret"), path.join(root, "link"));
    symlinkSync(outside, path.join(root, "out"));
    for (const args of [
      { pattern: "needle" },
      { pattern: "needle", context: 1 },
      { pattern: "needle$", regex: true },
      { pattern: "(and|a) needle", regex: true },
      { pattern: "caf. needle", regex: true },
      { pattern: "\uFFFD needle" },
      { pattern: "needle", paths: ["sub", "binary", "dist", "a.txt", "./a.txt"] },
      { pattern: "needle", paths: ["no"] },
      { pattern: "-needle" },
      { pattern: "-needle", paths: ["binary"] },
      { pattern: "--files" },
    ]) {
      const [without, withIt] = await both(root, args);
      expect([args, withIt]).toEqual([args, without]);
    }
  });

  test("for random files, ignore rules and patterns", { timeout: 120_000 }, async () => {
    const name = fc.constantFrom("a", "b.txt", "c.log", ".d", "e f", "ö", "G", ".ignore", "-x");
    const file = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
    const piece = fc.constantFrom<string | Buffer>(
      ...Array.from("ab.\n\t-é𝄞"),
      "needle",
      "Needle",
      "\r\n",
      "\r",
      "\0",
      "\uFEFF",
      Buffer.from([0xe9]),
      Buffer.from([0xc3]),
      Buffer.from([0xff, 0xfe]),
      "x".repeat(9000),
    );
    const content = fc
      .array(piece, { maxLength: 12 })
      .map((pieces) => Buffer.concat(pieces.map((each) => Buffer.from(each))));
    const rule = fc.constantFrom("a", "*.txt", "!b.txt", "/a/b.txt", "a/**", "!a/", "e*", "[", "#");
    const rules = fc.array(rule, { maxLength: 4 }).map((lines) => lines.join("\n"));
    const pattern = fc.oneof(
      fc
        .constantFrom("needle", "a", "é", "-", "𝄞", "\uFFFD", "le\t", "\uD834")
        .map((text) => ({ pattern: text })),
      fc
        .constantFrom(
          "needle$",
          "^a",
          "[nN]eedle",
          "a.b",
          "é|needle",
          "(a|b)+\\.",
          "\\sa",
          "n.*e\\b",
          "𝄞?a",
        )
        .map((text) => ({ pattern: text, regex: true })),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(file, content, { maxKeys: 12 }),
        fc.dictionary(fc.constantFrom(".", "a", "a/a"), rules, { maxKeys: 2 }),
        fc.option(file),
        pattern,
        async (files, ignored, linked, args) => {
          const root = temporaryFolder();
          for (const [each, bytes] of Object.entries(files))
            attempt(() => place(root, each, bytes));
          for (const [folder, text] of Object.entries(ignored)) {
            attempt(() => place(root, `${folder}/.gitignore`, text));
          }
          if (linked !== null) attempt(() => symlinkSync("a", path.join(root, linked)));
          const [without, withIt] = await both(root, args);
          expect(withIt).toBe(without);
        },
      ),
      { numRuns: 25 },
    );
  });

  test("for more files than fit on a command line, up to the limit of matches", async () => {
    const root = temporaryFolder();
    const folder = "d".repeat(200); // Limits the output, too.
    for (let number = 0; number < 2500; number += 1) {
      const text = number % 7 === 3 ? "needle\n" : "hay\n";
      place(root, `${folder}/${folder}/${number}`, text);
    }
    for (const args of [{ pattern: "needle" }, { pattern: "hay" }, { pattern: "none" }]) {
      const [without, withIt] = await both(root, args);
      const isFull = without.endsWith("Narrow the pattern or the paths.]");
      expect([args, withIt === without, isFull]).toEqual([args, true, args.pattern !== "none"]);
    }
  });

  test("for files and folders that cannot be read", async () => {
    const root = temporaryFolder();
    for (const name of ["a", "closed/b", "c"]) place(root, name, "needle");
    chmodSync(path.join(root, "c"), 0o000);
    const [without, withIt] = await both(root, { pattern: "needle" });
    expect(withIt).toBe(without);
  });
});

test.skipIf(ripgrep === undefined)(
  "no config of the user or the workspace changes a search",
  () => {
    counters("T-PROG-1");
    const root = temporaryFolder();
    place(root, "rgrc", "--pre=/bin/false\n--glob=!*.txt\n");
    for (let number = 0; number < 3; number += 1) place(root, `${number}.txt`, "needle\n");
    const module = path.join(import.meta.dirname, "grep-files-tool.ts");
    const program = `
    const { createGrepFilesTool } = await import(process.argv[1]);
    const [root, searchPath] = process.argv.slice(2);
    const { tool } = createGrepFilesTool({ root, searchPath, ripgrepAfter: 0 });
    const call = { arguments: { pattern: "needle" }, answers: {}, signal: new AbortController().signal };
    console.log((await tool.execute(call)).content);
  `;
    const output = execFileSync(
      process.execPath,
      ["--input-type=module", "--eval", program, module, root, searchPath],
      { encoding: "utf8", env: { RIPGREP_CONFIG_PATH: path.join(root, "rgrc") } },
    );
    expect(output).toBe("0.txt:1:needle\n1.txt:1:needle\n2.txt:1:needle\n");
  },
);

/** Some paths are taken already, as a file or as a folder. */
function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // There is another file.
  }
}
