/** The prompter for people at a terminal. Loads the rest of this folder only when it has to ask. */
import type {
  InterruptChoice,
  InterruptMenu,
  Prompter,
  PromptRequest,
  PromptResult,
  QuestionRequest,
} from "../../core/agent/index.ts";
import { abortable, assertNever, loadModule, systemClock } from "../../util/index.ts";
import type { InquiryId } from "../../record/conversation/index.ts";
import type { ShownCalls } from "./ask-permissions.ts";
import type { Shown } from "./ask-question.ts";
import type { MenuRequest } from "./interrupt-menu.ts";
import type { Dialogue, DialogueOptions, EnteredMessage, MessageRequest } from "./dialogue.ts";
import type { CallListState } from "./listed-calls.ts";
import type { SelectList } from "./listed-options.ts";
import { controllingTerminal, takenPrompts, type TerminalDevice } from "./controlling-terminal.ts";
import type { KeptTerminal } from "./kept-terminal.ts";
import type { TurnKeyboard, TurnKeyboardOptions } from "./turn-keyboard.ts";

export interface TerminalPrompterOptions extends Partial<DialogueOptions> {
  /** Asks in lines of text instead of drawing: for screen readers and simple terminals. */
  readonly isPlain?: boolean;
  /** Called with words typed at a question that ended another way. By default they are printed. */
  readonly onUnsent?: (text: string) => void;
  /** Called with a message to the assistant: what to do instead, or a reply from the menu. */
  readonly onSaid?: (text: string) => void;
}

/** One of jp's own questions, outside of a turn: it concerns no call and is not recorded. */
export interface OwnQuestion extends Pick<QuestionRequest, "inquiryId" | "question" | "signal"> {
  readonly kind?: never;
  /** Drawn above it: lines that are safe to print. If the answer acts, they are read to the end before a yes. */
  readonly above?: string;
  /** Called if Ctrl-C, rather than Esc, cancels it. */
  readonly onInterrupt?: () => void;
}

type WithSignal<Request> = Request & { readonly signal: AbortSignal };

/** A question that opens later than this does not replace a withdrawn one. */
const REPLACED_WITHIN_MS = 2000;
/** Keeps the terminal open between prompts. Throws `no_terminal`. */
export async function keepTerminal(device: TerminalDevice): Promise<KeptTerminal> {
  const { KeptTerminal } = await loadModule(() => import("./kept-terminal.ts"));
  return new KeptTerminal(device);
}

/** Throws `no_terminal`. */
export async function openKeyboard(options: TurnKeyboardOptions): Promise<TurnKeyboard> {
  const { TurnKeyboard } = await loadModule(() => import("./turn-keyboard.ts"));
  return new TurnKeyboard(options);
}

/** Tells the model why a question could not be asked. */
export const NO_TERMINAL = "no interactive terminal is available";

/**
 * Asks on the controlling terminal unless given another. There is a single screen: await each method before calling the
 * next.
 */
export class TerminalPrompter implements Prompter, InterruptMenu {
  readonly channel = "terminal";
  readonly auth = "os_user";
  readonly unavailableBecause = NO_TERMINAL;
  readonly showsForms = true;
  readonly showsPermissions = true;
  readonly #options: TerminalPrompterOptions & DialogueOptions;
  /** An editor keeps the screen until the user closes it, even if its prompt has ended. */
  #editing: Promise<unknown> = Promise.resolve();
  /** The state of the list, for when the remaining calls are asked about again. */
  #callList: CallListState | undefined;
  /** The call that was open when another in the list was decided elsewhere. */
  #openedCall: InquiryId | undefined;
  /** When the last question or menu was withdrawn. */
  #withdrawnAt: number | undefined;

  constructor(options: TerminalPrompterOptions = {}) {
    const { editText } = options;
    this.#options = {
      device: controllingTerminal,
      clock: systemClock,
      ...options,
      ...(editText !== undefined && {
        editText: async (...edited) => {
          const editing = editText(...edited);
          this.#editing = editing.catch(() => undefined);
          return await editing;
        },
      }),
    };
  }

  canAsk(): boolean {
    return this.#options.device.isAvailable();
  }

  async ask(request: Shown<PromptRequest> | OwnQuestion): Promise<PromptResult> {
    using dialogue = await this.#open(request.signal);
    const watch = dialogue.watch();
    try {
      const result = await this.#askOn(dialogue, request);
      for (const text of messagesIn(result)) this.#options.onSaid?.(text);
      return result;
    } finally {
      watch[Symbol.dispose]();
      this.#noteWithdrawn(request);
      this.#keepDraft(dialogue);
    }
  }

  #noteWithdrawn({ signal }: { readonly signal: AbortSignal }): void {
    if (signal.aborted) this.#withdrawnAt = this.#options.clock.now().getTime();
  }

  #keepDraft(dialogue: Dialogue): void {
    const draft = dialogue.takeDraft();
    if (draft === undefined) return;
    const { onUnsent, device } = this.#options;
    const taken = takenPrompts.get(device);
    // It was taken away, so the text can be fetched at the next prompt.
    if (taken?.notice !== undefined) {
      taken.unsent = [taken.unsent, draft].filter(Boolean).join("\n");
      if (onUnsent !== undefined) return;
    }
    if (onUnsent === undefined) dialogue.printUnsent(draft);
    else onUnsent(draft);
  }

  async #askOn(
    dialogue: Dialogue,
    request: Shown<PromptRequest> | OwnQuestion,
  ): Promise<PromptResult> {
    switch (request.kind) {
      case undefined:
      case "question":
      case "in_doubt": {
        const { askQuestion } = await loadModule(() => import("./ask-question.ts"));
        const isOwn = request.kind === undefined;
        return await askQuestion({ ...request, isOwn }, dialogue);
      }
      case "form": {
        const { askForm } = await loadModule(() => import("./ask-form.ts"));
        return await askForm(request, dialogue);
      }
      case "permission": {
        const { askPermission } = await loadModule(() => import("./ask-permission.ts"));
        return await askPermission(request, dialogue);
      }
      case "permissions":
        return await this.#askSeveral(dialogue, request);
      case "delivery": {
        const { askDelivery } = await loadModule(() => import("./ask-permission.ts"));
        return await askDelivery(request, dialogue);
      }
      default:
        return assertNever(request);
    }
  }

  /** An opened call has the screen to itself, as if it were the only one. */
  async #askSeveral(dialogue: Dialogue, request: ShownCalls): Promise<PromptResult> {
    const { inquiryId, signal, calls } = request;
    const { askPermissions } = await loadModule(() => import("./ask-permissions.ts"));
    const { askListedPermission } = await loadModule(() => import("./ask-permission.ts"));
    for (;;) {
      let call = calls.find((each) => each.inquiryId === this.#openedCall);
      let next = this.#callList;
      if (call === undefined) {
        const { ending, state } = await askPermissions(request, dialogue, this.#callList);
        const isOver = ending.type === "form" && ending.results.length === calls.length;
        this.#callList = isOver ? undefined : state;
        if (ending.type !== "opened") return ending;
        ({ call, next } = ending);
      }
      this.#openedCall = call.inquiryId;
      dialogue[Symbol.dispose]();
      using own = await this.#open(signal);
      const watch = own.watch();
      const asking = askListedPermission({ ...call, signal }, own);
      const result = await asking.finally(() => watch[Symbol.dispose]());
      this.#keepDraft(own);
      if (result !== "back" && result.type === "interrupted") return { ...result, inquiryId };
      this.#openedCall = undefined;
      if (result === "back") continue;
      this.#callList = next;
      return { inquiryId, type: "form", results: [result] };
    }
  }

  /**
   * Loads everything needed to ask, so that no prompt depends on files that an upgrade may have replaced. Throws
   * `module_not_loaded`.
   */
  async load(): Promise<void> {
    await Promise.all([
      this.#loadDialogue(),
      loadModule(() => import("./choose.ts")),
      loadModule(() => import("./ask-question.ts")),
      loadModule(() => import("./ask-form.ts")),
      loadModule(() => import("./ask-permission.ts")),
      loadModule(() => import("./ask-permissions.ts")),
      loadModule(() => import("./interrupt-menu.ts")),
    ]);
  }

  async choose(request: MenuRequest): Promise<InterruptChoice> {
    const { chooseInterrupt } = await loadModule(() => import("./interrupt-menu.ts"));
    using dialogue = await this.#open(request.signal);
    const watch = dialogue.watch("jp has finished, so there is nothing to interrupt.");
    try {
      const choice = await chooseInterrupt(request, dialogue);
      if (choice.type === "reply" && choice.message !== "") this.#options.onSaid?.(choice.message);
      return choice;
    } finally {
      watch[Symbol.dispose]();
      this.#noteWithdrawn(request);
    }
  }

  /** Reads a message to the assistant rather than an answer. */
  async enterMessage({ signal, ...request }: WithSignal<MessageRequest>): Promise<EnteredMessage> {
    using dialogue = await this.#open(signal);
    return await dialogue.enterMessage(request);
  }

  /** Lets the user choose an option; returns its index. Undefined if they choose none. */
  async select({ signal, ...list }: WithSignal<SelectList>): Promise<number | undefined> {
    const { selectPrompt } = await loadModule(() => import("./choose.ts"));
    using dialogue = await this.#open(signal);
    await dialogue.start();
    const ending = await dialogue.ask(selectPrompt(list));
    return ending.type === "chosen" ? ending.indexes[0] : undefined;
  }

  async #open(signal: AbortSignal): Promise<Dialogue> {
    await abortable(this.#editing, signal).catch(() => undefined);
    const Dialogue = await this.#loadDialogue();
    const sinceWithdrawn = this.#options.clock.now().getTime() - (this.#withdrawnAt ?? -Infinity);
    const isReplacement = sinceWithdrawn < REPLACED_WITHIN_MS;
    const keepsUnsent = this.#options.onUnsent !== undefined;
    return new Dialogue({ ...this.#options, isReplacement, keepsUnsent }, signal);
  }

  async #loadDialogue() {
    if (this.#options.isPlain === true) {
      return (await loadModule(() => import("./plain-dialogue.ts"))).PlainDialogue;
    }
    return (await loadModule(() => import("./drawn-dialogue.ts"))).DrawnDialogue;
  }
}

function messagesIn(result: PromptResult): readonly string[] {
  if (result.type === "form") return result.results.flatMap(messagesIn);
  const isMessage = result.type === "answered" && result.redirects === true;
  return isMessage && result.note !== undefined ? [result.note] : [];
}
