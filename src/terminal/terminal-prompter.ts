/** The prompter for people at a terminal. It loads the rest of this folder only when it has to ask. */
import type {
  DeliveryResult,
  FormResult,
  InterruptChoice,
  InterruptMenu,
  PermissionResult,
  Prompter,
  PromptResult,
} from "../agent/index.ts";
import type { MenuRequest } from "./interrupt-menu.ts";
import type { ShownForm } from "./ask-form.ts";
import type { ShownDelivery, ShownPermission } from "./ask-permission.ts";
import type { ShownQuestion } from "./ask-question.ts";
import type {
  Dialogue,
  DialogueOptions,
  EnteredMessage,
  MessageRequest,
  SelectList,
} from "./dialogue.ts";
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

  async choose(request: MenuRequest): Promise<InterruptChoice> {
    const { chooseInterrupt } = await import("./interrupt-menu.ts");
    return await this.#inTurn(request.signal, (dialogue) => chooseInterrupt(request, dialogue));
  }

  /** Reads a message to the assistant, which is not the answer to a question. */
  async enterMessage({ signal, ...request }: OnTerminal<MessageRequest>): Promise<EnteredMessage> {
    return await this.#inTurn(signal, (dialogue) => dialogue.enterMessage(request));
  }

  /** Lets the user choose one of the options, by its index. Undefined if they choose none. */
  async select({ signal, ...list }: OnTerminal<SelectList>): Promise<number | undefined> {
    return await this.#inTurn(signal, async (dialogue) => {
      await dialogue.start();
      const { ending } = await dialogue.select(list, { filter: "", active: 0, marked: [] });
      return ending.type === "chosen" ? ending.indexes[0] : undefined;
    });
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
