/** Opens a text in the user's editor. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { findWorkspace, workspaceTrust } from "../assemble/index.ts";
import { EDITOR_VARIABLES, type PartialConfig } from "../settings/config/index.ts";
import { TRUST_HINT } from "../settings/trust/index.ts";
import {
  findSystemProgram,
  quoteCommand,
  quoteWord,
  withoutRelativeFolders,
} from "../reach/process/index.ts";
import { leaveTerminal } from "../surfaces/terminal/index.ts";
import { JpError, oneLine } from "../util/index.ts";
import type { CommandContext } from "./context.ts";
import type { Host } from "./host.ts";

export interface EditedText {
  readonly text: string;
  /** Kept until `discard`, so that text rejected later is not lost. */
  readonly file: string;
  discard(): Promise<void>;
}

/** Where the editor runs, and the workspace that must not provide it unless the user trusts it. */
export type EditorPlace = Pick<CommandContext, "host" | "environment" | "workspace">;

/** Throws `no_editor`, `editor_not_trusted`, `editor_failed`. */
export async function editText(
  { name, text }: { readonly name: string; readonly text: string },
  place: EditorPlace,
  settings: EditorSettings = {},
): Promise<EditedText> {
  const { host } = place;
  const editor = findEditor(host.environment.variables, settings);
  if (editor === undefined) {
    throw new JpError("no_editor", "No editor is set.", { hint: NO_EDITOR_HINT });
  }
  await assertTrusted(editor, place, settings);
  const folder = await mkdtemp(path.join(host.tmpdir, "jp-edit-"));
  const file = path.join(folder, name);
  await writeFile(file, text);
  const discard = () => rm(folder, { recursive: true, force: true });
  const status = await runEditor(editor.command, file, host);
  if (status !== 0) {
    await discard();
    throw new JpError(
      "editor_failed",
      `The editor exited with status ${status}. Nothing was changed.`,
    );
  }
  return { text: await readFile(file, "utf8"), file, discard };
}

export const NO_EDITOR_HINT = "Set EDITOR, for example: export EDITOR=vim";

export interface Editor {
  /** In shell syntax. */
  readonly command: string;
  /** The environment variable that names it, or the config key. */
  readonly variable: string;
}

/** `editor` in the config. */
export type EditorSettings = NonNullable<PartialConfig["editor"]>;

/** The configured command, or else the first variable that is set. */
export function findEditor(
  variables: Host["environment"]["variables"],
  { cmd, envs = EDITOR_VARIABLES }: EditorSettings = {},
): Editor | undefined {
  if (cmd !== undefined && cmd !== "") return { command: commandText(cmd), variable: "editor.cmd" };
  return envs
    .map((variable) => ({ variable, command: variables[variable] ?? "" }))
    .find(({ command }) => command !== "");
}

function commandText(cmd: NonNullable<EditorSettings["cmd"]>): string {
  if (typeof cmd === "string") return cmd;
  const { program, args = [], shell = false } = cmd;
  return shell ? [program, ...args.map(quoteWord)].join(" ") : quoteCommand([program, ...args]);
}

/** Throws `editor_not_trusted` if `PATH` leads to a program of the workspace. */
async function assertTrusted(
  { command }: Editor,
  place: EditorPlace,
  settings: EditorSettings,
): Promise<void> {
  const workspace = findWorkspace(place);
  if (workspace === undefined) return;
  const trust = workspaceTrust(place, workspace);
  const [claim] = await trust.findUntrustedPrograms({ editor: settings });
  if (claim === undefined) return;
  const [file = ""] = claim.files;
  const message = `Your PATH leads from ${oneLine(command)} to ${oneLine(file)}, a program of this workspace, which you have not trusted yet.`;
  const hint = `${TRUST_HINT} Or name your editor by its whole path.`;
  throw new JpError("editor_not_trusted", message, { hint });
}

/**
 * Runs it through a shell, because people write `EDITOR="code --wait"`. Neither program is looked up in the current
 * folder, which may be a clone. Ctrl-C goes to the editor.
 */
async function runEditor(editor: string, file: string, host: Host): Promise<number> {
  using _ = leaveTerminal(host.terminal);
  const interrupts = host.onSignal(["SIGINT"], () => {}); // A listener keeps SIGINT from ending jp.
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
  const shell = findSystemProgram("sh") ?? "/bin/sh";
  return loadSpawn()(shell, ["-c", `${editor} "$@"`, "sh", file], {
    stdio: "inherit",
    cwd: host.cwd,
    env,
  });
}

function startOnWindows(editor: string, file: string, host: Host): ChildProcess {
  const env = { ...host.environment.variables, NoDefaultCurrentDirectoryInExePath: "1" };
  return loadSpawn()(`${editor} "${file}"`, { stdio: "inherit", shell: true, cwd: host.cwd, env });
}

/** Slow to load, and most commands start no editor. */
function loadSpawn() {
  return process.getBuiltinModule("node:child_process").spawn;
}
