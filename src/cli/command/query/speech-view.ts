/** What is being said: the answer on standard output, thoughts beside it. */
import type { TurnUpdate } from "../../../agent/index.ts";
import { createMarkdownStream, type MarkdownStream, neutralize } from "../../../render/index.ts";
import type { Output } from "../../../terminal/index.ts";

export interface SpeechViewOptions {
  readonly output: Output;
  readonly showsReasoning: boolean;
  /** The answer is a document: it is printed whole. */
  readonly isStructured: boolean;
  /** Without anything that only a screen can make use of. */
  readonly isPlain: boolean;
}

/** What is being said at the moment. */
interface Speech {
  readonly type: "message" | "reasoning";
  /** Its last line has ended. */
  isLineOver: boolean;
  /** It is on record. Only if its connection broke does it go on. */
  isRecorded: boolean;
}

/** Columns of a screen that nobody knows. */
const USUAL_WIDTH = 80;

export class SpeechView {
  readonly #options: SpeechViewOptions;
  #speech: Speech | undefined;
  #markdown: MarkdownStream | undefined;

  constructor(options: SpeechViewOptions) {
    this.#options = options;
  }

  /** Whether something was said that is on record by now: nothing will be added to it. */
  get isRecorded(): boolean {
    return this.#speech?.isRecorded === true;
  }

  noteRecorded(): void {
    if (this.#speech !== undefined) this.#speech.isRecorded = true;
  }

  /** Whether anything of it is to be heard. */
  hears({ type }: TurnUpdate): boolean {
    return this.#typeOf(type) !== undefined;
  }

  /** What is on record is over, unless the connection broke: then it is continued. */
  begin(update: TurnUpdate): Promise<void> | void {
    if (this.isRecorded && this.#speech !== undefined && update.type === "retry_start") {
      this.#speech.isRecorded = false;
      return undefined;
    }
    const type = this.#typeOf(update.type);
    const isOver = this.isRecorded && update.type !== "response_end";
    if (type === undefined && !isOver) return undefined;
    if (this.#speech?.type === type && !isOver) return undefined;
    const ended = this.end();
    if (type !== undefined) this.#speech = { type, isLineOver: true, isRecorded: false };
    return ended;
  }

  think(text: string): void {
    const { output } = this.#options;
    output.noticePiece(output.paintNotice("dim", neutralize(text)));
    this.#noteLineEnd(text);
  }

  speak(text: string): void {
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

  /** On a screen something else is about to be printed below what is being said. */
  breakLine(): void {
    const { output } = this.#options;
    if (this.#speech === undefined) return;
    const { type, isLineOver } = this.#speech;
    if (isLineOver || (type === "message" && !output.isTerminal)) return;
    output.noticePiece("\n");
  }

  end(): Promise<void> | void {
    const { output } = this.#options;
    const speech = this.#speech;
    this.#speech = undefined;
    if (speech === undefined) return undefined;
    if (this.#markdown !== undefined && speech.type === "message") {
      const ended = this.#markdown.end();
      this.#markdown = undefined;
      return ended;
    }
    if (speech.isLineOver) return undefined;
    return speech.type === "message" ? output.write("\n") : output.notice("");
  }

  #typeOf(type: TurnUpdate["type"]): Speech["type"] | undefined {
    const { showsReasoning, isStructured } = this.#options;
    if (type === "reasoning_delta" && showsReasoning) return "reasoning";
    return type === "message_delta" && !isStructured ? "message" : undefined;
  }

  #noteLineEnd(text: string): void {
    if (this.#speech !== undefined && text !== "") this.#speech.isLineOver = text.endsWith("\n");
  }

  #startMarkdown(): MarkdownStream {
    const { output, isPlain } = this.#options;
    return createMarkdownStream({
      paint: output.paint,
      width: Number.isFinite(output.lineWidth) ? output.lineWidth : USUAL_WIDTH,
      hyperlinks: output.hasColors && !isPlain,
      write: (text) => output.write(text),
    });
  }
}
