import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../../../test/security/threats.ts";
import { snapshotOf, temporaryFolder } from "../../../../stores/temporary-workspace.fixture.ts";
import type { Outcome } from "../../../../record/tool/index.ts";
import type { JsonObject } from "../../../../util/index.ts";
import { askedTool } from "./asked-tool.fixture.ts";
import { createEditTool } from "./edit-tool.ts";

interface Scene {
  readonly root: string;
  readonly edit: (files: readonly JsonObject[], answer?: boolean) => Promise<Outcome>;
  readonly read: (name: string) => string;
}

/** A folder with `a.txt` and `b/c.txt`, which both say `old`. */
function scene(): Scene {
  const root = temporaryFolder();
  mkdirSync(path.join(root, "b"));
  for (const name of ["a.txt", "b/c.txt"]) writeFileSync(path.join(root, name), "old\n");
  const tool = askedTool(() => createEditTool({ root }).tool);
  return {
    root,
    edit: (files, answer) => {
      const args = { files: [...files] };
      return answer === undefined ? tool.ask(args) : tool.answer(args, answer);
    },
    read: (name) => readFileSync(path.join(root, name), "utf8"),
  };
}

const replace = (file: string, fresh = "new") => ({
  path: file,
  patterns: [{ old: "old", new: fresh }],
});
const create = (file: string, content = "new\n") => ({ path: file, content });
const BOTH = [replace("a.txt"), replace("b/c.txt")];

async function messageOf(outcome: Promise<Outcome>): Promise<string> {
  const ended = await outcome;
  return ended.type === "error" ? ended.message : ended.type;
}

describe("changes to several files", () => {
  test("are one question, with one diff of all files", async () => {
    counters("T-FILE-1");
    const { root, edit } = scene();
    const before = snapshotOf(root);
    const asked = await edit([...BOTH, create("d/e.txt"), create("empty", "")]);
    expect([asked, snapshotOf(root)]).toEqual([
      {
        type: "needs_input",
        question: {
          id: "apply_changes",
          text: "Apply these changes to 4 files?",
          context: [
            "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n",
            "--- a/b/c.txt\n+++ b/b/c.txt\n@@ -1 +1 @@\n-old\n+new\n",
            "--- /dev/null\n+++ b/d/e.txt\n@@ -0,0 +1 @@\n+new\n",
            "--- /dev/null\n+++ b/empty\n",
          ].join(""),
          answerType: { type: "boolean" },
          default: true,
          exclusive: true,
          allowsNote: true,
          persistence: "turn",
          rememberAs: "all edits this turn",
          binding: expect.stringMatching(/^[\da-f]{64}$/),
        },
      },
      before,
    ]);
  });

  test("are applied together after a yes", async () => {
    const { root, edit, read } = scene();
    const files = [...BOTH, create("d/e.txt"), create("empty", "")];
    expect(await edit(files, true)).toEqual({
      type: "success",
      content:
        "Changed a.txt: 1 replacement.\nChanged b/c.txt: 1 replacement.\n" +
        "Created d/e.txt.\nCreated empty.",
    });
    expect([files.map(({ path: file }) => read(file)), readdirSync(root)]).toEqual([
      ["new\n", "new\n", "new\n", ""],
      ["a.txt", "b", "d", "empty"],
    ]);
  });

  test("are not made after a no", async () => {
    const { root, edit } = scene();
    const before = snapshotOf(root);
    expect([await edit([...BOTH, create("d/e.txt")], false), snapshotOf(root)]).toEqual([
      { type: "success", content: "The user declined the changes. Nothing was changed." },
      before,
    ]);
  });

  test("name up to three files in their question", async () => {
    const { edit } = scene();
    const asked = [await edit(BOTH), await edit([...BOTH, create("x y")])];
    expect(asked.map((each) => each.type === "needs_input" && each.question.text)).toEqual([
      "Apply these changes to a.txt and b/c.txt?",
      "Apply these changes to a.txt, b/c.txt and x y?",
    ]);
  });

  test("show the file behind a link", async () => {
    counters("T-FILE-4");
    const { root, edit } = scene();
    symlinkSync("a.txt", path.join(root, "link"));
    symlinkSync("b", path.join(root, "docs"));
    const asked = await edit([replace("link"), create("docs/new"), create("x"), create("y")]);
    expect(asked).toMatchObject({
      question: {
        context: expect.stringMatching(/^--- a\/a\.txt\n\+\+\+ b\/a\.txt\n[^]*\+\+\+ b\/b\/new\n/),
      },
    });
  });

  test("accept the empty fields that some models fill in", async () => {
    const { edit, read } = scene();
    const files = [
      { ...replace("a.txt"), content: "" },
      { ...create("d"), patterns: [] },
    ];
    await edit(files, true);
    expect([read("a.txt"), read("d")]).toEqual(["new\n", "new\n"]);
  });

  test("keep each file's line endings and byte order mark", async () => {
    const { root, edit, read } = scene();
    writeFileSync(path.join(root, "a.txt"), "\uFEFFold\r\nx\r\n");
    await edit([replace("a.txt", "1\n2"), replace("b/c.txt", "1\n2")], true);
    expect([read("a.txt"), read("b/c.txt")]).toEqual(["\uFEFF1\r\n2\r\nx\r\n", "1\n2\n"]);
  });
});

describe("nothing is asked or written if", () => {
  test.each<readonly [what: string, files: readonly JsonObject[], message: string]>([
    [
      "patterns of any file are not found, and all such files are named",
      [{ path: "a.txt", patterns: [{ old: "no", new: "" }] }, create("new"), create("b/c.txt")],
      "files[0]: patterns[0].old was not found, so nothing was changed. It must match the file exactly, " +
        "whitespace included, after the previous patterns were applied. Read the file again.\n" +
        "files[2]: b/c.txt exists already. Change it with patterns, or overwrite it with fs_create_file.",
    ],
    [
      "a file to change does not exist",
      [replace("a.txt"), replace("no.txt")],
      "files[1]: no.txt does not exist. Use fs_list_files to see which files exist.",
    ],
    [
      "a path leads outside",
      [replace("a.txt"), create("../x")],
      "files[1]: ../x is outside the workspace. Use a path relative to the workspace root.",
    ],
    [
      "a file is protected",
      [replace("a.txt"), create(".jp/config.toml")],
      "files[1]: .jp/config.toml is protected: the files of Git and jp (.git, .jp, .jp.*) cannot be read or changed.",
    ],
    [
      "a file has patterns and content",
      [{ ...replace("a.txt"), content: "x" }],
      "a.txt has both patterns and content. Give patterns to change an existing file, or content to create a new one.",
    ],
    [
      "a file has neither",
      [{ path: "a.txt" }],
      "a.txt has neither patterns nor content. Give patterns to change an existing file, or content to create a new one.",
    ],
    [
      "a new text is not Unicode",
      [create("x", "\uDC00")],
      "The content is not valid Unicode text.",
    ],
  ])("%s", async (_what, files, message) => {
    const { root, edit } = scene();
    const before = snapshotOf(root);
    expect([await messageOf(edit(files)), snapshotOf(root)]).toEqual([message, before]);
  });

  test.each<readonly [how: string, one: JsonObject, two: JsonObject]>([
    ["the same path", replace("a.txt"), replace("a.txt")],
    ["a path with ./", replace("a.txt"), replace("./b/../a.txt")],
    ["a link to it", replace("a.txt"), replace("link")],
    ["a link to its folder", replace("b/c.txt"), replace("docs/c.txt")],
    ["the same new file", create("n"), create("./n")],
    ["a new file behind a link to a folder", create("b/n"), create("docs/n")],
    ["a new file in another case", create("new/N"), create("NEW/n")],
    ["a new file in another Unicode form", create("\u00E9"), create("e\u0301")],
    ["a new file where the other needs a folder", create("n"), create("n/m")],
    ["a new folder where the other is a file", create("n/m"), create("n")],
  ])("a file is given twice: %s", async (_how, one, two) => {
    counters("T-FILE-7");
    const { root, edit } = scene();
    symlinkSync("a.txt", path.join(root, "link"));
    symlinkSync("b", path.join(root, "docs"));
    const before = snapshotOf(root);
    expect([await messageOf(edit([one, two], true)), snapshotOf(root)]).toEqual([
      expect.stringMatching(/^files\[1\]: .* are the same file, or need the same place\./),
      before,
    ]);
  });
});

describe("between the question and the answer", () => {
  test("a change of one file makes it ask about all of them again", async () => {
    counters("T-FILE-7");
    const { root, edit, read } = scene();
    await edit(BOTH);
    writeFileSync(path.join(root, "b/c.txt"), "more\nold\n");
    expect([await edit(BOTH, true), read("a.txt")]).toMatchObject([
      {
        type: "needs_input",
        question: { context: expect.stringContaining("@@ -1,2 +1,2 @@\n more\n-old\n+new\n") },
      },
      "old\n",
    ]);
    await edit(BOTH, true);
    expect([read("a.txt"), read("b/c.txt")]).toEqual(["new\n", "more\nnew\n"]);
  });

  test.each<readonly [what: string, change: (root: string) => void]>([
    [
      "a file became a link to another one",
      (root) => {
        renameSync(path.join(root, "a.txt"), path.join(root, "important.txt"));
        symlinkSync("important.txt", path.join(root, "a.txt"));
      },
    ],
    [
      "a folder became a link to another one",
      (root) => {
        renameSync(path.join(root, "b"), path.join(root, "important"));
        symlinkSync("important", path.join(root, "b"));
      },
    ],
  ])("another file makes it ask again: %s", async (_what, change) => {
    counters("T-FILE-7");
    const { root, edit, read } = scene();
    await edit(BOTH);
    change(root);
    expect([(await edit(BOTH, true)).type, read("a.txt"), read("b/c.txt")]).toEqual([
      "needs_input",
      "old\n",
      "old\n",
    ]);
  });

  test.each<readonly [what: string, change: (root: string, outside: string) => void]>([
    ["was deleted", (root) => rmSync(path.join(root, "b/c.txt"))],
    [
      "became a link to the outside",
      (root, outside) => {
        rmSync(path.join(root, "b/c.txt"));
        symlinkSync(outside, path.join(root, "b/c.txt"));
      },
    ],
    [
      "became a hard link",
      (root, outside) => {
        rmSync(path.join(root, "b/c.txt"));
        linkSync(outside, path.join(root, "b/c.txt"));
      },
    ],
    [
      "became a folder",
      (root) => {
        rmSync(path.join(root, "b/c.txt"));
        mkdirSync(path.join(root, "b/c.txt"));
      },
    ],
  ])("a file that is another one by then has nothing written: %s", async (_what, change) => {
    counters("T-FILE-7");
    const outside = path.join(temporaryFolder(), "secret");
    writeFileSync(outside, "old\n");
    const { root, edit, read } = scene();
    await edit(BOTH);
    change(root, outside);
    expect([(await edit(BOTH, true)).type, read("a.txt"), readFileSync(outside, "utf8")]).toEqual([
      "error",
      "old\n",
      "old\n",
    ]);
  });

  test("a new file that exists by then is left alone, and so are the others", async () => {
    counters("T-FILE-7");
    const { root, edit, read } = scene();
    const files = [replace("a.txt"), create("n")];
    await edit(files);
    writeFileSync(path.join(root, "n"), "from someone else");
    expect([(await edit(files, true)).type, read("a.txt"), read("n")]).toEqual([
      "error",
      "old\n",
      "from someone else",
    ]);
  });

  test("a yes to the same files in other words does not count", async () => {
    const { edit, read } = scene();
    await edit(BOTH);
    const other = [replace("a.txt"), replace("b/c.txt", "evil")];
    expect([(await edit(other, true)).type, read("a.txt")]).toEqual(["needs_input", "old\n"]);
  });
});
