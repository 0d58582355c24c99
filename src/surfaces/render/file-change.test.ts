import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import type { JsonObject } from "../../util/index.ts";
import { changeTitle, findFileChange } from "./file-change.ts";

const BUILTIN = { type: "builtin" } as const;
const DIFF = [
  "--- a/src/a.py",
  "+++ b/src/a.py",
  "@@ -1,3 +1,3 @@",
  " import os",
  "--- old",
  "+++ new",
  " x = 1",
  "",
].join("\n");

function edit(patterns: readonly JsonObject[], context = DIFF, path = "src/a.py") {
  const call = { name: "fs_modify_file", arguments: { path, patterns: [...patterns] } };
  return findFileChange(call, {
    origin: BUILTIN,
    questionId: "apply_changes",
    question: { context },
  });
}

function create(content: string, context: string, path = "a b.txt") {
  const call = { name: "fs_create_file", arguments: { path, content } };
  return findFileChange(call, {
    origin: BUILTIN,
    questionId: "create_file",
    question: { context },
  });
}

describe("a change to a file", () => {
  test("has the file, the number of lines that come and go, and the diff", () => {
    const heading = "Edit src/a.py +1 −1";
    const diff = ["@@ -1,3 +1,3 @@", " import os", "--- old", "+++ new", " x = 1"];
    expect(edit([{ old: "-- old", new: "++ new" }])).toEqual({
      heading,
      added: 1,
      removed: 1,
      files: [{ verb: "Edit", added: 1, removed: 1, heading, about: "", diff }],
      others: [],
    });
  });

  test("of a new file has its content, and a path of several words in quotes", () => {
    const context = "--- /dev/null\n+++ b/a b.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n";
    expect(create("one\ntwo\n", context)).toMatchObject({
      heading: 'Create "a b.txt" +2',
      files: [{ verb: "Create", added: 2, removed: 0, about: "", diff: ["+one", "+two"] }],
      others: [],
    });
  });

  test("of an empty file has no diff, and says so", () => {
    expect(create("", "An empty file.")).toMatchObject({
      heading: 'Create "a b.txt"',
      files: [{ verb: "Create", added: 0, removed: 0, about: "An empty file.", diff: [] }],
      others: [],
    });
  });

  test("that deletes a file says what there is about it", () => {
    const call = { name: "fs_delete_file", arguments: { path: "x" } };
    const question = { context: "1 line, 4 bytes." };
    const asked = { origin: BUILTIN, questionId: "delete_file", question };
    expect(findFileChange(call, asked)).toMatchObject({
      heading: "Delete x",
      files: [{ about: "1 line, 4 bytes.", diff: [] }],
    });
  });

  test("does not repeat lines that a pattern only keeps", () => {
    const kept = Array.from({ length: 20 }, (_, index) => `line ${index}`).join("\n");
    const pattern = { old: `${kept}\n-- old\n${kept}`, new: `${kept}\n++ new\n${kept}` };
    expect(edit([pattern])?.others).toEqual([]);
  });

  test.each([
    ["a path that is written in another way", "./src/a.py", [], [["path", "./src/a.py"]]],
    [
      "patterns that a later one takes back",
      "src/a.py",
      [
        { old: "a", new: "secret" },
        { old: "secret", new: "a" },
      ],
      [
        ["patterns[0]", { old: "a", new: "secret" }],
        ["patterns[1]", { old: "secret", new: "a" }],
      ],
    ],
    [
      "keys that the tool does not know",
      "src/a.py",
      [{ old: "-- old", new: "++ new", mode: 7 }],
      [["patterns[0]", { old: "-- old", new: "++ new", mode: 7 }]],
    ],
  ])("shows arguments that are not in the diff: %s", (_what, path, patterns, others) => {
    counters("T-TERM-11");
    expect(edit(patterns, DIFF, path)?.others).toEqual(others);
  });

  test("shows the whole content if the diff is another one's", () => {
    counters("T-TERM-11");
    const context = "--- /dev/null\n+++ b/a b.txt\n@@ -0,0 +1 @@\n+harmless\n";
    expect(create("rm -rf /\n", context)?.others).toEqual([["content", "rm -rf /\n"]]);
  });

  test.each([
    ["text before it", "evil\none\ntwo\n", ["+one", "+two"]],
    ["text after it", "one\ntwo\nevil\n", ["+one", "+two"]],
    ["text in between", "one\nevil\ntwo\n", ["+one", "@@ -0,0 +3 @@", "+two"]],
    ["the rest of a line", "one\ntwo # evil\n", ["+one", "+two"]],
    ["another end of a line", "one\r\ntwo\n", ["+one", "+two"]],
    ["no end of the last line", "one\ntwo", ["+one", "+two"]],
    ["an end of the last line", "one\ntwo\n", ["+one", "+two", "\\ No newline at end of file"]],
    ["lines that look kept", "one\ntwo\n", [" one", "+two"]],
    ["less than is shown", "one\n", ["+one", "+two"]],
    ["nothing", "", ["+one", "+two"]],
  ])(
    "shows the whole content of a new file unless the diff is exactly that: %s",
    (_what, content, shown) => {
      counters("T-TERM-11");
      const context = ["--- /dev/null", "+++ b/a b.txt", "@@ -0,0 +1,2 @@", ...shown, ""].join(
        "\n",
      );
      expect(create(content, context)?.others).toEqual([["content", content]]);
    },
  );

  test.each([
    ["ends without a line break", "one\ntwo", ["+one", "+two", "\\ No newline at end of file"]],
    ["has other ends of lines", "one\r\ntwo\r\n", ["+one\r", "+two\r"]],
    ["ends with empty lines", "one\n\n\n", ["+one", "+", "+"]],
    ["is one line break", "\n", ["+"]],
    ["looks like a diff", "@@ -1 +1 @@\n--- a\n+++ b\n", ["+@@ -1 +1 @@", "+--- a", "++++ b"]],
  ])(
    "shows the content of a new file only in the diff if that is all of it: it %s",
    (_what, content, shown) => {
      const context = ["--- /dev/null", "+++ b/a b.txt", "@@ -0,0 +1,2 @@", ...shown, ""].join(
        "\n",
      );
      expect(create(content, context)).toMatchObject({ files: [{ diff: shown }], others: [] });
    },
  );

  test("cannot have a path that looks like another one and its counts", () => {
    counters("T-TERM-11");
    const context = "--- a/x +1 −1\n+++ b/x +1 −1\n@@ -1 +1 @@\n-a\n+b\n";
    expect(edit([{ old: "a", new: "b" }], context, "x +1 −1")?.heading).toMatch(
      /^Edit "x \+1 .+1" \+1 −1$/,
    );
  });
});

function editSeveral(files: readonly JsonObject[], context: string, more: JsonObject = {}) {
  const call = { name: "fs_edit", arguments: { files: [...files], ...more } };
  return findFileChange(call, {
    origin: BUILTIN,
    questionId: "apply_changes",
    question: { context },
  });
}

describe("a change to several files", () => {
  const EDIT_A = { path: "src/a.py", patterns: [{ old: "-- old", new: "++ new" }] };
  const NEW_B = { path: "b c", content: "one\ntwo\n" };
  const DIFF_B = "--- /dev/null\n+++ b/b c\n@@ -0,0 +1,2 @@\n+one\n+two\n";
  const EMPTY = "--- /dev/null\n+++ b/empty\n";

  test("has a heading and a diff for each", () => {
    const files = [EDIT_A, { path: "empty", content: "" }, NEW_B];
    expect(editSeveral(files, DIFF + EMPTY + DIFF_B)).toMatchObject({
      heading: "Edit 3 files +3 −1",
      added: 3,
      removed: 1,
      files: [
        { verb: "Edit", heading: "Edit src/a.py +1 −1", diff: { length: 5 } },
        { verb: "Create", heading: "Create empty", about: "An empty file.", diff: [] },
        { verb: "Create", heading: 'Create "b c" +2', about: "", diff: ["+one", "+two"] },
      ],
      others: [],
    });
  });

  test("of one file looks like any change to one file", () => {
    expect([editSeveral([EDIT_A], DIFF)?.heading, editSeveral([NEW_B], DIFF_B)?.heading]).toEqual([
      "Edit src/a.py +1 −1",
      'Create "b c" +2',
    ]);
  });

  test("cannot have lines that look like another file", () => {
    counters("T-TERM-11");
    const lines = [" x", "--- a/evil", "+++ b/evil", "@@ -9 +9 @@", "-1", "+2"];
    const context = ["--- a/y", "+++ b/y", "@@ -1,2 +1,2 @@", ...lines, ""].join("\n");
    const found = editSeveral([{ path: "y", patterns: [] }], context + DIFF_B);
    expect(found?.files.map(({ heading, diff }) => [heading, diff.length])).toEqual([
      ["Edit y +2 −2", 7],
      ['Create "b c" +2', 2],
    ]);
  });

  test("keeps the note about a missing line break with its file", () => {
    const note = "\\ No newline at end of file";
    const diff = `--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n${note}\n+b\n${note}\n`;
    const file = { path: "y", patterns: [{ old: "a", new: "b" }] };
    const found = editSeveral([file, NEW_B], diff + DIFF_B);
    expect(found?.files.map((each) => each.diff.length)).toEqual([5, 2]);
  });

  test("shows arguments that are not in the diffs", () => {
    counters("T-TERM-11");
    const files = [
      { ...EDIT_A, path: "./src/a.py", content: "" },
      { ...NEW_B, content: "rm -rf /\n", patterns: [] },
      { path: "more", content: "hidden" },
    ];
    expect(editSeveral(files, DIFF + DIFF_B, { mode: 7 })?.others).toEqual([
      ["files[0].path", "./src/a.py"],
      ["files[1].content", "rm -rf /\n"],
      ["files[2]", { path: "more", content: "hidden" }],
      ["mode", 7],
    ]);
  });

  test("is not shown as one before it has asked with a diff", () => {
    expect([editSeveral([EDIT_A], ""), editSeveral([EDIT_A], "Trust me.")]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe("the question of another tool", () => {
  const call = { name: "fs_modify_file", arguments: { path: "a", patterns: [] } };
  const question = { context: DIFF };

  test.each([
    ["a local tool", { origin: { type: "local", command: "sh" } as const }],
    ["no known source", {}],
    ["another question", { origin: BUILTIN, questionId: "delete_file" }],
    ["a name of every object", { origin: BUILTIN, questionId: "constructor" }],
  ])("is not shown as a change: %s", (_what, asked) => {
    counters("T-TERM-11");
    expect(
      findFileChange(call, { questionId: "apply_changes", question, ...asked }),
    ).toBeUndefined();
  });
});

test.each([
  ["Edit a", "fs_modify_file", { path: "a", patterns: [] }],
  ["Create a", "fs_create_file", { path: "a", content: "" }],
  ["Delete a", "fs_delete_file", { path: "a" }],
  ["Edit a", "fs_edit", { files: [{ path: "a", patterns: [] }] }],
  [
    "Edit a, Create b, Create c, 2 more",
    "fs_edit",
    {
      files: [
        { path: "a", patterns: [] },
        ...["b", "c", "d", "e"].map((path) => ({ path, content: "" })),
      ],
    },
  ],
  [undefined, "fs_edit", { files: [{ path: "a", patterns: [], mode: 7 }] }],
  [undefined, "fs_edit", { files: [] }],
  [undefined, "fs_modify_file", { path: "a", line: 3 }],
  [undefined, "fs_read_file", { path: "a" }],
  [undefined, "fs_delete_file", { path: 7 }],
])("a call that has not asked has the title %s", (title, name, args) => {
  expect(changeTitle({ name, arguments: args })).toBe(title);
});
