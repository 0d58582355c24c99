import {
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../../../test/security/threats.ts";
import { temporaryFolder } from "../../../../stores/temporary-workspace.fixture.ts";
import type { Outcome } from "../../../../record/tool/index.ts";
import { askedTool } from "./asked-tool.fixture.ts";
import { createDeleteFileTool } from "./delete-file-tool.ts";

interface Scene {
  readonly root: string;
  readonly file: string;
  readonly remove: (answer?: boolean, name?: string) => Promise<Outcome>;
}

function scene(): Scene {
  const root = temporaryFolder();
  const file = path.join(root, "a.txt");
  writeFileSync(file, "text");
  const tool = askedTool(() => createDeleteFileTool({ root }).tool);
  const remove: Scene["remove"] = (answer, name = "a.txt") => {
    const args = { path: name };
    return answer === undefined ? tool.ask(args) : tool.answer(args, answer);
  };
  return { root, file, remove };
}

test("a file is deleted only after a question", async () => {
  const { root, remove } = scene();
  const asked = await remove();
  expect([asked, readdirSync(root)]).toEqual([
    {
      type: "needs_input",
      question: {
        id: "delete_file",
        text: "Delete a.txt?",
        context: expect.stringMatching(/^1 line, 4 bytes, last changed \d{4}-.*Z\.$/),
        answerType: { type: "boolean" },
        default: false,
        exclusive: true,
        allowsNote: true,
        persistence: "none",
        binding: expect.stringMatching(/^[\da-f]{64}$/),
      },
    },
    ["a.txt"],
  ]);
  expect(await remove(true)).toEqual({ type: "success", content: "Deleted a.txt." });
  expect(readdirSync(root)).toEqual([]);
});

test("no two files have the same question", async () => {
  counters("T-TERM-11");
  const { root, remove } = scene();
  const names = ["a\nb", String.raw`"a\nb"`, "a  b", "a\u00a0b", 'b "c"'];
  for (const name of names) writeFileSync(path.join(root, name), "text");
  const asked = [];
  for (const name of names) asked.push(await remove(undefined, name));
  expect(asked).toMatchObject(
    [
      String.raw`Delete "a\nb"?`,
      String.raw`Delete "\"a\\nb\""?`,
      "Delete a  b?",
      "Delete a\u00a0b?",
      'Delete b "c"?',
    ].map((text) => ({ question: { text } })),
  );
});

test("a file stays after a no, which is not an error", async () => {
  const { root, remove } = scene();
  await remove();
  expect(await remove(false)).toEqual({
    type: "success",
    content: "The user declined to delete a.txt. Nothing was changed.",
  });
  expect(readdirSync(root)).toEqual(["a.txt"]);
});

test("only files are deleted", async () => {
  const { root, remove } = scene();
  mkdirSync(path.join(root, "folder"));
  symlinkSync("a.txt", path.join(root, "link"));
  symlinkSync("nowhere", path.join(root, "dangling"));
  const messages: string[] = [];
  for (const name of ["folder", "folder/", ".", "link", "dangling", "no", "no/no", "a.txt/b"]) {
    const outcome = await remove(true, name);
    messages.push(outcome.type === "error" ? outcome.message : outcome.type);
  }
  expect(messages).toEqual([
    "folder is a folder. Only files can be deleted.",
    "folder/ names a folder, not a file.",
    ". is a folder, not a file.",
    "link is a symbolic link. Only files can be deleted.",
    "dangling leads through a symbolic link whose target is missing.",
    "no does not exist. Use fs_list_files to see which files exist.",
    "no/no does not exist. Use fs_list_files to see which files exist.",
    "Cannot delete a.txt/b: part of its path is not a folder.",
  ]);
  expect(readdirSync(root).toSorted()).toEqual(["a.txt", "dangling", "folder", "link"]);
});

test("a file behind a link inside the workspace is deleted", async () => {
  const { root, remove } = scene();
  mkdirSync(path.join(root, "folder"));
  writeFileSync(path.join(root, "folder", "b.txt"), "");
  symlinkSync("folder", path.join(root, "link"));
  expect((await remove(true, "link/b.txt")).type).toBe("success");
  expect(readdirSync(path.join(root, "folder"))).toEqual([]);
});

describe("between the question and the answer", () => {
  test("a file that changed is asked about again", async () => {
    counters("T-FILE-7");
    const { root, file, remove } = scene();
    writeFileSync(file, "");
    await remove();
    writeFileSync(file, "written since");
    expect([await remove(true), readdirSync(root)]).toMatchObject([
      { type: "needs_input", question: { context: expect.stringMatching(/^1 line, 13 bytes, /) } },
      ["a.txt"],
    ]);
    expect((await remove(true)).type).toBe("success");
  });

  test("a new file of the same length and time is asked about again", async () => {
    counters("T-FILE-7");
    const { root, file, remove } = scene();
    const time = new Date(1_000_000_000_000);
    utimesSync(file, time, time);
    await remove();
    writeFileSync(file, "TEXT");
    utimesSync(file, time, time);
    expect([(await remove(true)).type, readdirSync(root)]).toEqual(["needs_input", ["a.txt"]]);
  });

  test("a file that was only touched is still the one that was shown", async () => {
    const { file, remove } = scene();
    await remove();
    utimesSync(file, 1, 1);
    expect((await remove(true)).type).toBe("success");
  });

  test("a file above 1 MB is asked about again if its content is another one, whatever its time", async () => {
    counters("T-FILE-7", "T-PROG-4");
    const { root, file, remove } = scene();
    truncateSync(file, 1024 ** 2 + 1);
    utimesSync(file, 1, 1);
    await remove();
    writeFileSync(file, Buffer.alloc(1024 ** 2 + 1, "x"));
    utimesSync(file, 1, 1);
    expect([(await remove(true)).type, readdirSync(root)]).toEqual(["needs_input", ["a.txt"]]);
    utimesSync(file, 2, 2);
    expect((await remove(true)).type).toBe("success");
  });

  test("a file in a folder that became a link is asked about again", async () => {
    counters("T-FILE-7");
    const { root, remove } = scene();
    for (const folder of ["docs", "other"]) {
      mkdirSync(path.join(root, folder));
      writeFileSync(path.join(root, folder, "b.txt"), "");
    }
    await remove(undefined, "docs/b.txt");
    rmSync(path.join(root, "docs"), { recursive: true });
    symlinkSync("other", path.join(root, "docs"));
    expect([
      (await remove(true, "docs/b.txt")).type,
      readdirSync(path.join(root, "other")),
    ]).toEqual(["needs_input", ["b.txt"]]);
  });

  test("a file that became a hard link is asked about again", async () => {
    counters("T-FILE-7");
    const { root, file, remove } = scene();
    await remove();
    renameSync(file, path.join(root, "b.txt"));
    linkSync(path.join(root, "b.txt"), file);
    expect([(await remove(true)).type, readdirSync(root)]).toEqual([
      "needs_input",
      ["a.txt", "b.txt"],
    ]);
  });

  test("a no stands, even if the file has changed", async () => {
    const { file, remove } = scene();
    await remove();
    writeFileSync(file, "written since");
    expect(await remove(false)).toMatchObject({
      content: "The user declined to delete a.txt. Nothing was changed.",
    });
  });
});

test("a file that was deleted between the question and the answer is reported as missing", async () => {
  const { file, remove } = scene();
  await remove();
  rmSync(file);
  expect(await remove(true)).toMatchObject({
    message: "a.txt does not exist. Use fs_list_files to see which files exist.",
  });
});

test("a call that was cancelled deletes nothing", async () => {
  const { root } = scene();
  const tool = askedTool(() => createDeleteFileTool({ root }).tool);
  const outcome = await tool.answer({ path: "a.txt" }, true, { signal: AbortSignal.abort() });
  expect([outcome.type, readdirSync(root)]).toEqual(["error", ["a.txt"]]);
});
