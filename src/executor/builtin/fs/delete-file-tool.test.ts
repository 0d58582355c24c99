import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../storage/temporary-workspace.fixture.ts";
import type { Outcome } from "../../../tool/index.ts";
import { createConsent } from "./consent.ts";
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
  const { tool } = createDeleteFileTool({ root, consent: createConsent() });
  const remove: Scene["remove"] = (answer, name = "a.txt") => {
    const { signal } = new AbortController();
    const answers = answer === undefined ? {} : { delete_file: answer };
    return tool.execute({ arguments: { path: name }, answers, signal });
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
        context: expect.stringMatching(/^4 bytes, last changed \d{4}-.*Z\.$/),
        answerType: { type: "boolean" },
        default: false,
        exclusive: true,
        allowsNote: true,
        persistence: "none",
      },
    },
    ["a.txt"],
  ]);
  expect(await remove(true)).toEqual({ type: "success", content: "Deleted a.txt." });
  expect(readdirSync(root)).toEqual([]);
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

test("a file that changed between the question and the answer stays", async () => {
  const { root, file, remove } = scene();
  await remove();
  writeFileSync(file, "from someone else");
  const outcome = await remove(true);
  expect(outcome).toMatchObject({
    type: "error",
    message: expect.stringContaining("a.txt changed in the meantime"),
  });
  expect(readdirSync(root)).toEqual(["a.txt"]);
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
  const { tool } = createDeleteFileTool({ root, consent: createConsent() });
  const call = { arguments: { path: "a.txt" }, answers: { delete_file: true } };
  const outcome = await tool.execute({ ...call, signal: AbortSignal.abort() });
  expect([outcome.type, readdirSync(root)]).toEqual(["error", ["a.txt"]]);
});
