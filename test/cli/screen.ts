/** The command on a terminal: inside the test's process, or built and in a separate process. */
import type { WriteStream } from "node:tty";
import { run } from "../../src/cli/run.ts";
import { createHost } from "../support/command-host.ts";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";
import type { ScreenEnd, TerminalScreen } from "../support/terminal-screen.ts";
import { VirtualTerminal } from "../support/virtual-terminal.ts";
import { JP, type Project } from "./support.ts";

/**
 * A CI whose logs have colours: there, jp does not ask before the first message what models may do. Tests of that question
 * have none: `CI: ""`.
 */
export const UNASKED = { CI: "1", BUILDKITE: "1" };

export interface ScreenOptions {
  readonly columns?: number;
  readonly variables?: Readonly<Record<string, string>>;
}

export class Screen extends VirtualTerminal {
  readonly #listeners = new Map<string, Set<() => void>>();

  constructor(project: Project, words: readonly string[], options: ScreenOptions = {}) {
    const variables = {
      TERM: "xterm-256color",
      ...UNASKED,
      ...project.variables,
      ...options.variables,
    };
    super({ variables, columns: options.columns });
    // Commands only use what a virtual stream has.
    const open = () => this.openOutput() as unknown as WriteStream;
    const [stdout, stderr] = [open(), open()];
    const host = {
      ...createHost({ cwd: project.root, variables }),
      stdin: Object.assign(this.device.openInput(), { isTTY: true }),
      stdout,
      results: stdout,
      notices: stderr,
      stderr,
      writeOut: (text: string) => void stdout.write(text),
      isTerminal: () => true,
      isInteractive: () => true,
      terminal: this.device,
      onSignal: (signals: readonly string[], listener: () => void) => this.#on(signals, listener),
    };
    void run(words, host).then((status) => this.endWith(status));
  }

  protected override onInterrupt(): void {
    this.signal("SIGINT");
  }

  protected override onHangUp(): void {
    this.signal("SIGHUP");
  }

  signal(name: "SIGINT" | "SIGTERM" | "SIGHUP"): void {
    const listeners = [...(this.#listeners.get(name) ?? [])];
    if (listeners.length === 0) throw new Error(`${name} would have ended the command`);
    for (const listener of listeners) listener();
  }

  #on(signals: readonly string[], listener: () => void): Disposable {
    for (const name of signals) {
      this.#listeners.set(name, (this.#listeners.get(name) ?? new Set()).add(listener));
    }
    return {
      [Symbol.dispose]: () => {
        for (const name of signals) this.#listeners.get(name)?.delete(listener);
      },
    };
  }
}

/** For what depends on the process or the kernel: signals, terminal settings, streams. */
export class ScreenProcess extends PseudoTerminal {
  constructor(project: Project, words: readonly string[], options: ScreenOptions = {}) {
    super(process.execPath, [JP, ...words], {
      folder: project.root,
      variables: { ...UNASKED, ...project.variables, ...options.variables },
      columns: options.columns,
    });
  }
}

/** Runs a command to its end. */
export function show(
  project: Project,
  words: readonly string[],
  options?: ScreenOptions,
): Promise<ScreenEnd> {
  return new Screen(project, words, options).end();
}

export function shows(screen: TerminalScreen, wanted: RegExp | string): Promise<void> {
  return screen.untilShown((lines) => {
    const text = lines.join("\n");
    return typeof wanted === "string" ? text.includes(wanted) : wanted.test(text);
  });
}

/** A session, once it says which conversation it works with. */
export async function openSession(
  project: Project,
  variables: ScreenOptions["variables"] = {},
): Promise<Screen> {
  const screen = new Screen(project, [], { variables: { JP_SESSION: "s", ...variables } });
  await shows(screen, /^(New conversation|Conversation:)/m);
  return screen;
}
