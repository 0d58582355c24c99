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
} from "../../agent/index.ts";
import type { Dialogue, DialogueOptions } from "./dialogue.ts";
import { hasTerminal } from "./terminal-device.ts";

/** Needs no standard stream. What asks is loaded when somebody is asked: most commands never do. */
export class TerminalPrompter implements Prompter, InterruptMenu {
  readonly channel = "terminal";
  readonly #options: DialogueOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: DialogueOptions = {}) {
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
    const { askDelivery } = await import("./ask-delivery.ts");
    return await this.#talk(request.signal, (dialogue) => askDelivery(request, dialogue));
  }

  async choose(request: InterruptRequest): Promise<InterruptChoice> {
    const { chooseInterrupt } = await import("./choose-interrupt.ts");
    return await this.#talk(request.signal, (dialogue) => chooseInterrupt(request, dialogue));
  }

  /** There is one screen: who comes while another is talking waits, aborted or not. */
  async #talk<Result>(
    signal: AbortSignal,
    about: (dialogue: Dialogue) => Promise<Result>,
  ): Promise<Result> {
    const { Dialogue } = await import("./dialogue.ts");
    const talk = this.#last.then(async () => {
      using dialogue = new Dialogue(this.#options, signal);
      return await about(dialogue);
    });
    this.#last = talk.catch(() => {});
    return await talk;
  }
}
