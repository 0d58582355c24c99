/**
 * A dialogue in lines of text, for those who hear them and for terminals that can do no more: nothing is
 * drawn, nothing changes once it is there, and every answer is a line that ends with Enter.
 */
import { neutralize, oneLine, plain, wrapWords } from "../render/index.ts";
import { contextLines, type Standing } from "./above-question.ts";
import {
  type Chosen,
  type Dialogue,
  type DialogueOptions,
  editElsewhere,
  type Entered,
  type Selected,
  takeNote,
  type TextRequest,
} from "./dialogue.ts";
import type { KeyMenu } from "./key-menu.ts";
import {
  type Line,
  type LineTerminal,
  type LineWanted,
  openLineTerminal,
} from "./line-terminal.ts";
import { plainList } from "./plain-list.ts";
import {
  LAST_LINE,
  plainMenu,
  type PlainQuestion,
  plainText,
  severalLines,
} from "./plain-questions.ts";
import type { ClosedQuestion } from "./question-rows.ts";
import type { SelectList, SelectState } from "./select-list.ts";
import type { Closed } from "./widget.ts";

const PROMPT = "Answer: ";

export class PlainDialogue implements Dialogue {
  note: string | undefined;
  readonly #options: DialogueOptions;
  readonly #signal: AbortSignal;
  #opened: LineTerminal | undefined;
  /** Said before the next question. */
  standing: Standing | undefined;
  #isCalling = false;

  constructor(options: DialogueOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** Where the cursor is cannot be known: what somebody else has begun is ended in any case. */
  async start(): Promise<void> {
    this.#say("");
  }

  notify(): void {
    this.#isCalling = this.#options.notification?.bell ?? false;
  }

  /** All of it, however long: what has scrolled away can still be read. */
  printContext(context: string): void {
    this.#say(...contextLines(context, { columns: this.#columns, rows: 0, paint: plain }));
  }

  printLabel(label: string): void {
    this.#say(oneLine(label));
  }

  print(text: string): void {
    this.#say(...neutralize(text.trimEnd()).split("\n"));
  }

  printClosed({ message, said, isCancelled = false }: ClosedQuestion): void {
    this.#say(isCancelled ? `Cancelled: ${message}` : `Answered: ${message} ${oneLine(said)}`);
  }

  async choose<Choice extends string>(menu: KeyMenu<Choice>): Promise<Chosen<Choice> | Closed> {
    return await this.#ask(plainMenu(menu));
  }

  async select(list: SelectList, state: SelectState): Promise<Selected> {
    const answer = await this.#ask(plainList(list, state));
    if ("type" in answer) return { state, ending: answer };
    return { state: { ...state, marked: answer.marked }, ending: answer.ending };
  }

  async enterText(request: TextRequest): Promise<Entered | Closed> {
    const { editText } = this.#options;
    let { text = "", problem } = request;
    for (;;) {
      const entry = { ...request, text, problem, hasEditor: editText !== undefined };
      const ending = await this.#ask(plainText(entry));
      if (ending.type === "several_lines") return await this.#readLines();
      if (ending.type !== "editor") return ending;
      this[Symbol.dispose]();
      const { extension = ".md" } = request;
      ({ text, problem } = await editElsewhere(text, {
        editText,
        extension,
        signal: this.#signal,
      }));
    }
  }

  async enterSecret(message: string): Promise<Entered | Closed> {
    this.#sayStanding();
    this.#sayWords(message, "Nothing is shown of what you type. Enter sends it, Ctrl-C cancels.");
    const line = await this.#read("Secret: ", { isSecret: true });
    return line.type === "line" ? { type: "entered", text: line.text } : line;
  }

  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]();
    this.#opened = undefined;
  }

  /** Until a line was typed that means something. */
  async #ask<Ending>(question: PlainQuestion<Ending>): Promise<Ending | Closed> {
    this.#sayStanding();
    this.#sayQuestion(question);
    for (;;) {
      const line = await this.#read(PROMPT);
      if (line.type !== "line") return line;
      const command = line.text.trim();
      if (command === "/cancel") return { type: "cancelled" };
      if (command === "?") this.#sayWords(...question.help, this.#commandsOf(question));
      else if (command === "/note" && this.note !== undefined) {
        await takeNote(this);
        this.#sayQuestion(question);
      } else {
        const reading = question.read(line.text);
        if (reading.type === "end") return reading.ending;
        this.#sayWords(...reading.lines);
      }
    }
  }

  #sayQuestion<Ending>(question: PlainQuestion<Ending>): void {
    const { note = "" } = this;
    this.#sayWords(...question.lines, ...(note === "" ? [] : [`Note: ${oneLine(note)}`]));
    this.#sayWords(question.hint, this.#commandsOf(question));
  }

  #commandsOf<Ending>({ commands = [], cancelling }: PlainQuestion<Ending>): string {
    const all = [
      ...commands,
      ...(this.note === undefined ? [] : ["/note to add a note"]),
      cancelling,
    ];
    return `? for help, ${all.join(", ")}.`;
  }

  async #readLines(): Promise<Entered | Closed> {
    this.#sayWords(`Type as many lines as you like. A line with only a full stop ends them.`);
    const lines: string[] = [];
    for (;;) {
      const line = await this.#read("", { isNext: true });
      if (line.type !== "line") return line;
      if (line.text === LAST_LINE) return { type: "entered", text: severalLines(lines) };
      lines.push(line.text);
    }
  }

  async #read(prompt: string, wanted?: LineWanted): Promise<Line> {
    if (this.#signal.aborted) return { type: "aborted" };
    const terminal = this.#open();
    const line = terminal.readLine(this.#signal, wanted);
    terminal.write(prompt + (this.#isCalling ? "\u0007" : ""));
    this.#isCalling = false;
    const { type } = await line;
    if (type === "aborted") terminal.write("This is no longer asked.\n");
    return await line;
  }

  /** What belongs to this question alone, and at the end of a form all answers. */
  #sayStanding(): void {
    const { answered, context, isReview = false } = this.standing ?? { answered: [] };
    this.standing = undefined;
    if (context !== undefined) this.printContext(context);
    if (!isReview) return;
    this.#sayWords(
      "Your answers:",
      ...answered.map(({ message, said }) => `${message} ${oneLine(said)}`),
    );
  }

  /** Broken at words. */
  #sayWords(...lines: readonly string[]): void {
    this.#say(...lines.flatMap((line) => wrapWords(line, this.#columns)));
  }

  #say(...lines: readonly string[]): void {
    if (this.#signal.aborted) return;
    this.#open().write(lines.map((line) => `${line}\n`).join(""));
  }

  get #columns(): number {
    return Math.max(20, this.#open().columns - 1);
  }

  #open(): LineTerminal {
    this.#opened ??= openLineTerminal();
    return this.#opened;
  }
}
