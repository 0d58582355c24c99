import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../../../test/security/threats.ts";
import { temporaryFolder } from "../../../../stores/temporary-workspace.fixture.ts";
import type { Outcome } from "../../../../record/tool/index.ts";
import { askedTool } from "./asked-tool.fixture.ts";
import { createCreateFileTool } from "./create-file-tool.ts";

interface Scene {
  readonly root: string;
  readonly file: string;
  readonly create: (content: string, answer?: boolean, name?: string) => Promise<Outcome>;
}

/** A root, which contains `a.txt` if `content` is given. */
function scene(content?: string | Buffer): Scene {
  const root = temporaryFolder();
  const file = path.join(root, "a.txt");
  if (content !== undefined) writeFileSync(file, content);
  const tool = askedTool(() => createCreateFileTool({ root }).tool);
  const create: Scene["create"] = (text, answer, name = "a.txt") => {
    const args = { path: name, content: text };
    return answer === undefined ? tool.ask(args) : tool.answer(args, answer);
  };
  return { root, file, create };
}

const success = (content: string) => ({ type: "success", content });

describe("a new file", () => {
  test.each(["", "a", "a\n", "a\r\nb\n", "ä€𝄞", "\uFEFFmarked", "a\0b"])(
    "with content %j is written exactly",
    async (content) => {
      const { root, file, create: call } = scene();
      expect(await call(content, true)).toEqual(success("Created a.txt."));
      expect([readFileSync(file, "utf8"), readdirSync(root)]).toEqual([content, ["a.txt"]]);
    },
  );

  test("is created only after a question that shows all of it", async () => {
    counters("T-FILE-3");
    const { root, file, create: call } = scene();
    expect([await call("one\ntwo"), readdirSync(root)]).toEqual([
      {
        type: "needs_input",
        question: {
          id: "create_file",
          text: "Create a.txt?",
          context:
            "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n",
          answerType: { type: "boolean" },
          default: true,
          exclusive: true,
          allowsNote: true,
          persistence: "turn",
          rememberAs: "all edits this turn",
          binding: expect.stringMatching(/^[\da-f]{64}$/),
        },
      },
      [],
    ]);
    expect(await call("one\ntwo", true)).toEqual(success("Created a.txt."));
    expect(readFileSync(file, "utf8")).toBe("one\ntwo");
  });

  test("is shown completely, however long it is", async () => {
    const content = Array.from({ length: 3000 }, (_, index) => `line ${index}\n`).join("");
    const asked = await scene().create(content);
    const context = asked.type === "needs_input" ? asked.question.context : "";
    const added = context?.split("\n").flatMap((line) => /^\+(?!\+)(.*)/.exec(line)?.[1] ?? []);
    expect(added?.map((line) => `${line}\n`).join("")).toBe(content);
  });

  test("that is empty is announced as such", async () => {
    expect(await scene().create("")).toMatchObject({ question: { context: "An empty file." } });
  });

  test("is not created after a no, which is not an error", async () => {
    const { root, create: call } = scene();
    await call("text", undefined, "b/a.txt");
    expect(await call("text", false, "b/a.txt")).toEqual(
      success("The user declined to create b/a.txt. Nothing was changed."),
    );
    expect(readdirSync(root)).toEqual([]);
  });

  test("gets the missing folders", async () => {
    const { root, create: call } = scene();
    expect(await call("text", true, "b/c/ü d.txt")).toEqual(success("Created b/c/ü d.txt."));
    expect(readFileSync(path.join(root, "b", "c", "ü d.txt"), "utf8")).toBe("text");
  });

  test("has the default mode", async () => {
    const { root, file, create: call } = scene();
    writeFileSync(path.join(root, "other"), "");
    await call("text", true);
    expect(statSync(file).mode).toBe(statSync(path.join(root, "other")).mode);
  });

  test("can have the longest possible name", async () => {
    const name = "x".repeat(255);
    expect(await scene().create("text", true, name)).toEqual(success(`Created ${name}.`));
  });

  test.each([
    ["below a file", "a.txt/b", "Cannot change a.txt/b: part of its path is not a folder."],
    [
      "deep below a file",
      "a.txt/b/c",
      "Cannot create a.txt/b/c: part of its path is not a folder.",
    ],
    ["with the path of a folder", "folder", "Cannot change folder: it is a folder."],
    ["with a trailing slash", "new/", "new/ names a folder, not a file."],
    ["with a name that is too long", "x".repeat(256), "its name is too long."],
    ["with the path of the root", ".", ". is a folder, not a file."],
  ])("%s is refused", async (_, name, message) => {
    const { root, create: call } = scene("text");
    mkdirSync(path.join(root, "folder"));
    const outcome = await call("text", true, name);
    expect(outcome).toMatchObject({ type: "error", message: expect.stringContaining(message) });
    expect(readdirSync(root).toSorted()).toEqual(["a.txt", "folder"]);
  });

  test("with invalid Unicode is refused", async () => {
    const { root, create: call } = scene();
    expect(await call("\uD800")).toMatchObject({
      message: "The content is not valid Unicode text.",
    });
    expect(readdirSync(root)).toEqual([]);
  });
});

describe("an existing file", () => {
  test("is overwritten only after a question that shows the diff", async () => {
    const { file, create: call } = scene("one\ntwo\n");
    const asked = await call("one\n2\n");
    expect([asked, readFileSync(file, "utf8")]).toEqual([
      {
        type: "needs_input",
        question: {
          id: "overwrite_file",
          text: "Overwrite a.txt?",
          context: "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
          answerType: { type: "boolean" },
          default: false,
          exclusive: true,
          allowsNote: true,
          persistence: "none",
          binding: expect.stringMatching(/^[\da-f]{64}$/),
        },
      },
      "one\ntwo\n",
    ]);
    expect(await call("one\n2\n", true)).toEqual(success("Overwrote a.txt."));
    expect(readFileSync(file, "utf8")).toBe("one\n2\n");
  });

  test("stays as it is after a no, which is not an error", async () => {
    const { root, file, create: call } = scene("old");
    await call("new");
    expect(await call("new", false)).toEqual(
      success("The user declined to overwrite a.txt. Nothing was changed."),
    );
    expect([readFileSync(file, "utf8"), readdirSync(root)]).toEqual(["old", ["a.txt"]]);
  });

  test("that already has the content is left alone, without a question", async () => {
    const { file, create: call } = scene("a\r\n");
    const { ino } = statSync(file);
    expect(await call("a\n")).toEqual(
      success("a.txt already has this content. Nothing was changed."),
    );
    expect(statSync(file).ino).toBe(ino);
  });

  test.each([
    ["line endings", "a\r\nb\r\n", "c\nd\n", "c\r\nd\r\n"],
    ["byte order mark", "\uFEFFa\n", "b\n", "\uFEFFb\n"],
    ["single byte order mark", "\uFEFFa\n", "\uFEFFb\n", "\uFEFFb\n"],
    ["lack of both", "a\n", "b\r\n", "b\r\n"],
  ])("keeps its %s", async (_, before, content, after) => {
    const { file, create: call } = scene(before);
    await call(content, true);
    expect(readFileSync(file, "utf8")).toBe(after);
  });

  test("keeps its mode", async () => {
    const { file, create: call } = scene("old");
    chmodSync(file, 0o767);
    await call("new", true);
    expect(statSync(file).mode & 0o777).toBe(0o767);
  });

  test("that is binary is announced as such, with its new content", async () => {
    const asked = await scene(Buffer.from([0, 1])).create("text\n");
    expect(asked).toMatchObject({
      question: {
        context:
          "The file is binary, or not UTF-8 (2 bytes). New content:\n" +
          "--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1 @@\n+text\n",
      },
    });
  });

  test("that is too large is refused", async () => {
    const { file, create: call } = scene("old");
    truncateSync(file, 8 * 1024 ** 2 + 1);
    expect(await call("new", true)).toMatchObject({
      message: "a.txt is larger than 8 MiB, too large for this tool to change.",
    });
  });

  test("behind a link is overwritten in its place, and the link stays", async () => {
    const { root, file, create: call } = scene("old");
    symlinkSync("a.txt", path.join(root, "link"));
    await call("new", true, "link");
    expect([readFileSync(file, "utf8"), readdirSync(root)]).toEqual(["new", ["a.txt", "link"]]);
  });
});

describe("between the question and the answer", () => {
  test("a file that changed is not overwritten: its diff is shown first", async () => {
    counters("T-FILE-7");
    const { file, create: call } = scene("old\n");
    await call("new\n");
    writeFileSync(file, "from someone else\n");
    expect([await call("new\n", true), readFileSync(file, "utf8")]).toMatchObject([
      {
        type: "needs_input",
        question: { context: expect.stringContaining("\n-from someone else\n+new\n") },
      },
      "from someone else\n",
    ]);
    expect(await call("new\n", true)).toEqual(success("Overwrote a.txt."));
  });

  test("a file that was deleted is not created after a no", async () => {
    const { root, file, create: call } = scene("old");
    await call("new");
    rmSync(file);
    expect(await call("new", false)).toEqual(
      success("The user declined to overwrite a.txt. Nothing was changed."),
    );
    expect(readdirSync(root)).toEqual([]);
  });

  test("a file that appeared is not overwritten after a no", async () => {
    const { file, create: call } = scene();
    await call("new");
    writeFileSync(file, "from someone else");
    expect([await call("new", false), readFileSync(file, "utf8")]).toEqual([
      success("The user declined to create a.txt. Nothing was changed."),
      "from someone else",
    ]);
  });

  test("a file that was deleted is asked about, and a yes to overwriting it does not create it", async () => {
    counters("T-FILE-7");
    const { root, file, create: call } = scene("old");
    await call("new");
    rmSync(file);
    expect([await call("new", true), readdirSync(root)]).toMatchObject([
      { type: "needs_input", question: { id: "create_file" } },
      [],
    ]);
    expect(await call("new", true)).toEqual(success("Created a.txt."));
  });

  test("a file that appeared is asked about, and a yes to creating it does not overwrite it", async () => {
    counters("T-FILE-1");
    const { file, create: call } = scene();
    await call("new");
    writeFileSync(file, "from someone else");
    expect([await call("new", true), readFileSync(file, "utf8")]).toMatchObject([
      { type: "needs_input", question: { id: "overwrite_file" } },
      "from someone else",
    ]);
    expect(await call("new", true)).toEqual(success("Overwrote a.txt."));
  });

  test("a new file in a folder that became a link is asked about again", async () => {
    counters("T-FILE-7");
    const { root, create: call } = scene();
    for (const folder of ["docs", "hooks"]) mkdirSync(path.join(root, folder));
    await call("new", undefined, "docs/a.txt");
    rmSync(path.join(root, "docs"), { recursive: true });
    symlinkSync("hooks", path.join(root, "docs"));
    expect([
      await call("new", true, "docs/a.txt"),
      readdirSync(path.join(root, "hooks")),
    ]).toMatchObject([
      { type: "needs_input", question: { text: 'Create "docs/a.txt" (a link to "hooks/a.txt")?' } },
      [],
    ]);
  });
});

test("a call that was cancelled writes nothing", async () => {
  const { root } = scene("old");
  for (const name of ["a.txt", "b.txt", "c/d.txt"]) {
    const tool = askedTool(() => createCreateFileTool({ root }).tool);
    const args = { path: name, content: "new" };
    expect((await tool.answer(args, true, { signal: AbortSignal.abort() })).type).toBe("error");
  }
  expect([readdirSync(root), readFileSync(path.join(root, "a.txt"), "utf8")]).toEqual([
    ["a.txt"],
    "old",
  ]);
});
