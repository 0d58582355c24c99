/**
 * Runs a command that the user types after an exclamation mark, in their shell, as outside of jp: nothing is asked,
 * and nothing is recorded or shown to a model unless the user shares it.
 */
import type { ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { constants } from "node:os";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { neutralize, oneLine, settlesWithin, truncationNotice } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";

export interface OwnCommand {
  readonly line: string;
  /** The shell's exit status: 128 plus the number of the signal that ended it. */
  readonly status: number;
  readonly milliseconds: number;
  /** For a model: the beginning and end of the output, without control sequences. */
  readonly output: string;
}

/** How long other processes may hold the pipes open after the shell itself has exited. */
const PIPE_GRACE_MS = 200;
/** Time between the session's signal and SIGKILL. */
const KILL_GRACE_MS = 1000;

/**
 * Reads from the terminal and writes to it, in color. Ctrl-C reaches it from the terminal, not from jp. Throws the
 * system's error if the shell cannot be started.
 */
export async function runOwnCommand(
  line: string,
  context: CommandContext,
  signal: AbortSignal,
): Promise<OwnCommand> {
  const { clock, host, output } = context;
  const startedAt = clock.now().getTime();
  const kept = new KeptOutput();
  let isLineOpen = false;
  let isColored = false;
  const show = (text: string) => {
    if (text === "") return;
    isLineOpen = !text.endsWith("\n");
    isColored ||= text.includes("\u001b");
    output.write(text);
  };
  // The listener keeps Ctrl-C from ending jp. The terminal also sends it to the command, and echoes `^C`.
  const interrupts = host.onSignal(["SIGINT"], () => (isLineOpen = true));
  const child = start(line, context);
  const stop = () => void end(child);
  signal.addEventListener("abort", stop, { once: true });
  try {
    const screens = [child.stdout, child.stderr].map((stream) => {
      const screen = new ScreenText();
      stream?.on("data", (chunk: Buffer) => {
        kept.add(chunk);
        show(screen.add(chunk));
      });
      return screen;
    });
    const status = await exitOf(child);
    const milliseconds = clock.now().getTime() - startedAt;
    for (const screen of screens) show(screen.end());
    if (isColored) output.write(RESET);
    if (isLineOpen) output.write("\n");
    return { line, status, milliseconds, output: kept.toText() };
  } finally {
    interrupts[Symbol.dispose]();
    signal.removeEventListener("abort", stop);
  }
}

const RESET = "\u001b[0m";

/** Runs in jp's own process group, so that it can read the terminal, and Ctrl-C and Ctrl-Z reach it. */
function start(line: string, { host, cwd }: CommandContext): ChildProcess {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const { variables, platform } = host.environment;
  const input = openInput(host.terminal.path);
  const stdio: ["ignore" | number, "pipe", "pipe"] = [input ?? "ignore", "pipe", "pipe"];
  const options = { cwd, env: variables, stdio, windowsHide: true };
  try {
    if (platform === "win32") return spawn(line, { ...options, shell: true });
    return spawn(findShell(variables["SHELL"]), ["-c", line], options);
  } finally {
    if (input !== undefined) closeSync(input);
  }
}

/** Undefined without a terminal. */
function openInput(terminal: string | undefined): number | undefined {
  try {
    return terminal === undefined ? undefined : openSync(terminal, "r");
  } catch {
    return undefined;
  }
}

function findShell(own: string | undefined): string {
  return own !== undefined && path.isAbsolute(own) ? own : "/bin/sh";
}

async function exitOf(child: ChildProcess): Promise<number> {
  const closed = new Promise((resolve) => child.once("close", resolve));
  const status = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
  // A background process may hold them open.
  if (!(await settlesWithin(closed, PIPE_GRACE_MS))) {
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
  return status;
}

/** Ends the command along with the session. */
async function end(child: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGHUP");
  if (!(await settlesWithin(exited, KILL_GRACE_MS))) child.kill("SIGKILL");
}

/** Colors and other styles. Other sequences could move the cursor or control the terminal. */
const COLOR = /(\u001b\[[\d;:]*m|\r)/;
/** An incomplete sequence, whose end has not arrived yet. */
const BEGUN = /\u001b(?:\[[\d;:]{0,40})?$/;

/** Output for the screen: colors stay, other control characters become visible. Chunks may end anywhere. */
class ScreenText {
  readonly #decoder = new TextDecoder();
  #rest = "";

  add(chunk: Buffer): string {
    const text = this.#rest + this.#decoder.decode(chunk, { stream: true });
    this.#rest = BEGUN.exec(text)?.[0] ?? "";
    return harmless(text.slice(0, text.length - this.#rest.length));
  }

  end(): string {
    return harmless(this.#rest + this.#decoder.decode());
  }
}

function harmless(text: string): string {
  return text
    .split(COLOR)
    .map((piece) => (COLOR.test(piece) ? piece : neutralize(piece)))
    .join("");
}

const MAX_HEAD_BYTES = 8 * 1024;
const MAX_TAIL_BYTES = 24 * 1024;

/** Keeps the beginning and the end of the output: failures of a test run are at the end. */
class KeptOutput {
  #head = Buffer.alloc(0);
  #tail = Buffer.alloc(0);
  #total = 0;

  add(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = MAX_HEAD_BYTES - this.#head.length;
    this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    const rest = chunk.subarray(room);
    if (rest.length === 0) return;
    this.#tail = Buffer.concat([this.#tail, rest]).subarray(-MAX_TAIL_BYTES);
  }

  toText(): string {
    const left = this.#total - this.#head.length - this.#tail.length;
    if (left === 0) return readable(Buffer.concat([this.#head, this.#tail]).toString("utf8"));
    const [head, tail] = [this.#head, this.#tail].map((part) => readable(part.toString("utf8")));
    return `${head}${truncationNotice(left, this.#total)}\n${tail}`;
  }
}

/** The text as it looked on the screen: without colors, and with only the final state of overwritten lines. */
function readable(text: string): string {
  const lines = stripVTControlCharacters(text).replaceAll("\r\n", "\n").split("\n");
  return neutralize(lines.map((line) => line.slice(line.lastIndexOf("\r") + 1)).join("\n"));
}

/** Such as `Exit status 1 after 2.3 s`. */
export function describeEnd({ status, milliseconds }: OwnCommand): string {
  const seconds = (milliseconds / 1000).toFixed(1);
  return `Exit status ${status} after ${seconds} s`;
}

/** The Markdown block for the message that shares it. */
export function toBlock({ line, status, output }: OwnCommand): string {
  const body = output.trimEnd();
  const said = `I ran this command, and it ended with exit status ${status}:`;
  const command = fenced(line, "sh");
  if (body === "") return `${said}\n\n${command}\n\nIt printed nothing.`;
  return `${said}\n\n${command}\n\nIts output:\n\n${fenced(body, "text")}`;
}

/** Uses a fence that the text does not contain. */
function fenced(text: string, info: string): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  return `${fence}${info}\n${text}\n${fence}`;
}

/** One line that names it for the user. */
export function nameCommand({ line, output }: OwnCommand): string {
  const count = output === "" ? 0 : output.trimEnd().split("\n").length;
  const size = count === 1 ? "1 line" : `${count} lines`;
  return oneLine(`${line} (${size} of output)`);
}
