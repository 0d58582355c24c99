/** The prompter for people at a terminal. It loads the rest of this folder only when it has to ask. */
import type {
  DeliveryResult,
  FormResult,
  InterruptChoice,
  InterruptMenu,
  InterruptRequest,
  PermissionResult,
  Prompter,
  PromptResult,
} from "../agent/index.ts";
import type { ShownForm } from "./ask-form.ts";
import type { ShownDelivery, ShownPermission } from "./ask-permission.ts";
import type { ShownQuestion } from "./ask-question.ts";
import type { Dialogue, DialogueOptions } from "./dialogue.ts";
import { controllingTerminal } from "./controlling-terminal.ts";

export interface TerminalPrompterOptions extends Partial<DialogueOptions> {
  /** Ask in lines of text instead of drawing: for screen readers and simple terminals. */
  readonly isPlain?: boolean;
}

/** A terminal shows less than a request has, so that jp can ask questions of its own, outside of a turn. */
type OnTerminal<Shown> = Shown & { readonly signal: AbortSignal };

/** For the model, where a question would need a terminal. */
export const NO_TERMINAL = "no interactive terminal is available";

/** Asks on the controlling terminal unless it is given another. */
export class TerminalPrompter implements Prompter, InterruptMenu {
  readonly channel = "terminal";
  readonly unavailableBecause = NO_TERMINAL;
  readonly #options: TerminalPrompterOptions & DialogueOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: TerminalPrompterOptions = {}) {
    this.#options = { device: controllingTerminal, ...options };
  }

  canAsk(): boolean {
    return this.#options.device.isAvailable();
  }

  async ask(request: OnTerminal<ShownQuestion>): Promise<PromptResult> {
    const { askQuestion } = await import("./ask-question.ts");
    return await this.#inTurn(request.signal, (dialogue) => askQuestion(request, dialogue));
  }

  async askForm(request: OnTerminal<ShownForm>): Promise<FormResult> {
    const { askForm } = await import("./ask-form.ts");
    return await this.#inTurn(request.signal, (dialogue) => askForm(request, dialogue));
  }

  async askPermission(request: OnTerminal<ShownPermission>): Promise<PermissionResult> {
    const { askPermission } = await import("./ask-permission.ts");
    return await this.#inTurn(request.signal, (dialogue) => askPermission(request, dialogue));
  }

  async askDelivery(request: OnTerminal<ShownDelivery>): Promise<DeliveryResult> {
    const { askDelivery } = await import("./ask-permission.ts");
    return await this.#inTurn(request.signal, (dialogue) => askDelivery(request, dialogue));
  }

  async choose(request: InterruptRequest): Promise<InterruptChoice> {
    const { chooseInterrupt } = await import("./interrupt-menu.ts");
    return await this.#inTurn(request.signal, (dialogue) => chooseInterrupt(request, dialogue));
  }

  /** There is one screen, so questions wait for each other, even those already aborted. */
  async #inTurn<Result>(
    signal: AbortSignal,
    ask: (dialogue: Dialogue) => Promise<Result>,
  ): Promise<Result> {
    const createDialogue = await this.#loadDialogue();
    const asked = this.#last.then(async () => {
      using dialogue = createDialogue(this.#options, signal);
      return await ask(dialogue);
    });
    this.#last = asked.catch(() => {});
    return await asked;
  }

  async #loadDialogue(): Promise<(options: DialogueOptions, signal: AbortSignal) => Dialogue> {
    if (this.#options.isPlain === true) {
      const { PlainDialogue } = await import("./plain-dialogue.ts");
      return (options, signal) => new PlainDialogue(options, signal);
    }
    const { DrawnDialogue } = await import("./drawn-dialogue.ts");
    return (options, signal) => new DrawnDialogue(options, signal);
  }
}
