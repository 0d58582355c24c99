/** The user's editor on a text. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { CodedError, findProgram, withoutRelativeFolders } from "../util/index.ts";

export interface EditedText {
  readonly text: string;
  /** Where it is until `discard`: what somebody typed is not lost because it was not accepted. */
  readonly file: string;
  discard(): Promise<void>;
}

/** Throws `no_editor`, `editor_failed`. */
export async function editText(name: string, text: string): Promise<EditedText> {
  const editor = findEditor(process.env);
  const folder = await mkdtemp(path.join(tmpdir(), "jp-edit-"));
  const file = path.join(folder, name);
  await writeFile(file, text);
  const discard = () => rm(folder, { recursive: true, force: true });
  const status = await runEditor(editor, file);
  if (status !== 0) {
    await discard();
    throw new CodedError(
      "editor_failed",
      `The editor ended with status ${status}: nothing was changed.`,
    );
  }
  return { text: await readFile(file, "utf8"), file, discard };
}

function findEditor(variables: NodeJS.ProcessEnv): string {
  const editor = ["JP_EDITOR", "VISUAL", "EDITOR"]
    .map((name) => variables[name])
    .find((value) => value !== undefined && value !== "");
  if (editor !== undefined) return editor;
  throw new CodedError("no_editor", "No editor is set.", {
    hint: "Set EDITOR, for example: export EDITOR=vim",
  });
}

/**
 * Through a shell, because people write `EDITOR="code --wait"`. Neither is looked for in the current
 * folder, which may be a clone. Ctrl-C is the editor's meanwhile.
 */
async function runEditor(editor: string, file: string): Promise<number> {
  process.on("SIGINT", leaveIt);
  try {
    const child = process.platform === "win32" ? startOnWindows(editor, file) : start(editor, file);
    const [status] = (await once(child, "exit")) as [number | null];
    return status ?? 1;
  } finally {
    process.off("SIGINT", leaveIt);
  }
}

function start(editor: string, file: string): ChildProcess {
  const env = { ...process.env, PATH: withoutRelativeFolders(process.env["PATH"]) };
  const shell = findProgram("sh") ?? "/bin/sh";
  return spawn(shell, ["-c", `${editor} "$@"`, "sh", file], { stdio: "inherit", env });
}

function startOnWindows(editor: string, file: string): ChildProcess {
  const env = { ...process.env, NoDefaultCurrentDirectoryInExePath: "1" };
  return spawn(`${editor} "${file}"`, { stdio: "inherit", shell: true, env });
}

function leaveIt(): void {
  // With a listener, the signal does not end us.
}
