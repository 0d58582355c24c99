import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../stores/temporary-workspace.fixture.ts";
import type { JsonObject } from "../../../../util/index.ts";
import { createGrepFilesTool } from "./grep-files-tool.ts";

function folderWith(files: Readonly<Record<string, string | Buffer>>): string {
  const root = temporaryFolder();
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), content);
  }
  return root;
}

async function grep(root: string, args: JsonObject, timeLimitMs = 600_000): Promise<string> {
  const { signal } = new AbortController();
  const { tool } = createGrepFilesTool({ root, timeLimitMs });
  const outcome = await tool.execute({ arguments: args, answers: {}, signal });
  if (outcome.type === "needs_input") throw new Error("it asks");
  return outcome.type === "success" ? outcome.content : `error: ${outcome.message}`;
}

describe("a pattern", () => {
  test("is case-sensitive plain text, unless regex is set", async () => {
    const root = folderWith({ "a.txt": "a.c\nabc\nA.C\n", "b/c.txt": "xa.c" });
    expect([
      await grep(root, { pattern: "a.c" }),
      await grep(root, { pattern: "^a.c$", regex: true }),
    ]).toEqual(["a.txt:1:a.c\nb/c.txt:1:xa.c", "a.txt:1:a.c\na.txt:2:abc"]);
  });

  test("without matches is reported as such", async () => {
    expect(await grep(folderWith({ "a.txt": "a" }), { pattern: "b" })).toBe("[No matches.]");
  });

  test("is found in lines with any line ending, and in any script", async () => {
    const root = folderWith({ "a.txt": "\uFEFFé1\r\né2\né3" });
    expect(await grep(root, { pattern: "é\\d$", regex: true })).toBe(
      "a.txt:1:\uFEFFé1\na.txt:2:é2\na.txt:3:é3",
    );
  });

  test("that is invalid, has a line break or takes too long is refused", async () => {
    const root = folderWith({ "a.txt": `${"a".repeat(60)}b` });
    const errors = [
      await grep(root, { pattern: "[", regex: true }),
      await grep(root, { pattern: "a\nb" }),
      await grep(root, { pattern: "^(a+)+$", regex: true }, 50),
    ];
    expect(errors.map((text) => text.slice(0, 58))).toEqual([
      "error: The pattern is not a valid regular expression (Inva",
      "error: The pattern contains a line break. Search for text ",
      "error: The regular expression took longer than 0.05 second",
    ]);
  });
});

describe("context", () => {
  test("is shown around matches, and adjacent lines form one group", async () => {
    const lines = Array.from({ length: 12 }, (_, index) => `${index + 1}`);
    const text = lines.map((line) => (["3", "5", "11"].includes(line) ? `${line} x` : line));
    const root = folderWith({ "a.txt": text.join("\n"), "b.txt": "x" });
    expect(await grep(root, { pattern: "x", context: 1 })).toBe(
      [
        "a.txt-2-2",
        "a.txt:3:3 x",
        "a.txt-4-4",
        "a.txt:5:5 x",
        "a.txt-6-6",
        "--",
        "a.txt-10-10",
        "a.txt:11:11 x",
        "a.txt-12-12",
        "--",
        "b.txt:1:x",
      ].join("\n"),
    );
  });

  test("stops at the ends of the file", async () => {
    const root = folderWith({ "a.txt": "a\nx\nb\n" });
    expect(await grep(root, { pattern: "x", context: 20 })).toBe("a.txt-1-a\na.txt:2:x\na.txt-3-b");
  });
});

describe("files", () => {
  test("are searched once each, in the order of the paths", async () => {
    const root = folderWith({ "a/b.txt": "x", "a/c.txt": "x", "d.txt": "x", "dist/e.txt": "x" });
    writeFileSync(path.join(root, ".gitignore"), "dist\n");
    expect([
      await grep(root, { pattern: "x", paths: ["a/c.txt", "a", "./a/"] }),
      await grep(root, { pattern: "x" }),
      await grep(root, { pattern: "x", paths: ["dist"] }),
      await grep(root, { pattern: "x", paths: ["no"] }),
    ]).toEqual([
      "a/c.txt:1:x\na/b.txt:1:x",
      "d.txt:1:x\na/b.txt:1:x\na/c.txt:1:x",
      "dist/e.txt:1:x",
      "error: no does not exist. Use fs_list_files to see which files exist.",
    ]);
  });

  test("that are links, binary or in ignored folders are left out", async () => {
    const outside = folderWith({ "secret.txt": "x" });
    const root = folderWith({ "a.bin": "x\0", ".git/config": "x", "node_modules/a.js": "x" });
    symlinkSync(path.join(outside, "secret.txt"), path.join(root, "link.txt"));
    symlinkSync(outside, path.join(root, "out"));
    expect([
      await grep(root, { pattern: "x" }),
      await grep(root, { pattern: "x", paths: ["a.bin"] }),
    ]).toEqual(["[No matches.]", "[No matches.]\n[Skipped binary files: a.bin]"]);
  });

  test("that are too large are left out, with a notice", async () => {
    const root = folderWith({ "a.txt": "x" });
    for (let number = 1; number <= 7; number += 1) {
      writeFileSync(path.join(root, `huge-${number}`), "x");
      truncateSync(path.join(root, `huge-${number}`), 8 * 1024 ** 2 + 1);
    }
    expect(await grep(root, { pattern: "x" })).toBe(
      "a.txt:1:x\n[Skipped files over 8 MiB: " +
        "huge-1, huge-2, huge-3, huge-4, huge-5 and 2 more]",
    );
  });

  test("that are not UTF-8 are searched nevertheless", async () => {
    const root = folderWith({ "a.txt": Buffer.from([0x78, 0xff]) });
    expect(await grep(root, { pattern: "x" })).toBe("a.txt:1:x\uFFFD");
  });
});

describe("output", () => {
  const NOTICE = "[Showing only the first matches. Narrow the pattern or the paths.]";

  test("stops after two hundred matching lines", async () => {
    const many = "x\n".repeat(150);
    const [more, exactly] = [
      await grep(folderWith({ "a.txt": many, "b.txt": many }), { pattern: "x" }),
      await grep(folderWith({ "a.txt": many, "b.txt": "x\n".repeat(50) }), { pattern: "x" }),
    ];
    expect([more.split("\n").length, more.split("\n").slice(-2)]).toEqual([
      201,
      ["b.txt:50:x", NOTICE],
    ]);
    expect([exactly.split("\n").length, exactly.includes(NOTICE)]).toEqual([200, false]);
  });

  test("with much context stops at a size limit", async () => {
    const line = `${"y".repeat(390)}\n`;
    const text = `x\n${line.repeat(30)}`.repeat(100);
    const output = await grep(folderWith({ "a.txt": text }), { pattern: "x", context: 20 });
    expect([output.length < 70_000, output.endsWith(NOTICE)]).toEqual([true, true]);
  });

  test("truncates a long line around the match", async () => {
    const text = `${"a".repeat(5000)}x${"b".repeat(5000)}`;
    const output = await grep(folderWith({ "a.txt": text }), { pattern: "x" });
    expect(output).toBe(`a.txt:1:…${"a".repeat(100)}x${"b".repeat(299)}…`);
  });
});

test("a long search reports progress, and a cancelled one fails", async () => {
  const names = Array.from({ length: 1000 }, (_, index) => [`${index}.txt`, "x"] as const);
  const { tool } = createGrepFilesTool({ root: folderWith(Object.fromEntries(names)) });
  const controller = new AbortController();
  const progress: string[] = [];
  const outcome = await tool.execute({
    arguments: { pattern: "y" },
    answers: {},
    signal: controller.signal,
    onProgress: (message) => {
      progress.push(message);
      controller.abort();
    },
  });
  const aborted = await tool.execute({
    arguments: { pattern: "y", regex: true },
    answers: {},
    signal: AbortSignal.abort(),
  });
  expect([progress, outcome.type, aborted.type]).toEqual([
    ["1000 files searched"],
    "success",
    "error",
  ]);
});
