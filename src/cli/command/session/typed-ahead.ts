/**
 * Text that was typed in a session and not sent: the draft at the prompt, messages for the running turn, messages queued
 * while jp works, which are sent one by one when the turn ends, and messages left unsent because the turn was stopped or failed. Unsent ones return to
 * the prompt, one after the other. All of it is kept for the next session.
 */
import type { ConversationId } from "../../../record/conversation/index.ts";
import type { InputState, TurnKeyboard } from "../../../surfaces/terminal/index.ts";
import { oneLine } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { Drafts } from "./drafts.ts";

/** The input typed at the prompt. */
export type Typed = InputState | string;

/** Text for the next prompts. */
interface Held {
  readonly text: string;
  /** Typed at a question. It is saved only once it is at the prompt. */
  readonly isAnswer?: boolean;
}

const RESTORED = "Text that was not sent is back. Enter sends it, Ctrl-C clears it.";
const MAX_NAMED = 3;

interface TypedAheadOptions {
  readonly context: CommandContext;
  /** Without one, nothing can be typed ahead. */
  readonly keyboard: TurnKeyboard | undefined;
  /** Called with a sentence. */
  readonly onProblem: (problem: string) => void;
}

export class TypedAhead {
  readonly #keyboard: TurnKeyboard | undefined;
  readonly #drafts: Drafts;
  #held: readonly Held[] = [];
  /** For the prompts of conversations that the session has left. */
  readonly #heldElsewhere = new Map<ConversationId | undefined, readonly Held[]>();
  /** At the prompt. */
  #draft = "";
  /** Sent, but perhaps not on record yet. */
  #sending = "";
  /** Taken by the running turn, but perhaps not on record yet. */
  #taken: readonly string[] = [];
  #id: ConversationId | undefined;
  #isFollowing = false;
  /** The user has not been told about it yet. */
  #hasRestored = false;

  constructor({ context, keyboard, onProblem }: TypedAheadOptions) {
    this.#keyboard = keyboard;
    const source = () => ({ id: this.#id, texts: this.#texts });
    this.#drafts = new Drafts({ context, source, onProblem });
    if (keyboard === undefined) return;
    keyboard.onTyped = (isQueued) => {
      if (isQueued) void this.#drafts.save();
      else this.#drafts.note();
    };
  }

  /** Text is waiting for the prompt. */
  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  /** The draft first. */
  get #texts(): readonly string[] {
    const { draft = "", pending = [] } = this.#keyboard ?? {};
    const held = textsOf(this.#held);
    const texts = [this.#draft, draft, this.#sending, ...held, ...this.#taken, ...pending];
    return texts.filter((text) => text.trim() !== "");
  }

  /** The user has changed the text at the prompt. */
  noteDraft(text: string): void {
    if (text === this.#draft) return;
    this.#draft = text;
    this.#drafts.note();
  }

  /** The user has sent this message, or a command, which is an empty text. */
  startSending(text: string): void {
    this.#draft = "";
    this.#sending = text;
    this.#drafts.note();
  }

  /** The message is on record, in this conversation or on its way there. */
  noteSent(): void {
    this.#draft = "";
    this.#sending = "";
    void this.#drafts.save();
  }

  /** The messages for the running turn, oldest first, which is about to record them. */
  takeForTurn(): readonly string[] {
    const texts = this.#keyboard?.takeForTurn() ?? [];
    this.#taken = [...this.#taken, ...texts];
    return texts;
  }

  /** The turn has recorded the messages that it took. Returns them. */
  noteTaken(): readonly string[] {
    const taken = this.#taken;
    this.#taken = [];
    void this.#drafts.save();
    return taken;
  }

  /** The conversation now exists, or is continued in a copy: unsent text goes with it. */
  moveTo(id: ConversationId): void {
    this.#id = id;
    this.#isFollowing = true;
    this.#drafts.note();
  }

  /**
   * The next message goes to this conversation. Unsent text stays with the one before. What earlier sessions have left
   * for this one is held for the prompt.
   */
  async follow(id: ConversationId | undefined): Promise<void> {
    if (this.#isFollowing && id === this.#id) return;
    if (this.#isFollowing) {
      await this.#drafts.leave({ id: this.#id, texts: textsOf(this.#held) });
      this.#heldElsewhere.set(this.#id, this.#held);
    }
    this.#isFollowing = true;
    this.#id = id;
    this.#held = this.#heldElsewhere.get(id) ?? [];
    this.#heldElsewhere.delete(id);
    this.#hasRestored = this.isHolding;
    await this.#drafts.takeOver(id, (texts) => {
      this.#held = [...this.#held, ...texts.map((text) => ({ text }))];
      this.#hasRestored = true;
    });
  }

  /** Commands that lead to text left in other conversations. */
  async findOthers(exists: (id: ConversationId) => Promise<boolean>): Promise<readonly string[]> {
    const commands: string[] = [];
    for (const id of this.#drafts.findOthers()) {
      if (commands.length === MAX_NAMED) break;
      if (id === undefined) commands.push("/new");
      else if (await exists(id)) commands.push(`/resume ${id}`);
    }
    return commands;
  }

  /** Keeps these texts, which were typed at questions, and the queue for the prompt. */
  hold(answers: readonly string[] = []): void {
    const queued: Held[] = this.#taken.map((text) => ({ text }));
    this.#taken = [];
    for (let text = this.#keyboard?.takeQueued(); text !== undefined;) {
      queued.push({ text });
      text = this.#keyboard?.takeQueued();
    }
    const typed = answers.map((text) => ({ text, isAnswer: true }));
    this.#held = [...this.#held, ...typed, ...queued];
  }

  /** The next queued message, unless unsent text is waiting for the prompt. */
  takeQueued(): string | undefined {
    const text = this.isHolding ? undefined : this.#keyboard?.takeQueued();
    if (text !== undefined) this.startSending(text);
    return text;
  }

  /** The prompt's initial text, and lines about the texts that come after it. */
  giveBack(given: Typed): { readonly state: Typed; readonly lines: readonly string[] } {
    this.hold();
    const draft = this.#keyboard?.takeDraft();
    if (textOf(given) !== "") this.#held = [{ text: textOf(given) }, ...this.#held];
    const hasDraft = draft !== undefined && textOf(draft) !== "";
    const [{ text: first } = { text: "" }, ...others] = this.#held;
    if (!hasDraft) this.#held = others;
    const next = this.#held.map(({ text }) =>
      oneLine(`Not sent, and back at the next prompt: ${text}`),
    );
    const lines = this.#hasRestored ? [RESTORED, ...next] : next;
    this.#hasRestored = false;
    const state = hasDraft ? draft : first === textOf(given) ? given : first;
    this.#sending = "";
    this.noteDraft(textOf(state));
    return { state, lines };
  }

  /** Saves everything that was not sent for the next session. */
  async end(): Promise<void> {
    await this.#drafts.end();
  }

  /** Saves it before the session ends. */
  save(): void {
    void this.#drafts.save();
  }

  /** Takes everything that was not sent. */
  takeAll(): readonly string[] {
    this.hold();
    const everywhere = [...this.#heldElsewhere.values(), this.#held].flat();
    const held = everywhere.map(({ text }) => text);
    const all = [...held, this.#sending, textOf(this.#keyboard?.takeDraft() ?? ""), this.#draft];
    this.#heldElsewhere.clear();
    this.#held = [];
    this.#draft = "";
    this.#sending = "";
    return all.filter((text) => text.trim() !== "");
  }
}

function textsOf(held: readonly Held[]): readonly string[] {
  return held.flatMap(({ text, isAnswer = false }) => (isAnswer ? [] : [text]));
}

export function textOf(typed: Typed): string {
  return typeof typed === "string" ? typed : typed.buffer.text;
}
