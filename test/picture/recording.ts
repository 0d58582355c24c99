/** Records `jp demo` on a pseudo-terminal: its output up to each answer. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { type IPty, spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";
import { ROOT } from "../support/documents.ts";

/** Wide enough for the longest line of the tour. */
export const COLUMNS = 86;
export const ROWS = 23;

export interface Moment {
  /** With everything replaced that differs between runs. */
  readonly output: string;
  /** A label for the keys pressed after this output; absent at the end. */
  readonly keys?: string;
}

interface Answer {
  /** Text that is on the screen with the question. */
  readonly shown: string;
  readonly keys: readonly string[];
  readonly label: string;
}

const ANSWERS: readonly Answer[] = [
  { shown: "Does the README", keys: ["\r"], label: "Enter" },
  { shown: "Apply these changes", keys: ["y"], label: "y" },
  { shown: "Raise the version", keys: ["\r"], label: "Enter" },
  { shown: "s always…", keys: ["s"], label: "s" },
  { shown: "❯ 5: 30 days", keys: ["6"], label: "6" },
  { shown: "❯ 6: always", keys: ["\r"], label: "Enter" },
  { shown: "Deploy it everywhere.", keys: ["\r"], label: "Enter" },
  { shown: "Deploy to Frankfurt?", keys: ["a"], label: "a" },
  { shown: "Enter confirm", keys: ["\r"], label: "Enter" },
  { shown: "Announce it.", keys: ["\r"], label: "Enter" },
  { shown: "Where should the announcement go?", keys: ["\u001B[B"], label: "↓" },
  { shown: "to all subscribers", keys: ["\r"], label: "Enter" },
  { shown: "Sign the release.", keys: ["\r"], label: "Enter" },
  {
    shown: "Passphrase for the signing key?",
    keys: ["open sesame", "\r"],
    label: "●●●● ●●●●●● Enter",
  },
  { shown: "Publish it tonight.", keys: ["\r"], label: "Enter" },
  { shown: " n no ", keys: ["y"], label: "y" },
  { shown: "Upload the pictures.", keys: ["\r"], label: "Enter" },
  { shown: " upload 0.", keys: ["\u0003"], label: "Ctrl-C" },
];

/** Where the tour creates its workspace. A fixed folder, because its length affects line breaks. */
const TMPDIR = "/tmp";
const MADE_FOLDER = /jp-demo-\w{6}/;

/** Without output for this long, the program waits for an answer. */
const QUIET_MS = 60;
const BETWEEN_KEYS_MS = 15;
/** Before that, a letter does not decide a question that has followed another prompt. */
const SEEN_MS = 300;

/** Runs the built command, and removes what it created. */
export async function recordDemo(): Promise<readonly Moment[]> {
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), "jp-picture-"));
  const demo = new Demo(folder);
  try {
    const moments: Moment[] = [];
    for (const { shown, keys, label } of ANSWERS) {
      moments.push({ output: await demo.untilShown(shown), keys: label });
      if (label.length === 1) await setTimeout(SEEN_MS);
      for (const key of keys) {
        demo.press(key);
        await setTimeout(BETWEEN_KEYS_MS);
      }
    }
    const end = await demo.untilEnd();
    const [made] = MADE_FOLDER.exec(end) ?? [];
    if (made !== undefined) rmSync(path.join(TMPDIR, made), { recursive: true, force: true });
    moments.push({ output: end });
    return moments.map((moment) => ({ ...moment, output: normalize(moment.output) }));
  } finally {
    demo.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

class Demo {
  readonly #pty: IPty;
  /** Replies to terminal queries, such as the cursor position. */
  readonly #terminal = new headless.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });
  #output = "";
  #isEnded = false;

  constructor(folder: string) {
    const command = path.join(ROOT, "dist", "bin", "jp.cjs");
    this.#pty = spawn(process.execPath, [command, "demo"], {
      name: "xterm-256color",
      cols: COLUMNS,
      rows: ROWS,
      cwd: folder,
      env: { PATH: process.env["PATH"], HOME: folder, TMPDIR },
    });
    this.#pty.onData((data) => {
      this.#output += data;
      this.#terminal.write(data);
    });
    this.#pty.onExit(() => {
      this.#isEnded = true;
    });
    this.#terminal.onData((data) => this.press(data));
  }

  press(keys: string): void {
    if (!this.#isEnded) this.#pty.write(keys);
  }

  /** The output since the last call, once it contains this text and has paused. */
  async untilShown(text: string): Promise<string> {
    for (let length = -1; length !== this.#output.length || !this.#output.includes(text);) {
      if (this.#isEnded) throw new Error(`The tour ended without “${text}”:\n${this.#output}`);
      length = this.#output.length;
      await setTimeout(QUIET_MS);
    }
    return this.#take();
  }

  async untilEnd(): Promise<string> {
    while (!this.#isEnded) await setTimeout(QUIET_MS);
    return this.#take();
  }

  close(): void {
    if (!this.#isEnded) this.#pty.kill("SIGKILL");
    this.#terminal.dispose();
  }

  #take(): string {
    const output = this.#output;
    this.#output = "";
    return output;
  }
}

/** Replaces what differs between runs: durations, the ids of the conversation and of a saved rule, the folder, the status line. */
function normalize(output: string): string {
  return output
    .replaceAll(new RegExp(MADE_FOLDER, "g"), "jp-demo-k3Xw9a")
    .replaceAll(/(?<!\d)\d{11}(?!\d)/g, "17947338624")
    .replaceAll(/\r\u001B\[K[⠀-⣿] (?:upload|shell_run|deploy) \d+\.\ds/g, "")
    .replaceAll(/(?<![\da-f])[\da-f]{8}(?=\S*\s+shell_run)/g, "3f9a01c2")
    .replaceAll(/ \d+\.\ds\b/g, " 0.4s");
}
