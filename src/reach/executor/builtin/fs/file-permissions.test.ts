import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../../stores/temporary-workspace.fixture.ts";
import type { JsonObject } from "../../../../util/index.ts";

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/**
 * Calls tools without root's privileges, which ignore permissions. The child process gives them up
 * itself, after it has loaded the tools: another user may not be able to enter this clone.
 */
function callUnprivileged(
  root: string,
  calls: Readonly<Record<string, readonly [name: string, args: JsonObject]>>,
) {
  const program = `
    const { createFileTools } = await import(process.argv[1]);
    const { root, calls, user } = JSON.parse(process.argv[2]);
    if (user !== null) {
      process.setgroups([]);
      process.setgid(user);
      process.setuid(user);
    }
    const { signal } = new AbortController();
    const results = {};
    for (const [key, [name, args]] of Object.entries(calls)) {
      const { tool } = createFileTools({ root }).find(({ tool }) => tool.name === name);
      const call = { arguments: args, signal };
      const first = await tool.execute({ ...call, answers: {} });
      const { id, binding } = first.question ?? {};
      const { message, content } =
        id === undefined
          ? first
          : await tool.execute({ ...call, answers: { [id]: true }, bindings: { [id]: binding } });
      results[key] = message ?? content;
    }
    console.log(JSON.stringify(results));
  `;
  const request = { root, calls, user: isRoot ? NOBODY : null };
  const module = path.join(import.meta.dirname, "file-tools.ts");
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--input-type=module", "--eval", program, module, JSON.stringify(request)],
    { encoding: "utf8" },
  );
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as unknown;
}

test.runIf(process.platform !== "win32")(
  "missing permissions are reported, and nothing is left behind",
  () => {
    const root = temporaryFolder();
    for (const folder of ["closed", "read-only"]) {
      mkdirSync(path.join(root, folder));
      writeFileSync(path.join(root, folder, "a.txt"), "secret");
      chmodSync(path.join(root, folder, "a.txt"), 0o644); // Whatever the umask.
    }
    writeFileSync(path.join(root, "unreadable.txt"), "secret", { mode: 0o000 });
    writeFileSync(path.join(root, "protected.txt"), "secret", { mode: 0o444 });
    if (isRoot) {
      for (const each of [".", "closed", "read-only", "unreadable.txt", "protected.txt"]) {
        chownSync(path.join(root, each), NOBODY, NOBODY);
      }
    }
    chmodSync(path.join(root, "closed"), 0o000);
    chmodSync(path.join(root, "read-only"), 0o555);
    onTestFinished(() => chmodSync(path.join(root, "closed"), 0o755));
    onTestFinished(() => chmodSync(path.join(root, "read-only"), 0o755));
    const results = callUnprivileged(root, {
      read: ["fs_read_file", { path: "unreadable.txt" }],
      below: ["fs_read_file", { path: "closed/a.txt" }],
      list: ["fs_list_files", { path: "." }],
      listClosed: ["fs_list_files", { path: "closed" }],
      grep: ["fs_grep_files", { pattern: "secret" }],
      modify: ["fs_modify_file", { path: "protected.txt", patterns: [{ old: "secret", new: "" }] }],
      create: ["fs_create_file", { path: "read-only/new.txt", content: "" }],
      delete: ["fs_delete_file", { path: "read-only/a.txt" }],
    });
    expect(results).toEqual({
      read: "Cannot read unreadable.txt: permission denied.",
      below: "Cannot use closed/a.txt: permission denied.",
      list: "protected.txt\nunreadable.txt\nread-only/a.txt\n[Cannot read these folders: closed]",
      listClosed: "Cannot list closed: permission denied.",
      grep:
        "protected.txt:1:secret\nread-only/a.txt:1:secret\n" +
        "[Cannot read these files: unreadable.txt]\n[Cannot read these folders: closed]",
      modify: "Cannot change protected.txt: permission denied.",
      create: "Cannot create read-only/new.txt: permission denied.",
      delete: "Cannot delete read-only/a.txt: permission denied.",
    });
    expect([readdirSync(root).toSorted(), readdirSync(path.join(root, "read-only"))]).toEqual([
      ["closed", "protected.txt", "read-only", "unreadable.txt"],
      ["a.txt"],
    ]);
  },
);
