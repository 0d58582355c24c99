/** The terminal prompter at work on a terminal of its own. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { inject } from "vitest";
import type { PrompterTask } from "./prompter-task.ts";
import { PseudoTerminal } from "./pseudo-terminal.ts";
import { temporaryFolder } from "../../src/storage/temporary-workspace.fixture.ts";

export interface PromptScreenOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly variables?: NodeJS.ProcessEnv;
  /** Words of a shell around the program, which is `"$@"` in them. */
  readonly shell?: string;
}

const ROOT = path.join(import.meta.dirname, "..", "..");
const PROGRAM = path.join(inject("programs"), "prompter.mjs");
/** Programs in TypeScript start three times as fast the second time. */
const NODE_COMPILE_CACHE = path.join(ROOT, "node_modules", ".cache", "node-compile");

export class PromptScreen extends PseudoTerminal {
  readonly folder: string;

  constructor(task: PrompterTask, options: PromptScreenOptions = {}) {
    const { columns, rows, variables = { NO_COLOR: "1" }, shell } = options;
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

  /** Types one key after the other, each when the screen shows what is expected before it. */
  async answer(...steps: readonly (readonly [shown: string, keys: string])[]): Promise<void> {
    for (const [shown, keys] of steps) {
      await this.untilShown((lines) => lines.join("\n").includes(shown));
      this.type(keys);
    }
  }

  /** What came of it, when the program has ended. */
  async result(): Promise<unknown> {
    await this.end();
    return this.writtenResult();
  }

  writtenResult(): unknown {
    const file = path.join(this.folder, "result");
    return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  }
}
