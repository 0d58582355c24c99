/** The terminal prompter on a terminal: inside the test's process, or in a separate one. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { inject } from "vitest";
import { TerminalPrompter } from "../../src/surfaces/terminal/index.ts";
import { systemClock } from "../../src/util/index.ts";
import { editByTask, type PrompterTask, runPrompterTask } from "./prompter-task.ts";
import { PseudoTerminal } from "./pseudo-terminal.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { VirtualTerminal, type VirtualTerminalOptions } from "./virtual-terminal.ts";

const NO_COLORS = { NO_COLOR: "1" };

export class PromptScreen extends VirtualTerminal {
  readonly #abort = new AbortController();
  readonly #result: Promise<unknown>;
  #resultSoFar: unknown;

  constructor(task: PrompterTask, options: VirtualTerminalOptions = {}) {
    super({ variables: NO_COLORS, ...options });
    const { notification, edited, printFirst, now } = task;
    if (printFirst !== undefined) this.openOutput().write(printFirst);
    const prompter = new TerminalPrompter({
      device: this.device,
      ...(now !== undefined && { clock: { ...systemClock, now: () => new Date(now) } }),
      ...(notification !== undefined && { notification }),
      ...(edited !== undefined && {
        editText: async (text, { extension }) => {
          if (this.isRaw) throw new Error("The terminal is not as an editor expects it.");
          return editByTask(task, text, extension);
        },
      }),
    });
    this.#result = this.#run(runPrompterTask(prompter, task, this.#abort.signal));
  }

  abort(): void {
    this.#abort.abort();
  }

  result(): Promise<unknown> {
    return this.#result;
  }

  /** Undefined while the prompt is open. */
  get resultSoFar(): unknown {
    return this.#resultSoFar;
  }

  async #run(running: Promise<unknown>): Promise<unknown> {
    this.#resultSoFar = await running;
    this.endWith(0);
    await this.end();
    return this.#resultSoFar;
  }
}

export interface PromptProcessOptions extends VirtualTerminalOptions {
  /** A shell script that runs the program as `"$@"`. */
  readonly shell?: string;
}

const ROOT = path.join(import.meta.dirname, "..", "..");
const PROGRAM = path.join(inject("programs"), "prompter.mjs");
/** Makes TypeScript programs start three times as fast after the first time. */
const NODE_COMPILE_CACHE = path.join(ROOT, "node_modules", ".cache", "node-compile");

/** For what depends on the kernel: line editing, terminal settings, redirected streams. */
export class PromptProcess extends PseudoTerminal {
  readonly folder: string;

  constructor(task: PrompterTask, options: PromptProcessOptions = {}) {
    const { columns, rows, variables = NO_COLORS, shell } = options;
    const folder = temporaryFolder();
    const program = [process.execPath, PROGRAM, JSON.stringify(task), path.join(folder, "result")];
    const words = shell === undefined ? program : ["sh", "-c", shell, "sh", ...program];
    const [command = "", ...rest] = words;
    super(command, rest, {
      folder,
      variables: { PATH: process.env["PATH"], NODE_COMPILE_CACHE, ...variables },
      columns,
      rows,
    });
    this.folder = folder;
  }

  abort(): void {
    process.kill(this.pid, "SIGUSR1");
  }

  /** The result, after the program has ended. */
  async result(): Promise<unknown> {
    await this.end();
    return this.resultSoFar;
  }

  /** Undefined while the prompt is open. */
  get resultSoFar(): unknown {
    const file = path.join(this.folder, "result");
    return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  }
}
