/** Asks on the terminal. Everything foreign is made harmless before it is shown. */
import type {
  DeliveryRequest,
  DeliveryResult,
  FormRequest,
  FormResult,
  InterruptChoice,
  InterruptMenu,
  InterruptRequest,
  PermissionRequest,
  PermissionResult,
  Prompter,
  PromptRequest,
  PromptResult,
} from "../agent/index.ts";
import type { Dialogue, DialogueOptions } from "./dialogue.ts";
import { hasTerminal } from "./terminal-device.ts";

export interface TerminalPrompterOptions extends DialogueOptions {
  /** In lines that are read one after the other: nothing is drawn, and nothing ever changes. */
  readonly isPlain?: boolean;
}

/** Needs no standard stream. What asks is loaded when somebody is asked: most commands never do. */
export class TerminalPrompter implements Prompter, InterruptMenu {
  readonly channel = "terminal";
  readonly #options: TerminalPrompterOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: TerminalPrompterOptions = {}) {
    this.#options = options;
  }

  canAsk(): boolean {
    return hasTerminal();
  }

  async ask(request: PromptRequest): Promise<PromptResult> {
    const { askQuestion } = await import("./ask-question.ts");
    return await this.#talk(request.signal, (dialogue) => askQuestion(request, dialogue));
  }

  async askForm(request: FormRequest): Promise<FormResult> {
    const { askForm } = await import("./ask-form.ts");
    return await this.#talk(request.signal, (dialogue) => askForm(request, dialogue));
  }

  async askPermission(request: PermissionRequest): Promise<PermissionResult> {
    const { askPermission } = await import("./ask-permission.ts");
    return await this.#talk(request.signal, (dialogue) => askPermission(request, dialogue));
  }

  async askDelivery(request: DeliveryRequest): Promise<DeliveryResult> {
    const { askDelivery } = await import("./ask-permission.ts");
    return await this.#talk(request.signal, (dialogue) => askDelivery(request, dialogue));
  }

  async choose(request: InterruptRequest): Promise<InterruptChoice> {
    const { chooseInterrupt } = await import("./interrupt-menu.ts");
    return await this.#talk(request.signal, (dialogue) => chooseInterrupt(request, dialogue));
  }

  /** There is one screen: who comes while another is talking waits, aborted or not. */
  async #talk<Result>(
    signal: AbortSignal,
    about: (dialogue: Dialogue) => Promise<Result>,
  ): Promise<Result> {
    const begin = await this.#dialogues();
    const talk = this.#last.then(async () => {
      using dialogue = begin(this.#options, signal);
      return await about(dialogue);
    });
    this.#last = talk.catch(() => {});
    return await talk;
  }

  async #dialogues(): Promise<(options: DialogueOptions, signal: AbortSignal) => Dialogue> {
    if (this.#options.isPlain === true) {
      const { PlainDialogue } = await import("./plain-dialogue.ts");
      return (options, signal) => new PlainDialogue(options, signal);
    }
    const { DrawnDialogue } = await import("./drawn-dialogue.ts");
    return (options, signal) => new DrawnDialogue(options, signal);
  }
}
