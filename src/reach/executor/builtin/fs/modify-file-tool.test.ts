import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { counters } from "../../../../../test/security/threats.ts";
import { temporaryFolder } from "../../../../stores/temporary-workspace.fixture.ts";
import type { Outcome } from "../../../../record/tool/index.ts";
import { askedTool } from "./asked-tool.fixture.ts";
import { applyPatterns, createModifyFileTool, type Pattern } from "./modify-file-tool.ts";

type Patterns = readonly Pattern[];

interface Scene {
  readonly root: string;
  readonly file: string;
  readonly modify: (patterns: Patterns, answer?: boolean, name?: string) => Promise<Outcome>;
}

function scene(content: string | Buffer): Scene {
  const root = temporaryFolder();
  const file = path.join(root, "a.txt");
  writeFileSync(file, content);
  const tool = askedTool(() => createModifyFileTool({ root }).tool);
  const modify: Scene["modify"] = (patterns, answer, name = "a.txt") => {
    const plain = patterns.map((pattern) => ({ ...pattern }));
    const args = { path: name, patterns: plain };
    return answer === undefined ? tool.ask(args) : tool.answer(args, answer);
  };
  return { root, file, modify };
}

const success = (content: string) => ({ type: "success", content });

async function modified(content: string, ...patterns: readonly Pattern[]): Promise<string> {
  const { file, modify } = scene(content);
  const outcome = await modify(patterns, true);
  return outcome.type === "error" ? `error: ${outcome.message}` : readFileSync(file, "utf8");
}

describe("changes", () => {
  test("are applied only after a question that shows the diff", async () => {
    const { file, modify } = scene("one\ntwo\n");
    const patterns = [{ old: "two", new: "2" }];
    expect([await modify(patterns), readFileSync(file, "utf8")]).toEqual([
      {
        type: "needs_input",
        question: {
          id: "apply_changes",
          text: "Apply these changes to a.txt?",
          context: "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
          answerType: { type: "boolean" },
          default: true,
          exclusive: true,
          allowsNote: true,
          persistence: "turn",
          rememberAs: "all edits this turn",
          binding: expect.stringMatching(/^[\da-f]{64}$/),
        },
      },
      "one\ntwo\n",
    ]);
    expect(await modify(patterns, true)).toEqual(success("Changed a.txt: 1 replacement."));
    expect(readFileSync(file, "utf8")).toBe("one\n2\n");
  });

  test("are not made after a no, which is not an error", async () => {
    const { root, file, modify } = scene("one\n");
    const patterns = [{ old: "one", new: "1" }];
    await modify(patterns);
    expect(await modify(patterns, false)).toEqual(
      success("The user declined the changes to a.txt. Nothing was changed."),
    );
    expect([readFileSync(file, "utf8"), readdirSync(root)]).toEqual(["one\n", ["a.txt"]]);
  });

  test("are made one after another", async () => {
    expect(await modified("a b", { old: "a", new: "b c" }, { old: "b c", new: "x" })).toBe("x b");
  });

  test("are plain text, whatever characters they contain", async () => {
    const special = "$& $1 $` \\n .*";
    expect(await modified("é.* 𝄞", { old: ".*", new: special })).toBe(`é${special} 𝄞`);
  });

  test("apply to every occurrence with replace_all", async () => {
    const { file, modify } = scene("aXbXc");
    const outcome = await modify([{ old: "X", new: "", replace_all: true }], true);
    expect([outcome, readFileSync(file, "utf8")]).toEqual([
      success("Changed a.txt: 2 replacements."),
      "abc",
    ]);
  });

  test.each<readonly [text: string, patterns: readonly Pattern[], message: string]>([
    ["a", [{ old: "b", new: "c" }], "patterns[0].old was not found"],
    [
      "a",
      [
        { old: "a", new: "b" },
        { old: "a", new: "c" },
      ],
      "patterns[1].old was not found",
    ],
    ["a\nb\na", [{ old: "a", new: "c" }], "patterns[0].old occurs more than once (lines 1, 3)"],
    ["aaa", [{ old: "aa", new: "b" }], "patterns[0].old occurs more than once (lines 1, 1)"],
    ["a".repeat(9), [{ old: "a", new: "b" }], "(lines 1, 1, 1, 1, 1 and more)"],
    ["a", [{ old: "a", new: "a" }], "The patterns change nothing."],
    ["a", [{ old: "", new: "a" }], "patterns[0].old is empty."],
    ["", [{ old: "a", new: "b" }], "patterns[0].old was not found"],
    ["a", [{ old: "a", new: "\uDC00" }], "The new text is not valid Unicode text."],
  ])("of %j with %j are refused, and nothing is written", async (text, patterns, message) => {
    const { file, modify } = scene(text);
    const outcome = await modify(patterns, true);
    expect(outcome).toMatchObject({ type: "error", message: expect.stringContaining(message) });
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  test("put the new text exactly where the old one was", () => {
    const anyPart = fc.stringMatching(/^[ab$\n]*$/);
    fc.assert(
      fc.property(anyPart, anyPart, anyPart, (before, text, after) => {
        const { text: result } = applyPatterns(`${before}X${after}`, [{ old: "X", new: text }]);
        expect(result).toBe(before + text + after);
      }),
    );
  });
});

describe("a file keeps", () => {
  test("its line endings, whatever the patterns have", async () => {
    expect([
      await modified("a\r\nb\r\nc\r\n", { old: "a\nb", new: "x\ny\nz" }),
      await modified("a\r\nb\r\n", { old: "a\r\nb", new: "x\r\ny" }),
      await modified("a\nb\r\n", { old: "a\nb\r\n", new: "x\n" }),
      await modified("a\nb", { old: "b", new: "c" }),
    ]).toEqual(["x\r\ny\r\nz\r\nc\r\n", "x\r\ny\r\n", "x\n", "a\nc"]);
  });

  test("its byte order mark", async () => {
    expect(await modified("\uFEFFa\n", { old: "a", new: "b" })).toBe("\uFEFFb\n");
  });

  test("its mode", async () => {
    const { file, modify } = scene("a");
    chmodSync(file, 0o755);
    await modify([{ old: "a", new: "b" }], true);
    expect(statSync(file).mode & 0o777).toBe(0o755);
  });

  test("its place behind a link", async () => {
    const { root, file, modify } = scene("a");
    symlinkSync("a.txt", path.join(root, "link"));
    expect(await modify([{ old: "a", new: "b" }], true, "link")).toEqual(
      success("Changed link: 1 replacement."),
    );
    expect([readFileSync(file, "utf8"), readdirSync(root)]).toEqual(["b", ["a.txt", "link"]]);
  });
});

describe("between the question and the answer", () => {
  const patterns = [{ old: "a", new: "b" }];

  test("a file that changed elsewhere is asked about again, with the new diff", async () => {
    counters("T-FILE-7");
    const { file, modify } = scene("a\n");
    await modify(patterns);
    writeFileSync(file, "new\na\n");
    expect([await modify(patterns, true), readFileSync(file, "utf8")]).toMatchObject([
      {
        type: "needs_input",
        question: { context: "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n new\n-a\n+b\n" },
      },
      "new\na\n",
    ]);
    expect([await modify(patterns, true), readFileSync(file, "utf8")]).toEqual([
      success("Changed a.txt: 1 replacement."),
      "new\nb\n",
    ]);
  });

  test("a yes to one replacement does not make the others that have become possible", async () => {
    counters("T-FILE-7");
    const everywhere = [{ old: "a", new: "b", replace_all: true }];
    const { file, modify } = scene("a\n");
    await modify(everywhere);
    writeFileSync(file, "a\na\na\n");
    expect((await modify(everywhere, true)).type).toBe("needs_input");
    expect(readFileSync(file, "utf8")).toBe("a\na\na\n");
  });

  test("a file that was changed and changed back is the one that was shown", async () => {
    const { file, modify } = scene("a\n");
    await modify(patterns);
    writeFileSync(file, "other\n");
    writeFileSync(file, "a\n");
    expect((await modify(patterns, true)).type).toBe("success");
  });

  test("a no stands, even if the file has changed", async () => {
    const { file, modify } = scene("a\n");
    await modify(patterns);
    writeFileSync(file, "a\nmore\n");
    expect(await modify(patterns, false)).toEqual(
      success("The user declined the changes to a.txt. Nothing was changed."),
    );
  });

  test("a file that became a link to another one of the workspace is asked about again", async () => {
    counters("T-FILE-7");
    const { root, file, modify } = scene("a\n");
    await modify(patterns);
    renameSync(file, path.join(root, "important.txt"));
    symlinkSync("important.txt", file);
    expect([
      await modify(patterns, true),
      readFileSync(path.join(root, "important.txt"), "utf8"),
    ]).toMatchObject([
      {
        type: "needs_input",
        question: { text: 'Apply these changes to "a.txt" (a link to "important.txt")?' },
      },
      "a\n",
    ]);
  });

  test("a file in a folder that became a link is asked about again", async () => {
    counters("T-FILE-7");
    const { root, modify } = scene("");
    for (const folder of ["docs", "other"]) {
      mkdirSync(path.join(root, folder));
      writeFileSync(path.join(root, folder, "b.txt"), "a\n");
    }
    await modify(patterns, undefined, "docs/b.txt");
    rmSync(path.join(root, "docs"), { recursive: true });
    symlinkSync("other", path.join(root, "docs"));
    expect([
      (await modify(patterns, true, "docs/b.txt")).type,
      readFileSync(path.join(root, "other", "b.txt"), "utf8"),
    ]).toEqual(["needs_input", "a\n"]);
  });

  test("a file that became a hard link is left alone", async () => {
    counters("T-FILE-7");
    const outside = path.join(temporaryFolder(), "secret");
    writeFileSync(outside, "a\n");
    const { file, modify } = scene("a\n");
    await modify(patterns);
    rmSync(file);
    linkSync(outside, file);
    expect([await modify(patterns, true), readFileSync(outside, "utf8")]).toMatchObject([
      { type: "error", message: expect.stringContaining("is a hard link") },
      "a\n",
    ]);
  });

  test("a yes to other patterns does not count", async () => {
    const { file, modify } = scene("a\n");
    await modify([{ old: "a", new: "c" }]);
    expect([(await modify(patterns, true)).type, readFileSync(file, "utf8")]).toEqual([
      "needs_input",
      "a\n",
    ]);
  });

  test("a file that was deleted stays deleted", async () => {
    const { root, file, modify } = scene("a\n");
    await modify(patterns);
    rmSync(file);
    expect(await modify(patterns, true)).toMatchObject({
      message: "a.txt does not exist. Use fs_list_files to see which files exist.",
    });
    expect(readdirSync(root)).toEqual([]);
  });

  test("a file that became a folder, or a link to the outside, is left alone", async () => {
    const outside = temporaryFolder();
    writeFileSync(path.join(outside, "secret"), "a\n");
    const { file, modify } = scene("a\n");
    await modify(patterns);
    rmSync(file);
    symlinkSync(path.join(outside, "secret"), file);
    const linked = await modify(patterns, true);
    rmSync(file);
    mkdirSync(file);
    const folder = await modify(patterns, true);
    expect([linked.type, folder.type, readFileSync(path.join(outside, "secret"), "utf8")]).toEqual([
      "error",
      "error",
      "a\n",
    ]);
  });
});

describe("a file is refused", () => {
  test("if it is not text", async () => {
    const { file, modify } = scene(Buffer.from([0x61, 0xff]));
    const message = "a.txt cannot be changed: it is binary, or not UTF-8 text.";
    expect(await modify([{ old: "a", new: "b" }], true)).toMatchObject({ message });
    expect(readFileSync(file)).toEqual(Buffer.from([0x61, 0xff]));
  });

  test("if it is too large, a folder or missing", async () => {
    const { root, file, modify } = scene("a");
    truncateSync(file, 8 * 1024 ** 2 + 1);
    const messages: string[] = [];
    for (const name of ["a.txt", ".", "no.txt", "no/no.txt"]) {
      const outcome = await modify([{ old: "a", new: "b" }], true, name);
      messages.push(outcome.type === "error" ? outcome.message : outcome.type);
    }
    expect([messages, readdirSync(root)]).toEqual([
      [
        "a.txt is larger than 8 MiB, too large for this tool to change.",
        ". is a folder, not a file.",
        "no.txt does not exist. Use fs_list_files to see which files exist.",
        "no/no.txt does not exist. Use fs_list_files to see which files exist.",
      ],
      ["a.txt"],
    ]);
  });
});

test("a question stays on one line, whatever the name of the file", async () => {
  const { root, modify } = scene("");
  writeFileSync(path.join(root, "a?\n+"), "a");
  const asked = await modify([{ old: "a", new: "b" }], undefined, "a?\n+");
  expect(asked).toMatchObject({
    question: {
      text: 'Apply these changes to "a?\\n+"?',
      context: expect.stringMatching(/^--- a\/"a\?\\n\+"\n\+\+\+ b/),
    },
  });
});
