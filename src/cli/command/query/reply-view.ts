/** Streams the reply: text to standard output, reasoning to standard error. */
import type { TurnUpdate } from "../../../core/agent/index.ts";
import { loadMarkdownStream, type MarkdownStream } from "../../../surfaces/render/index.ts";
import type { Output } from "../../../surfaces/terminal/index.ts";
import { neutralize } from "../../../util/index.ts";
import { ReasoningLines } from "./reasoning-lines.ts";

export interface ReplyViewOptions {
  readonly output: Output;
  readonly reasoning: ReasoningDisplay;
  /** The user's choice by keystroke, for this turn and later ones. */
  readonly reasoningChoice?: ReasoningChoice;
  /** Maximum line width; the terminal's width by default. */
  readonly wrapWidth?: number;
  /** Whether code blocks are colored. */
  readonly colorsCode: boolean;
  /** The reply is one JSON document: it is printed when complete. */
  readonly isStructured: boolean;
  /** For screen readers. */
  readonly isPlain: boolean;
  /** The terminal opens links whose address is not shown. */
  readonly hasHyperlinks: boolean;
}

interface ReasoningChoice {
  /** Undefined to follow the config. */
  isReasoningOpen: boolean | undefined;
}

/**
 * `static`: a line that says the model is reasoning. `progress`: on the status line. `folded`: a line with its
 * duration.
 */
export type ReasoningDisplay =
  | { readonly type: "full" | "folded" | "hidden" | "static" | "progress" }
  | { readonly type: "start"; readonly characters: number };

/** The text or reasoning that is being streamed. */
interface Block {
  readonly type: "message" | "reasoning";
  /** The output ends with a newline. */
  isLineOver: boolean;
  /** How much of it has been shown. */
  shown: number;
  /** Already recorded, so it is complete, unless the connection broke and a retry continues it. */
  isRecorded: boolean;
  /** Set while its reasoning is folded. */
  folded?: Folded | undefined;
}

interface Folded {
  text: string;
  readonly since: number;
  until: number;
}

/** Used if the terminal's width is unknown. */
const DEFAULT_WIDTH = 80;

export class ReplyView {
  readonly #options: ReplyViewOptions;
  #block: Block | undefined;
  #createMarkdown: Awaited<ReturnType<typeof loadMarkdownStream>> | undefined;
  #markdown: MarkdownStream | undefined;
  #reasoning: ReasoningLines | undefined;
  /** Reasoning of this turn that was folded. */
  #unseen: readonly string[] = [];
  readonly #choice: ReasoningChoice;

  constructor(options: ReplyViewOptions) {
    this.#options = options;
    this.#choice = options.reasoningChoice ?? { isReasoningOpen: undefined };
  }

  /** Whether incoming reasoning is being hidden. */
  get isFolded(): boolean {
    return this.#block?.folded !== undefined;
  }

  /** Shows reasoning in full from now on, including what was folded, or folds it again. */
  toggleReasoning(at: number): void {
    const { reasoning } = this.#options;
    if (reasoning.type !== "full" && reasoning.type !== "folded") return;
    const block = this.#block?.type === "reasoning" ? this.#block : undefined;
    const isOpen = this.#isFolding;
    this.#choice.isReasoningOpen = isOpen;
    if (!isOpen) {
      this.#reasoning?.breakLine();
      if (block !== undefined) block.folded = { text: "", since: at, until: at };
      return;
    }
    const unseen = [...this.#unseen, ...(block?.folded === undefined ? [] : [block.folded.text])];
    this.#unseen = [];
    if (block !== undefined) block.folded = undefined;
    if (unseen.length > 0) this.breakLine();
    for (const text of unseen) this.#writeReasoning(text);
    if (block === undefined) this.#endReasoning();
  }

  get #isFolding(): boolean {
    const { type } = this.#options.reasoning;
    const isOpen = this.#choice.isReasoningOpen ?? type === "full";
    return (type === "full" || type === "folded") && !isOpen;
  }

  /** Whether the current block is recorded and therefore complete. */
  get isRecorded(): boolean {
    return this.#block?.isRecorded === true;
  }

  /** Loads the code that shows text; otherwise the first text would wait for it. */
  async load(): Promise<void> {
    if (this.#options.output.isTerminal) this.#createMarkdown ??= await loadMarkdownStream();
  }

  noteRecorded(): void {
    if (this.#block !== undefined) this.#block.isRecorded = true;
  }

  /** Whether an update of this type is shown here. */
  shows(type: TurnUpdate["type"]): boolean {
    return this.#typeOf(type) !== undefined;
  }

  /**
   * Called before an update of this type. Ends a recorded block, unless the connection broke: then a retry continues
   * it.
   */
  begin(updateType: TurnUpdate["type"]): Promise<void> | void {
    if (this.isRecorded && this.#block !== undefined && updateType === "retry_start") {
      this.#block.isRecorded = false;
      return undefined;
    }
    const type = this.#typeOf(updateType);
    const isOver = this.isRecorded && updateType !== "response_end";
    if (type === undefined && !isOver) return undefined;
    if (this.#block?.type === type && !isOver) return undefined;
    const ended = this.end();
    if (type !== undefined) this.#block = { type, isLineOver: true, isRecorded: false, shown: 0 };
    const isLoaded = this.#createMarkdown !== undefined || !this.#options.output.isTerminal;
    return isLoaded || type !== "message" ? ended : this.load().then(() => ended);
  }

  /** `since`: when the model was asked, if it has said nothing else. */
  showReasoning(text: string, at: number, since = at): void {
    const { output } = this.#options;
    const block = this.#block;
    if (block !== undefined && this.#isFolding) {
      block.folded ??= { text: "", since, until: at };
      block.folded.text += text;
      block.folded.until = at;
      return;
    }
    const piece = this.#nextReasoning(text);
    if (piece === "") return;
    if (this.#options.reasoning.type === "static")
      return output.noticePiece(output.paintNotice("dim", piece));
    this.#writeReasoning(piece);
  }

  #writeReasoning(piece: string): void {
    const { output } = this.#options;
    this.#reasoning ??= new ReasoningLines({
      width: Number.isFinite(output.noticeWidth) ? output.noticeWidth - 1 : output.noticeWidth,
      isPlain: this.#options.isPlain,
      write: (written) => output.noticePiece(output.paintNotice("dim", written)),
    });
    this.#reasoning.push(piece);
    this.#noteLineEnd(piece);
  }

  /** The part of it to show. */
  #nextReasoning(text: string): string {
    const { reasoning } = this.#options;
    const block = this.#block;
    if (block === undefined || reasoning.type === "full" || reasoning.type === "folded")
      return text;
    const before = block.shown;
    block.shown += text.length;
    if (reasoning.type === "static") return before === 0 ? "Reasoning…\n" : "";
    const limit = reasoning.type === "start" ? reasoning.characters : 0;
    const piece = text.slice(0, Math.max(0, limit - before));
    return before <= limit && block.shown > limit ? `${piece}…` : piece;
  }

  showText(text: string): void {
    const { output } = this.#options;
    if (!output.isTerminal) output.write(text);
    else (this.#markdown ??= this.#startMarkdown()).push(text);
    this.#noteLineEnd(text);
  }

  /** Shows a whole message in the middle of a turn. If the result is a single document, it is a notice. */
  async say(text: string): Promise<void> {
    const { output, isStructured } = this.#options;
    await this.end();
    if (isStructured) return output.notice(neutralize(text.trimEnd()));
    await this.load();
    this.#block = { type: "message", isLineOver: true, isRecorded: true, shown: 0 };
    this.showText(text.trimEnd());
    return this.end();
  }

  printDocument(data: unknown): void {
    const { output } = this.#options;
    output.write(
      `${output.isTerminal ? neutralize(JSON.stringify(data, null, 2)) : JSON.stringify(data)}\n`,
    );
  }

  /** Starts a new line on the screen, for a notice or a prompt below unfinished text. */
  breakLine(): void {
    if (this.#block?.type === "reasoning") this.#reasoning?.breakLine();
    else this.#markdown?.breakLine();
  }

  end(): Promise<void> | void {
    const { output } = this.#options;
    const block = this.#block;
    this.#block = undefined;
    if (block === undefined) return undefined;
    if (this.#markdown !== undefined && block.type === "message") {
      const ended = this.#markdown.end();
      this.#markdown = undefined;
      return ended;
    }
    if (block.type === "reasoning") {
      this.#endReasoning();
      if (block.folded !== undefined) this.#noteFolded(block.folded);
      return undefined;
    }
    return block.isLineOver ? undefined : output.write("\n");
  }

  #endReasoning(): void {
    this.#reasoning?.end();
    this.#reasoning = undefined;
  }

  #noteFolded({ text, since, until }: Folded): void {
    const { output, isPlain } = this.#options;
    const words = countWords(text);
    if (words === 0) return; // Shown before it was folded again.
    this.#unseen = [...this.#unseen, text];
    const seconds = Math.max(1, Math.round((until - since) / 1000));
    const length = `${words} ${words === 1 ? "word" : "words"}`;
    const line = `Thought for ${seconds} s${isPlain ? ", " : " · "}${length}`;
    output.notice(output.paintNotice("dim", line));
  }

  #typeOf(type: TurnUpdate["type"]): Block["type"] | undefined {
    const { reasoning, isStructured } = this.#options;
    const isShown = reasoning.type !== "hidden" && reasoning.type !== "progress";
    if (type === "reasoning_delta" && isShown) return "reasoning";
    return type === "message_delta" && !isStructured ? "message" : undefined;
  }

  #noteLineEnd(text: string): void {
    if (this.#block !== undefined && text !== "") this.#block.isLineOver = text.endsWith("\n");
  }

  #startMarkdown(): MarkdownStream {
    const { output, isPlain, hasHyperlinks, colorsCode } = this.#options;
    const { wrapWidth = Number.POSITIVE_INFINITY } = this.#options;
    const width = Number.isFinite(output.lineWidth) ? output.lineWidth : DEFAULT_WIDTH;
    if (this.#createMarkdown === undefined) throw new TypeError("begin() has not been awaited");
    return this.#createMarkdown({
      paint: output.paint,
      width: Math.min(width, wrapWidth),
      colorsCode,
      hyperlinks: hasHyperlinks && output.hasColors && !isPlain,
      write: (text) => output.write(text),
    });
  }
}

function countWords(text: string): number {
  return text.match(/\S+/g)?.length ?? 0;
}
