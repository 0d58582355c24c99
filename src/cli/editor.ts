/** The user's editor on a text. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { findProgram, withoutRelativeFolders } from "../process/index.ts";
import { CodedError } from "../util/index.ts";
import type { Host } from "./host.ts";

export interface EditedText {
  readonly text: string;
  /** Where it is until `discard`: what somebody typed is not lost because it was not accepted. */
  readonly file: string;
  discard(): Promise<void>;
}

/** Throws `no_editor`, `editor_failed`. */
export async function editText(
  { name, text }: { readonly name: string; readonly text: string },
  host: Host,
): Promise<EditedText> {
  const editor = findEditor(host.environment.variables);
  const folder = await mkdtemp(path.join(host.temporary, "jp-edit-"));
  const file = path.join(folder, name);
  await writeFile(file, text);
  const discard = () => rm(folder, { recursive: true, force: true });
  const status = await runEditor(editor, file, host);
  if (status !== 0) {
    await discard();
    throw new CodedError(
      "editor_failed",
      `The editor ended with status ${status}: nothing was changed.`,
    );
  }
  return { text: await readFile(file, "utf8"), file, discard };
}

function findEditor(variables: Host["environment"]["variables"]): string {
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
async function runEditor(editor: string, file: string, host: Host): Promise<number> {
  const interrupts = host.onSignal(["SIGINT"], () => {}); // With a listener, it does not end us.
  try {
    const isWindows = host.environment.platform === "win32";
    const child = isWindows ? startOnWindows(editor, file, host) : start(editor, file, host);
    const [status] = (await once(child, "exit")) as [number | null];
    return status ?? 1;
  } finally {
    interrupts[Symbol.dispose]();
  }
}

function start(editor: string, file: string, host: Host): ChildProcess {
  const { variables } = host.environment;
  const env = { ...variables, PATH: withoutRelativeFolders(variables["PATH"]) };
  const shell = findProgram("sh") ?? "/bin/sh";
  return spawn(shell, ["-c", `${editor} "$@"`, "sh", file], {
    stdio: "inherit",
    cwd: host.cwd,
    env,
  });
}

function startOnWindows(editor: string, file: string, host: Host): ChildProcess {
  const env = { ...host.environment.variables, NoDefaultCurrentDirectoryInExePath: "1" };
  return spawn(`${editor} "${file}"`, { stdio: "inherit", shell: true, cwd: host.cwd, env });
}
