import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import type { JsonObject } from "../util/index.ts";
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
    expect(edit([{ old: "-- old", new: "++ new" }])).toEqual({
      verb: "Edit",
      added: 1,
      removed: 1,
      heading: "Edit src/a.py +1 −1",
      about: "",
      diff: ["@@ -1,3 +1,3 @@", " import os", "--- old", "+++ new", " x = 1"],
      others: [],
    });
  });

  test("of a new file has its content, and a path of several words in quotes", () => {
    const context = "--- /dev/null\n+++ b/a b.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n";
    expect(create("one\ntwo\n", context)).toEqual({
      verb: "Create",
      added: 2,
      removed: 0,
      heading: 'Create "a b.txt" +2',
      about: "",
      diff: ["+one", "+two"],
      others: [],
    });
  });

  test("of an empty file has no diff, and says so", () => {
    expect(create("", "An empty file.")).toEqual({
      verb: "Create",
      added: 0,
      removed: 0,
      heading: 'Create "a b.txt"',
      about: "An empty file.",
      diff: [],
      others: [],
    });
  });

  test("that deletes a file says what there is about it", () => {
    const call = { name: "fs_delete_file", arguments: { path: "x" } };
    const question = { context: "1 line, 4 bytes." };
    const asked = { origin: BUILTIN, questionId: "delete_file", question };
    expect(findFileChange(call, asked)).toMatchObject({
      heading: "Delete x",
      about: "1 line, 4 bytes.",
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
      expect(create(content, context)).toMatchObject({ diff: shown, others: [] });
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
  [undefined, "fs_modify_file", { path: "a", line: 3 }],
  [undefined, "fs_read_file", { path: "a" }],
  [undefined, "fs_delete_file", { path: 7 }],
])("a call that has not asked has the title %s", (title, name, args) => {
  expect(changeTitle({ name, arguments: args })).toBe(title);
});
