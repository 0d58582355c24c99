/** What runs without asking in a session: as configured, or as the person has chosen with `--mode`, `/allow` or Shift-Tab. */
import type { Mode, PartialConfig } from "../../../settings/config/index.ts";
import type { ShownMode } from "../../../surfaces/terminal/index.ts";

/** What each lets run. */
export const MODES: Readonly<Record<Mode, string>> = {
  ask: "jp asks, as your rules and the tools' settings say",
  plan: "only tools that read run; nothing is changed",
  edits: "files here are changed without asking; /undo restores them",
  sandbox: "commands run without asking inside the sandbox, without a network",
};

/** The order of Shift-Tab. */
const ORDER: readonly Mode[] = ["ask", "edits", "plan", "sandbox"];
/** Who looks for a mode passes others, and stays there for a shorter time. */
const PASSING_MS = 1000;
const NO_SANDBOX = "no sandbox here: see jp doctor";

interface SessionModeOptions {
  /** With `--mode`. */
  readonly chosen?: Mode | undefined;
  readonly now: () => number;
  /** Whether commands can be confined here. Called only when that matters, and once. Must not throw. */
  readonly hasSandbox: () => Promise<boolean>;
}

export class SessionMode {
  readonly #options: SessionModeOptions;
  #hasSandbox: Promise<boolean> | undefined;
  #configured: Mode = "ask";
  #chosen: Mode | undefined;
  /** What counted before the person began to look for another one, and when they last went on. */
  #before: Mode;
  #changedAt = Number.NEGATIVE_INFINITY;
  /** Shown even if it is the usual one. */
  #isNew = false;
  #note: string | undefined;
  /** One step after the other. */
  #stepping: Promise<void> = Promise.resolve();

  constructor(options: SessionModeOptions) {
    this.#options = options;
    this.#chosen = options.chosen;
    this.#before = this.current;
  }

  /** Undefined until the person chooses one. From then on it counts until the session ends. */
  get chosen(): Mode | undefined {
    return this.#chosen;
  }

  get current(): Mode {
    return this.#chosen ?? this.#configured;
  }

  /** Undefined for the usual one, unless the person has just chosen it. */
  get shown(): ShownMode | undefined {
    const { current: name } = this;
    return name === "ask" && !this.#isNew ? undefined : { name, note: this.#note };
  }

  /** For a call that is judged now. A mode that the person only passes lets nothing run. */
  readonly forCall = (): Mode => {
    return this.#isPassing ? stricter(this.#before, this.current) : this.current;
  };

  /** The config that the next message is sent with, or would be. */
  configure({ conversation: { mode = "ask" } = {} }: PartialConfig): void {
    this.#configured = mode;
  }

  /** A message is sent, so the person has seen the mode. */
  settle(): void {
    this.#changedAt = Number.NEGATIVE_INFINITY;
    this.#isNew = false;
    this.#note = undefined;
  }

  /** Returns false if commands cannot be confined here, and it is a mode for that. */
  async choose(mode: Mode): Promise<boolean> {
    this.#set(mode);
    return mode !== "sandbox" || (await this.#findSandbox());
  }

  /** Shift-Tab. Leaves out what cannot be had here. */
  readonly next = (): Promise<void> => {
    void this.#findSandbox(); // For one of the next steps.
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

/** Lets run what both let run. */
function stricter(one: Mode, other: Mode): Mode {
  if (one === other) return one;
  return one === "plan" || other === "plan" ? "plan" : "ask";
}
