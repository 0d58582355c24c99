/** Streams the reply: text to standard output, reasoning to standard error. */
import type { TurnUpdate } from "../../../agent/index.ts";
import { loadMarkdownStream, type MarkdownStream, neutralize } from "../../../render/index.ts";
import type { Output } from "../../../terminal/index.ts";

export interface ReplyViewOptions {
  readonly output: Output;
  readonly showsReasoning: boolean;
  /** The reply is one JSON document: it is printed when complete. */
  readonly isStructured: boolean;
  /** Without hyperlinks, for screen readers. */
  readonly isPlain: boolean;
}

/** The text or reasoning that is being streamed. */
interface Block {
  readonly type: "message" | "reasoning";
  /** The output ends with a newline. */
  isLineOver: boolean;
  /** It is recorded, so nothing follows, unless the connection broke and it is continued. */
  isRecorded: boolean;
}

/** Where the width of the terminal is unknown. */
const DEFAULT_WIDTH = 80;

export class ReplyView {
  readonly #options: ReplyViewOptions;
  #block: Block | undefined;
  #createMarkdown: Awaited<ReturnType<typeof loadMarkdownStream>> | undefined;
  #markdown: MarkdownStream | undefined;

  constructor(options: ReplyViewOptions) {
    this.#options = options;
  }

  /** Whether the current block is recorded and therefore complete. */
  get isRecorded(): boolean {
    return this.#block?.isRecorded === true;
  }

  /** Loads what is needed to show text. Otherwise the first text waits for it. */
  async load(): Promise<void> {
    if (this.#options.output.isTerminal) this.#createMarkdown ??= await loadMarkdownStream();
  }

  noteRecorded(): void {
    if (this.#block !== undefined) this.#block.isRecorded = true;
  }

  /** Whether the update is shown here. */
  shows({ type }: TurnUpdate): boolean {
    return this.#typeOf(type) !== undefined;
  }

  /** Ends a recorded block, unless the connection broke: then a retry continues it. */
  begin(update: TurnUpdate): Promise<void> | void {
    if (this.isRecorded && this.#block !== undefined && update.type === "retry_start") {
      this.#block.isRecorded = false;
      return undefined;
    }
    const type = this.#typeOf(update.type);
    const isOver = this.isRecorded && update.type !== "response_end";
    if (type === undefined && !isOver) return undefined;
    if (this.#block?.type === type && !isOver) return undefined;
    const ended = this.end();
    if (type !== undefined) this.#block = { type, isLineOver: true, isRecorded: false };
    const isLoaded = this.#createMarkdown !== undefined || !this.#options.output.isTerminal;
    return isLoaded || type !== "message" ? ended : this.load().then(() => ended);
  }

  showReasoning(text: string): void {
    const { output } = this.#options;
    output.noticePiece(output.paintNotice("dim", neutralize(text)));
    this.#noteLineEnd(text);
  }

  showText(text: string): void {
    const { output } = this.#options;
    if (!output.isTerminal) output.write(text);
    else (this.#markdown ??= this.#startMarkdown()).push(text);
    this.#noteLineEnd(text);
  }

  printDocument(data: unknown): void {
    const { output } = this.#options;
    output.write(
      `${output.isTerminal ? neutralize(JSON.stringify(data, null, 2)) : JSON.stringify(data)}\n`,
    );
  }

  /** Starts a new line on the screen, for a notice below unfinished text. */
  breakLine(): void {
    const { output } = this.#options;
    if (this.#block === undefined) return;
    const { type, isLineOver } = this.#block;
    if (isLineOver || (type === "message" && !output.isTerminal)) return;
    output.noticePiece("\n");
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
    if (block.isLineOver) return undefined;
    return block.type === "message" ? output.write("\n") : output.notice("");
  }

  #typeOf(type: TurnUpdate["type"]): Block["type"] | undefined {
    const { showsReasoning, isStructured } = this.#options;
    if (type === "reasoning_delta" && showsReasoning) return "reasoning";
    return type === "message_delta" && !isStructured ? "message" : undefined;
  }

  #noteLineEnd(text: string): void {
    if (this.#block !== undefined && text !== "") this.#block.isLineOver = text.endsWith("\n");
  }

  #startMarkdown(): MarkdownStream {
    const { output, isPlain } = this.#options;
    if (this.#createMarkdown === undefined) throw new TypeError("begin() has not been awaited");
    return this.#createMarkdown({
      paint: output.paint,
      width: Number.isFinite(output.lineWidth) ? output.lineWidth : DEFAULT_WIDTH,
      hyperlinks: output.hasColors && !isPlain,
      write: (text) => output.write(text),
    });
  }
}
