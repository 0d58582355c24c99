import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../stores/temporary-workspace.fixture.ts";
import type { JsonObject } from "../../../../util/index.ts";
import { createReadFileTool } from "./read-file-tool.ts";

async function read(root: string, args: JsonObject, signal = new AbortController().signal) {
  const { tool } = createReadFileTool({ root });
  return tool.execute({ arguments: args, answers: {}, signal });
}

/** The result for a file with this content. */
async function readContent(content: string | Buffer, range: JsonObject = {}): Promise<string> {
  const root = temporaryFolder();
  writeFileSync(path.join(root, "a.txt"), content);
  const outcome = await read(root, { path: "a.txt", ...range });
  if (outcome.type === "needs_input") throw new Error("it asks");
  return outcome.type === "success" ? outcome.content : `error: ${outcome.message}`;
}

describe("a text", () => {
  test.each(["a", "a\n", "\n", "a\r\nb\r\n", "ä€𝄞 \u001b[31m\n", "a\rb", " \n\n "])(
    "%j is returned as it is",
    async (text) => {
      expect(await readContent(text)).toBe(text);
    },
  );

  test("that is empty is reported as such", async () => {
    expect(await readContent("")).toBe("[The file is empty.]");
  });

  test("is returned without its byte order mark, which only the first line has", async () => {
    const text = "\uFEFFa\n\uFEFFb\n";
    expect([await readContent(text), await readContent(text, { start_line: 2 })]).toEqual([
      "a\n\uFEFFb\n",
      "\uFEFFb\n",
    ]);
  });

  test("is read through links and absolute paths that stay inside the root", async () => {
    const root = temporaryFolder();
    mkdirSync(path.join(root, "folder"));
    writeFileSync(path.join(root, "folder", "ü.txt"), "text");
    symlinkSync("folder", path.join(root, "link"));
    symlinkSync("link/ü.txt", path.join(root, "chain"));
    const paths = ["link/ü.txt", "chain", "./folder//../link/ü.txt", path.join(root, "chain")];
    const outcomes = await Promise.all(paths.map((each) => read(root, { path: each })));
    expect(outcomes).toEqual(paths.map(() => ({ type: "success", content: "text" })));
  });

  test("is read if the root itself is a link", async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, "real"));
    writeFileSync(path.join(folder, "real", "a.txt"), "text");
    symlinkSync("real", path.join(folder, "root"));
    const root = path.join(folder, "root");
    const paths = ["a.txt", path.join(root, "a.txt"), path.join(folder, "real", "a.txt")];
    const outcomes = await Promise.all(paths.map((each) => read(root, { path: each })));
    expect(outcomes).toEqual(paths.map(() => ({ type: "success", content: "text" })));
  });
});

describe("a range of lines", () => {
  test.each([
    [{ start_line: 2 }, "two\nthree"],
    [{ end_line: 2 }, "one\ntwo\n"],
    [{ start_line: 2, end_line: 2 }, "two\n"],
    [{ start_line: 3, end_line: 99 }, "three"],
    [{ start_line: 4 }, "error: a.txt has only 3 lines."],
    [{ start_line: 3, end_line: 2 }, "error: end_line 2 is before start_line 3."],
  ])("%j returns these lines", async (range, expected) => {
    expect(await readContent("one\ntwo\nthree", range)).toBe(expected);
  });

  test("past the end does not count an empty last line", async () => {
    expect(await readContent("one\n", { start_line: 2 })).toBe("error: a.txt has only 1 line.");
  });

  test("can be read from a file of any size", async () => {
    const root = temporaryFolder();
    const file = path.join(root, "huge.txt");
    writeFileSync(file, "one\ntwo\n");
    truncateSync(file, 3 * 1024 ** 3); // The rest is a hole.
    const outcome = await read(root, { path: "huge.txt", start_line: 2, end_line: 2 });
    expect(outcome).toEqual({ type: "success", content: "two\n" });
  });
});

describe("a long text", () => {
  test("stops after a whole line and says how to continue", async () => {
    const lines = Array.from({ length: 10_000 }, (_, index) => `line ${index + 1} €\n`);
    const parts: string[] = [];
    const ranges: number[][] = [];
    for (let start = 1; start !== 0;) {
      const text = await readContent(lines.join(""), { start_line: start });
      const notice = /\[Showing only lines (\d+) to (\d+)\. Continue with start_line (\d+)\.\]$/;
      const [found = "", first, last, next] = notice.exec(text) ?? [];
      parts.push(text.slice(0, text.length - found.length));
      ranges.push([first, last, next].map(Number));
      start = Number(next ?? 0);
    }
    expect(ranges).toEqual([
      [1, 4760, 4761],
      [4761, 9441, 9442],
      [Number.NaN, Number.NaN, Number.NaN],
    ]);
    expect(parts.join("")).toBe(lines.join(""));
  });

  test("of exactly the maximum size has no notice", async () => {
    const text = `${"x".repeat(64 * 1024 - 1)}\n`;
    expect(await readContent(text)).toBe(text);
  });

  test("in a single line is truncated between two characters", async () => {
    const text = await readContent(`x${"€".repeat(30_000)}\nnext\n`);
    const [line = "", notice] = text.split("\n");
    expect(line).toBe(`x${"€".repeat(21_845)}`);
    expect(notice).toBe(
      "[Showing only the first 64 KiB of line 1. Use fs_grep_files to search the rest of it. " +
        "Continue with start_line 2.]",
    );
  });
});

describe("an error is returned", () => {
  test("for files that are not UTF-8 text", async () => {
    const binary = "error: a.txt cannot be shown: it is binary, or not UTF-8 text.";
    expect([
      await readContent(Buffer.from([1, 2, 0, 3])),
      await readContent(Buffer.from([0x61, 0xff, 0x62])),
      await readContent(Buffer.alloc(100_000)),
    ]).toEqual([binary, binary, binary]);
  });

  test("for folders, missing files and paths below a file", async () => {
    const root = temporaryFolder();
    mkdirSync(path.join(root, "folder"));
    writeFileSync(path.join(root, "a.txt"), "");
    const messages: string[] = [];
    for (const each of ["folder", ".", "no.txt", "no/no.txt", "a.txt/b", "line\nbreak"]) {
      const outcome = await read(root, { path: each });
      messages.push(outcome.type === "error" ? outcome.message : outcome.type);
    }
    expect(messages).toEqual([
      "folder is a folder, not a file. Use fs_list_files to see what it contains.",
      ". is a folder, not a file.",
      "no.txt does not exist. Use fs_list_files to see which files exist.",
      "no/no.txt does not exist. Use fs_list_files to see which files exist.",
      "a.txt/b does not exist. Use fs_list_files to see which files exist.",
      '"line\\nbreak" does not exist. Use fs_list_files to see which files exist.',
    ]);
  });

  test.runIf(process.platform === "linux")("for a pipe, without waiting for it", async () => {
    const root = temporaryFolder();
    spawnSync("/bin/sh", ["-c", `mkfifo "$0"`, path.join(root, "pipe")]);
    expect(await read(root, { path: "pipe" })).toMatchObject({
      message: "pipe is not a regular file.",
    });
  });
});

test("a call that is cancelled stops reading", async () => {
  const root = temporaryFolder();
  writeFileSync(path.join(root, "a.txt"), "text");
  const outcome = await read(root, { path: "a.txt" }, AbortSignal.abort());
  expect(outcome.type).toBe("error");
});

test("skipping many lines reports progress", async () => {
  const root = temporaryFolder();
  const file = path.join(root, "huge.txt");
  writeFileSync(file, "one\n");
  truncateSync(file, 130 * 1024 ** 2);
  const progress: string[] = [];
  const { tool } = createReadFileTool({ root });
  const { signal } = new AbortController();
  const onProgress = (message: string) => void progress.push(message);
  await tool.execute({
    arguments: { path: "huge.txt", start_line: 3 },
    answers: {},
    signal,
    onProgress,
  });
  expect(progress).toEqual(["huge.txt: 64 MiB read", "huge.txt: 128 MiB read"]);
});
