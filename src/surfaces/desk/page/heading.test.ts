import { describe, expect, test } from "vitest";
import type { DecisionJson } from "../wire.ts";
import { describeItem, fileChangeOf, headingKind, wishOf } from "./heading.tsx";
import { type Item, readItem } from "./item.ts";

const DIFF = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n--- b\n+++ c\n d\n@@ -9 +9,2 @@\n-e\n+f\n+g";

const EDIT: DecisionJson = {
  workspace: "/w",
  conversation: "c",
  id: "c1.apply_changes.1",
  kind: "question",
  tool: "fs_modify_file",
  question_id: "apply_changes",
  label: "fs_modify_file",
  source: { source: "tool", name: "fs_modify_file" },
  origin: { type: "builtin" },
  arguments: { path: "src/__init__.py" },
  question: {
    text: "Apply these changes to src/__init__.py?",
    answer_type: { type: "boolean" },
    context: DIFF,
  },
  acts: true,
  asked_at: "2026-01-02 03:04:05.6",
};

function item(fields: Partial<DecisionJson>): Item {
  const found = readItem({ ...EDIT, ...fields });
  if (found === undefined) throw new Error("not an item");
  return found;
}

describe("the heading of a change to a file", () => {
  test("has what happens to which file, and how many lines", () => {
    const change = { verb: "Edit", path: "src/__init__.py", more: 0, added: 3, removed: 2 };
    expect(fileChangeOf(item({}))).toEqual(change);
    expect(describeItem(item({}))).toBe("Edit src/__init__.py");
  });

  test.each([
    ["create_file", "fs_create_file", "Create"],
    ["overwrite_file", "fs_create_file", "Overwrite"],
    ["delete_file", "fs_delete_file", "Delete"],
  ])("says what is asked: %s", (id, tool, verb) => {
    expect(fileChangeOf(item({ question_id: id, tool }))?.verb).toBe(verb);
  });

  test("is the same for the permission to run the tool", () => {
    const asked = { question: { text: "Run x?", answer_type: { type: "boolean" } } };
    expect(fileChangeOf(item({ kind: "permission", ...asked }))).toEqual({
      verb: "Edit",
      path: "src/__init__.py",
      more: 0,
      added: 0,
      removed: 0,
    });
  });

  test("of several files has the first, and how many more there are", () => {
    const files = ["x", "y", "z"].map((path) => ({ path, content: "" }));
    const several = item({
      tool: "fs_edit",
      arguments: { files },
      question: { ...EDIT.question, context: `${DIFF}\n--- /dev/null\n+++ b/y` },
    });
    expect([fileChangeOf(several), describeItem(several)]).toEqual([
      { verb: "Edit", path: "x", more: 2, added: 3, removed: 2 },
      "Edit x and 2 more files",
    ]);
  });

  test.each<[string, Partial<DecisionJson>]>([
    ["a tool from elsewhere", { origin: { type: "local", command: "sh edit.sh" } }],
    ["a record that does not say where the tool is from", { origin: undefined as never }],
    ["a question of the assistant", { source: { source: "assistant" } }],
    ["another question", { question_id: "constructor" }],
    ["arguments without a path", { arguments: { path: ["a"] } }],
    ["a question that does not act", { acts: false }],
    ["a delivery", { kind: "delivery" }],
  ])("is not used for %s", (_what, fields) => {
    expect(fileChangeOf(item(fields))).toBeUndefined();
  });
});

test.each<[string, Partial<DecisionJson>]>([
  ["Run npm test", { tool: "shell_run", arguments: { command: "npm test" } }],
  [
    'Run command: "npm test", network: true',
    { tool: "shell_run", arguments: { command: "npm test", network: true } },
  ],
  ["Run deploy: live", { tool: "deploy", arguments: { where: "live" } }],
  ["Run deploy", { tool: "deploy", arguments: {} }],
  [
    "Run shell_run: npm test",
    { tool: "shell_run", arguments: { command: "npm test" }, origin: { type: "program" } },
  ],
])("a call that needs permission is described by what it runs: %s", (words, fields) => {
  const question = { text: "Run it?", answer_type: { type: "boolean" } };
  expect(describeItem(item({ kind: "permission", question, ...fields }))).toBe(words);
});

describe("the heading of a page", () => {
  const own = { origin: { type: "program" } as const };
  const asking = (text: string) => ({
    ...own,
    question: { text, answer_type: { type: "boolean" } },
  });

  test("is the question itself, if it is short", () => {
    expect(headingKind([item(asking("Deploy?"))])).toBe("question");
  });

  test("is who asks, if there are several questions, or one of several lines, or a long one", () => {
    const kinds = [
      headingKind([item(asking("Deploy?")), item(asking("Where?"))]),
      headingKind([item(asking("Deploy?\nNow?"))]),
      headingKind([item(asking("x".repeat(200)))]),
    ];
    expect(kinds).toEqual(["wish", "wish", "wish"]);
  });
});

describe("the words for what someone waits for", () => {
  const asked = { question: { text: "Go?", answer_type: { type: "boolean" } } };
  const command = {
    ...asked,
    kind: "permission",
    tool: "shell_run",
    arguments: { command: "ls" },
    origin: { type: "builtin", confinement: "sandbox" },
    workspace: "/home/ada/web-shop",
  } as const;
  const deploy = {
    ...command,
    tool: "deploy",
    label: "deploy",
    origin: { type: "program" },
  } as const;

  test.each<[string, Partial<DecisionJson>]>([
    ["jp wants to edit a file in w", {}],
    ["jp wants to run a command in web-shop, in the sandbox", command],
    ["jp wants to run a command in web-shop/src, in the sandbox", { ...command, folder: "src" }],
    ["jp wants to run shell_run in web-shop", { ...command, origin: { type: "program" } }],
    ["jp wants to run deploy in web-shop", deploy],
    [
      "jp wants to show the model the result of deploy in web-shop",
      { ...deploy, kind: "delivery" },
    ],
    ["jp stopped while it was running deploy in web-shop", { ...deploy, kind: "in_doubt" }],
    ["deploy asks before it goes ahead in web-shop", { ...deploy, kind: "question" }],
    ["deploy waits for your answer in web-shop", { ...deploy, kind: "question", acts: false }],
    [
      "The assistant waits for your answer in web-shop",
      { ...deploy, kind: "question", acts: false, source: { source: "assistant" } },
    ],
  ])("say who wants what, and where: %s", (words, fields) => {
    const [before, value, after, place, confined] = wishOf(item(fields));
    expect(`${before}${value}${after} in ${place}${confined}`).toBe(words);
  });

  test("count several calls", () => {
    expect(wishOf(item(command), 3, true).join("")).toBe("jp wants to make 3 callsweb-shop");
    const permissions = [
      item({ kind: "permission", id: "a" }),
      item({ kind: "permission", id: "b" }),
    ];
    expect(headingKind(permissions as [Item, Item])).toBe("calls");
  });

  test("count the answers of a form", () => {
    const form = { ...deploy, kind: "question", acts: false } as const;
    expect(wishOf(item(form), 3).join("")).toBe("deploy waits for 3 answersweb-shop");
  });
});
