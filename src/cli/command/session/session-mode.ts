/**
 * A session's mode, which decides what runs without asking: configured, or chosen with `--mode`, `/allow` or
 * Shift-Tab.
 */
import type { Mode, PartialConfig } from "../../../settings/config/index.ts";
import type { ShownMode } from "../../../surfaces/terminal/index.ts";

/** The permissions of each mode. */
export const MODES: Readonly<Record<Mode, string>> = {
  ask: "jp asks, as your rules and the tools' settings say",
  plan: "only tools that read and commands you allow run; nothing is changed",
  edits: "files here are changed without asking; /undo restores them",
  sandbox: "commands run without asking inside the sandbox, without a network",
};

/** The order of Shift-Tab. */
const ORDER: readonly Mode[] = ["ask", "edits", "plan", "sandbox"];
/** A mode that stays on for less than this was only passed on the way to another. */
const PASSING_MS = 1000;
const NO_SANDBOX = "no sandbox here: see jp doctor";

interface SessionModeOptions {
  /** From `--mode`. */
  readonly chosen?: Mode | undefined;
  readonly now: () => number;
  /** Whether a sandbox is available. Called at most once, when needed. Must not throw. */
  readonly hasSandbox: () => Promise<boolean>;
}

export class SessionMode {
  readonly #options: SessionModeOptions;
  #hasSandbox: Promise<boolean> | undefined;
  #configured: Mode = "ask";
  #chosen: Mode | undefined;
  /** The mode before the person started cycling, and the time of their last change. */
  #before: Mode;
  #changedAt = Number.NEGATIVE_INFINITY;
  /** Show it even if it is the default. */
  #isNew = false;
  #note: string | undefined;
  /** Steps run one at a time. */
  #stepping: Promise<void> = Promise.resolve();

  constructor(options: SessionModeOptions) {
    this.#options = options;
    this.#chosen = options.chosen;
    this.#before = this.current;
  }

  /** Undefined until the person chooses a mode, which then applies until the session ends. */
  get chosen(): Mode | undefined {
    return this.#chosen;
  }

  get current(): Mode {
    return this.#chosen ?? this.#configured;
  }

  /** Undefined for the default mode, unless the person has just chosen it. */
  get shown(): ShownMode | undefined {
    const { current: name } = this;
    return name === "ask" && !this.#isNew ? undefined : { name, note: this.#note };
  }

  /** The mode for a call that is judged now. A mode the person is only passing allows nothing new. */
  readonly forCall = (): Mode => {
    return this.#isPassing ? stricter(this.#before, this.current) : this.current;
  };

  /** Takes the config of the next message. */
  configure({ conversation: { mode = "ask" } = {} }: PartialConfig): void {
    this.#configured = mode;
  }

  /** Called when a message is sent: by then the person has seen the mode. */
  settle(): void {
    this.#changedAt = Number.NEGATIVE_INFINITY;
    this.#isNew = false;
    this.#note = undefined;
  }

  /** Returns false if the mode needs a sandbox and none is available. */
  async choose(mode: Mode): Promise<boolean> {
    this.#set(mode);
    return mode !== "sandbox" || (await this.#findSandbox());
  }

  /** Shift-Tab. Skips unavailable modes. */
  readonly next = (): Promise<void> => {
    void this.#findSandbox(); // Ready for a later step.
    this.#stepping = this.#stepping.then(() => this.#step());
    return this.#stepping;
  };

  async #step(): Promise<void> {
    const wanted = ORDER[ORDER.indexOf(this.current) + 1] ?? "ask";
    const isMissing = wanted === "sandbox" && !(await this.#findSandbox());
    this.#set(isMissing ? "ask" : wanted);
    this.#note = isMissing ? NO_SANDBOX : undefined;
  }

  get #isPassing(): boolean {
    return this.#options.now() - this.#changedAt < PASSING_MS;
  }

  #set(mode: Mode): void {
    if (!this.#isPassing) this.#before = this.current;
    this.#chosen = mode;
    this.#changedAt = this.#options.now();
    this.#isNew = true;
    this.#note = undefined;
  }

  #findSandbox(): Promise<boolean> {
    this.#hasSandbox ??= this.#options.hasSandbox();
    return this.#hasSandbox;
  }
}

/** Allows only what both modes allow. */
function stricter(one: Mode, other: Mode): Mode {
  if (one === other) return one;
  return one === "plan" || other === "plan" ? "plan" : "ask";
}
