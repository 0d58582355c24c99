/** The keyboard during a turn: the session's, or the turn's own when it is shown on a terminal. */
import type { Turn } from "../../../core/agent/index.ts";
import type { PartialConfig } from "../../../settings/config/index.ts";
import { openKeyboard, type TurnKeyboard } from "../../../surfaces/terminal/index.ts";
import type { CommandContext } from "../../context.ts";
import { wantsPlainText } from "../../host.ts";
import type { UnsentText } from "./unsent-text.ts";
import type { TurnView } from "./view.ts";
import { modeToShow } from "./view-settings.ts";

interface KeysOptions {
  /** The session's keyboard. */
  readonly keyboard: TurnKeyboard | undefined;
  /** There is no one to type, or a program reads the output. */
  readonly isUnattended: boolean;
  readonly config: PartialConfig;
  readonly unsent: UnsentText;
  /** Whether the turn takes this text while it runs. */
  readonly takes?: ((text: string) => boolean) | undefined;
}

export class TurnKeys {
  readonly #context: CommandContext;
  readonly #options: KeysOptions;
  #keyboard: TurnKeyboard | undefined;
  #shown: Disposable | undefined;
  #isOver = false;
  readonly #over = Promise.withResolvers<void>();

  constructor(context: CommandContext, options: KeysOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Undefined while it does not draw. */
  get keyboard(): TurnKeyboard | undefined {
    return this.#keyboard;
  }

  /** Takes the keyboard once `after` resolves. Never throws: the turn works without it. */
  async take(turn: Turn, view: TurnView, after?: Promise<void>): Promise<void> {
    const { keyboard: given } = this.#options;
    if (given === undefined && !this.#canTake()) return;
    const { host, output } = this.#context;
    try {
      if (after !== undefined) await Promise.race([after, this.#over.promise]);
      const onStop = () => {
        view.noteStop();
        turn.stop();
      };
      const onExpand = () => view.expand();
      const { takes } = this.#options;
      const show = (keyboard: TurnKeyboard) => {
        output.share(keyboard);
        this.#keyboard = keyboard;
        this.#shown = keyboard.during({ onStop, onExpand, ...(takes !== undefined && { takes }) });
      };
      if (given !== undefined) return show(given);
      if (this.#isOver) return;
      await view.aside(async () => {
        const mode = modeToShow(this.#options.config);
        const keyboard = await openKeyboard({ device: host.terminal, mode: () => mode });
        if (this.#isOver) keyboard[Symbol.dispose]();
        else show(keyboard);
      });
    } catch {
      // The terminal is closed.
    }
  }

  end(): void {
    this.#isOver = true;
    this.#over.resolve();
    const keyboard = this.#keyboard;
    if (keyboard === undefined) return;
    this.#keyboard = undefined;
    this.#shown?.[Symbol.dispose]();
    this.#context.output.share(undefined);
    if (this.#options.keyboard !== undefined) return;
    this.#options.unsent.keep(keyboard.takeDraft().buffer.text);
    keyboard[Symbol.dispose]();
  }

  /** False if another program may read the keys, as in `jp query … | less`, or the shell does. */
  #canTake(): boolean {
    const { host } = this.#context;
    const { config, isUnattended } = this.#options;
    const isDisabled = host.environment.variables["JP_NONINTERACTIVE"] === "1";
    if (isUnattended || isDisabled || wantsPlainText(host, config)) return false;
    const isShown = host.results.isTTY && host.notices.isTTY;
    return isShown && host.terminal.isAvailable() && host.terminal.isForeground();
  }
}
